// SHA-256 (FIPS 180-4, section 6.2): the identity of golden files and of users' arrays.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace warpcheck::engine {

class sha256_hash {
 public:
  void update(std::span<const std::byte> data);
  // Returns the hash of everything seen, as 64 lower-case hexadecimal digits; the object must not be used afterwards.
  std::string hex_digest();

 private:
  void compress(const std::byte* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> pending_{};
  uint64_t length_ = 0;  // bytes seen
};

std::string sha256_hex(std::string_view data);

}  // namespace warpcheck::engine
