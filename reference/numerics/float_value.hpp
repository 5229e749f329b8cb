// Values of the float formats f16, bf16, f32, f64, e4m3, e5m2, held as doubles: bits, rounding to nearest even,
// spacing, neighbours and printing. A double holds every value of these formats exactly.
//
// Source: IEEE 754-2019 section 3.4 (interchange encodings) and 4.3.1 (roundTiesToEven); bfloat16 is binary32 without
// its 16 low bits. OCP 8-bit Floating Point Specification, revision 1.0: e5m2 is an interchange format like the others;
// e4m3 has no infinity and one NaN, 0x7f, and all other encodings are numbers. Conversion to e4m3 saturates: what is
// beyond 448, Inf included, becomes 448, as by the constructor of CUDA's __nv_fp8_e4m3.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>

#include "reference/numerics/dtype.hpp"

namespace warpcheck::reference {

inline constexpr double k_infinity = std::numeric_limits<double>::infinity();

// u = 2^-p: RN changes a value in the normal range by at most u relatively.
inline double unit_roundoff(dtype t) { return std::ldexp(1.0, -format_of(t).precision); }

// eta, the smallest positive number and the spacing below the normal range.
inline double min_subnormal(dtype t) { return std::ldexp(1.0, format_of(t).min_exponent - format_of(t).precision + 1); }

inline double min_normal(dtype t) { return std::ldexp(1.0, format_of(t).min_exponent); }

inline double max_finite(dtype t) {
  if (t == dtype::e4m3) return 448;  // 480 is NaN
  return std::ldexp(2.0 - std::ldexp(1.0, 1 - format_of(t).precision), format_of(t).max_exponent);
}

// RN(x) is infinite exactly for |x| >= (2 - u) 2^max_exponent. That number is no double for f64: there +Inf is
// returned.
inline double overflow_threshold(dtype t) {
  if (t == dtype::f64) return std::numeric_limits<double>::infinity();
  if (t == dtype::e4m3) return 464;  // where the neighbour of 448 would be nearer
  return std::ldexp(2.0 - unit_roundoff(t), format_of(t).max_exponent);
}

// The distance between neighbours in the binade of x; at 0 and below the normal range eta, beyond the largest finite
// number that of the last binade. NaN for NaN.
inline double ulp(dtype t, double x) {
  if (std::isnan(x)) return x;
  const float_format f = format_of(t);
  const int exponent = x == 0 ? f.min_exponent : std::isinf(x) ? f.max_exponent : std::ilogb(x);
  return std::ldexp(1.0, std::clamp(exponent, f.min_exponent, f.max_exponent) - f.precision + 1);
}

// RN(x), ties to even, to a value of the format; overflow gives +-Inf, underflow a zero with the sign of x. Real is
// double or a multiprecision number (which must be finite).
template <class Real>
double round_to(dtype t, const Real& x) {
  using std::floor;
  using std::frexp;
  using std::isfinite;
  using std::ldexp;
  if (!isfinite(x) || x == 0) {
    const auto special = static_cast<double>(x);
    return t == dtype::e4m3 && std::isinf(special) ? std::copysign(max_finite(t), special) : special;
  }
  const float_format f = format_of(t);
  const bool negative = x < 0;
  const Real size = negative ? Real(-x) : x;
  int exponent = 0;
  frexp(size, &exponent);  // size < 2^exponent
  const int quantum = std::max(exponent, f.min_exponent + 1) - f.precision;
  const Real scaled = ldexp(size, -quantum);
  const Real whole = floor(scaled);
  const Real rest = scaled - whole;
  double steps = static_cast<double>(whole);  // an integer of at most p bits
  if (rest > 0.5 || (rest == 0.5 && std::fmod(steps, 2.0) != 0)) steps += 1;
  double rounded = std::ldexp(steps, quantum);
  if (rounded > max_finite(t)) rounded = t == dtype::e4m3 ? max_finite(t) : std::numeric_limits<double>::infinity();
  return negative ? -rounded : rounded;
}

// The value of an encoding; bits above the format's width are ignored.
inline double decode(dtype t, uint64_t bits) {
  const float_format f = format_of(t);
  const int width = static_cast<int>(size_of(t)) * 8;
  const uint64_t fraction = bits & ((uint64_t{1} << (f.precision - 1)) - 1);
  const uint64_t all_ones = (uint64_t{1} << (width - f.precision)) - 1;
  const uint64_t exponent = (bits >> (f.precision - 1)) & all_ones;
  double size = 0;
  if (t == dtype::e4m3 && exponent == all_ones && fraction == 7) {
    size = std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == all_ones && t != dtype::e4m3) {
    size = fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    size = std::ldexp(static_cast<double>(fraction), f.min_exponent - f.precision + 1);
  } else {
    const uint64_t significand = fraction | (uint64_t{1} << (f.precision - 1));
    size = std::ldexp(static_cast<double>(significand), f.min_exponent - f.precision + static_cast<int>(exponent));
  }
  return (bits >> (width - 1)) & 1 ? -size : size;
}

// The encoding of RN(x); every NaN becomes the quiet NaN with an otherwise empty payload and the sign of x.
inline uint64_t encode(dtype t, double x) {
  const float_format f = format_of(t);
  const int width = static_cast<int>(size_of(t)) * 8;
  const uint64_t sign = static_cast<uint64_t>(std::signbit(x)) << (width - 1);
  const uint64_t infinity = ((uint64_t{1} << (width - f.precision)) - 1) << (f.precision - 1);
  if (std::isnan(x)) return sign | infinity | (t == dtype::e4m3 ? 7 : uint64_t{1} << (f.precision - 2));
  const double rounded = std::fabs(round_to(t, x));
  if (std::isinf(rounded)) return sign | infinity;
  if (rounded == 0) return sign;
  const int exponent = std::max(std::ilogb(rounded), f.min_exponent);
  const auto significand = static_cast<uint64_t>(std::ldexp(rounded, f.precision - 1 - exponent));
  // A normal significand carries the implicit bit, which adds 1 to the exponent field; a subnormal one does not.
  return sign | (significand + (static_cast<uint64_t>(exponent - f.min_exponent) << (f.precision - 1)));
}

// The least value of the format above x, which must itself be one: -0 and +0 step to eta, -Inf to the lowest finite
// number; +Inf and NaN stay.
inline double next_up(dtype t, double x) {
  if (std::isnan(x) || x == std::numeric_limits<double>::infinity()) return x;
  if (t == dtype::e4m3 && x == max_finite(t)) return x;
  if (x == 0) return min_subnormal(t);
  const uint64_t bits = encode(t, x);
  return decode(t, x > 0 ? bits + 1 : bits - 1);
}

inline double next_down(dtype t, double x) { return -next_up(t, -x); }

// C99 hexadecimal notation, exact ("0x1.8p+1"), "nan", "inf" or "-inf".
inline std::string hexfloat(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%a", x);
  return text;
}

}  // namespace warpcheck::reference
