// SHA-256 against the published vectors and against itself in pieces.
#include "properties/engine/files/sha256.hpp"

#include <gtest/gtest.h>

#include <string>

namespace warpcheck::engine {
namespace {

// FIPS 180-2 appendix B and the NIST CAVS short-message vectors (SHA256ShortMsg.rsp: lengths 0 and 8 bits).
TEST(sha256, matches_published_vectors) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("\xd3"), "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Every length around the padding's block boundaries, cut at every place: the buffer's only branches.
TEST(sha256, does_not_depend_on_how_the_data_arrives) {
  const std::string text =
      "The quick brown fox jumps over the lazy dog, and over every block boundary that there is. "
      "The quick brown fox jumps over the lazy dog, and over every block boundary too.";
  for (const size_t length : {0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 127, 128, 129, 160}) {
    const std::string_view whole = std::string_view(text).substr(0, length);
    const std::string expected = sha256_hex(whole);
    for (size_t cut = 0; cut <= length; ++cut) {
      sha256_hash h;
      h.update(std::as_bytes(std::span(whole.substr(0, cut))));
      h.update(std::as_bytes(std::span(whole.substr(cut))));
      EXPECT_EQ(h.hex_digest(), expected) << "length " << length << " cut at " << cut;
    }
  }
}

}  // namespace
}  // namespace warpcheck::engine
