// f16 and bf16 on the host: storage types with correctly rounded conversions (to nearest, ties to even), subnormals
// kept, NaN quieted as CUDA's conversions do. IEEE 754-2019 binary16; bfloat16 is the upper half of binary32.
#pragma once

#include <cstdint>
#include <cstring>

namespace simt {
inline namespace emu {

struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};

namespace detail {

inline uint32_t float_bits(float x) {
  uint32_t b;
  std::memcpy(&b, &x, sizeof b);
  return b;
}

inline float bits_float(uint32_t b) {
  float x;
  std::memcpy(&x, &b, sizeof x);
  return x;
}

// Drops the low `shift` bits (1 to 31) of m, rounding to nearest with ties to even.
inline uint32_t round_shift(uint32_t m, unsigned shift) {
  const uint32_t half = 1u << (shift - 1), rest = m & ((half << 1) - 1), kept = m >> shift;
  return kept + (rest > half || (rest == half && (kept & 1)));
}

inline uint16_t float_to_f16(float x) {
  const uint32_t b = float_bits(x), magnitude = b & 0x7fffffffu;
  const auto sign = static_cast<uint16_t>((b >> 16) & 0x8000u);
  if (magnitude > 0x7f800000u) return 0x7fff;                                  // NaN, as __float2half_rn
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // >= 65520 rounds to infinity
  if (magnitude < 0x33000000u) return sign;                                    // < 2^-25 rounds to zero
  if (magnitude < 0x38800000u) {                                               // subnormal result, quantum 2^-24
    const unsigned shift = 126 - (magnitude >> 23);
    return static_cast<uint16_t>(sign | round_shift((magnitude & 0x7fffffu) | 0x800000u, shift));
  }
  return static_cast<uint16_t>(sign | round_shift(magnitude - (112u << 23), 13));  // 112: difference of the biases
}

inline float f16_to_float(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16, exponent = (h >> 10) & 0x1f, fraction = h & 0x3ffu;
  if (exponent == 0x1f) return bits_float(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return bits_float(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return bits_float(sign | float_bits(magnitude));
}

inline uint16_t float_to_bf16(float x) {
  const uint32_t b = float_bits(x);
  if ((b & 0x7fffffffu) > 0x7f800000u) return 0x7fff;  // NaN, as __float2bfloat16_rn
  return static_cast<uint16_t>(round_shift(b, 16));
}

}  // namespace detail

inline float to_float(float x) { return x; }
inline float to_float(f16 x) { return detail::f16_to_float(x.bits); }
inline float to_float(bf16 x) { return detail::bits_float(static_cast<uint32_t>(x.bits) << 16); }

template <class T>
T from_float(float x);
template <>
inline float from_float<float>(float x) {
  return x;
}
template <>
inline f16 from_float<f16>(float x) {
  return {detail::float_to_f16(x)};
}
template <>
inline bf16 from_float<bf16>(float x) {
  return {detail::float_to_bf16(x)};
}

}  // namespace emu
}  // namespace simt
