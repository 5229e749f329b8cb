// Numbers of 8 bits, E4M3 and E5M2.
#pragma once

#include <climits>
#include <cmath>
#include <cstdint>

#include "simt/half_types.hpp"

namespace simt::import {

// E4M3 has no infinity and one NaN of each sign, 0x7f; E5M2 is the upper half of f16 (Micikevicius et al., FP8 formats
// for deep learning, arXiv 2209.05433).
inline float fp8_to_float(unsigned char bits, bool is_e5m2) {
  if (is_e5m2) return to_float(f16{static_cast<uint16_t>(bits << 8)});
  const int exponent = (bits >> 3) & 15, fraction = bits & 7;
  const float sign = bits & 0x80 ? -1.0f : 1.0f;
  if (exponent == 15 && fraction == 7) return sign * NAN;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -9);
  return sign * std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
}
// Rounds to nearest, ties to even. A number beyond the largest becomes that one or the type's special value.
inline unsigned char fp8_from(double x, bool saturates, bool is_e5m2) {
  const int digits = is_e5m2 ? 2 : 3, least = is_e5m2 ? -14 : -6;
  const double most = is_e5m2 ? 57344 : 448;
  const unsigned char sign = std::signbit(x) ? 0x80 : 0;
  const unsigned char beyond = is_e5m2 ? 0x7c : 0x7f, largest = is_e5m2 ? 0x7b : 0x7e;
  if (x != x) return 0x7f;
  const double magnitude = std::fabs(x);
  int exponent = magnitude > 0 ? std::ilogb(magnitude) : least;
  if (exponent < least || exponent == INT_MAX) exponent = least;
  const double rounded = std::isinf(magnitude)
                             ? magnitude
                             : std::ldexp(std::nearbyint(std::ldexp(magnitude, digits - exponent)), exponent - digits);
  if (rounded > most) return static_cast<unsigned char>(sign | (saturates ? largest : beyond));
  if (rounded == 0) return sign;
  const int e = std::ilogb(rounded);
  if (e < least) return static_cast<unsigned char>(sign | static_cast<int>(std::ldexp(rounded, digits - least)));
  const int fraction = static_cast<int>(std::ldexp(rounded, digits - e)) - (1 << digits);
  return static_cast<unsigned char>(sign | ((e - least + 1) << digits) | fraction);
}

}  // namespace simt::import
