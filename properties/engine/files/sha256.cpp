#include "properties/engine/files/sha256.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace warpcheck::engine {
namespace {

// FIPS 180-4, 4.2.2: fractional parts of the cube roots of the first 64 primes.
constexpr uint32_t k_round[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

}  // namespace

void sha256_hash::compress(const std::byte* block) {
  uint32_t w[64];
  for (int t = 0; t < 16; ++t) {
    w[t] = 0;
    for (int i = 0; i < 4; ++i) w[t] = w[t] << 8 | static_cast<uint32_t>(block[4 * t + i]);
  }
  for (int t = 16; t < 64; ++t) {
    const uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
    const uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (int t = 0; t < 64; ++t) {
    const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + k_round[t] + w[t];
    const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const uint32_t now[] = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state_.size(); ++i) state_[i] += now[i];
}

void sha256_hash::update(std::span<const std::byte> data) {
  while (!data.empty()) {
    const size_t buffered = length_ % pending_.size();
    const size_t taken = std::min(pending_.size() - buffered, data.size());
    if (taken == pending_.size()) {
      compress(data.data());
    } else {
      std::memcpy(pending_.data() + buffered, data.data(), taken);
      if (buffered + taken == pending_.size()) compress(pending_.data());
    }
    length_ += taken;
    data = data.subspan(taken);
  }
}

std::string sha256_hash::hex_digest() {
  // 5.1.1: a one bit, zeros up to 8 bytes before the end of a block, the length in bits.
  const uint64_t bits = 8 * length_;
  std::array<std::byte, 72> padding{std::byte{0x80}};
  const size_t zeros_end = 1 + (119 - length_ % 64) % 64;
  for (size_t i = 0; i < 8; ++i) padding[zeros_end + i] = static_cast<std::byte>(bits >> (56 - 8 * i));
  update(std::span(padding).first(zeros_end + 8));
  std::string text;
  for (uint32_t word : state_) text += fmt::format("{:08x}", word);
  return text;
}

std::string sha256_hex(std::string_view data) {
  sha256_hash h;
  h.update(std::as_bytes(std::span(data)));
  return h.hex_digest();
}

}  // namespace warpcheck::engine
