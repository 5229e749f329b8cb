// CUDA's mathematical functions that C++ does not have: their value is that of a formula in double, so it is not a
// GPU's to the bit; those with a direction are exact. Templates, for a program may have functions of its own by these
// names.
#pragma once

#include <cmath>
#include <limits>

#include "simt/import/intrinsics.hpp"
#include "simt/import/ptx_arithmetic.hpp"

namespace simt::import {

inline double inverse_erf(double x);

// The t with erfc(t) = y, for y of 0 to 2: Halley's steps from a rational first value (Abramowitz & Stegun 26.2.22).
inline double inverse_erfc(double y) {
  if (!(y >= 0 && y <= 2)) return std::numeric_limits<double>::quiet_NaN();
  if (y == 0) return std::numeric_limits<double>::infinity();
  if (y > 1) return -inverse_erfc(2 - y);
  if (y > 0.5) return inverse_erf(1 - y);  // 1 - y is exact
  const double u = std::sqrt(-2 * std::log(y / 2));
  double t = (u - (2.30753 + 0.27061 * u) / (1 + u * (0.99229 + 0.04481 * u))) / std::sqrt(2.0);
  for (int step = 0; step < 4; ++step) {
    const double error = std::erfc(t) - y, slope = 1.12837916709551257390 * std::exp(-t * t);
    if (slope == 0) break;
    t += error / (slope - t * error);
  }
  return t;
}
inline double inverse_erf(double x) {
  if (std::fabs(x) > 0.5) return x > 0 ? inverse_erfc(1 - x) : -inverse_erfc(1 + x);
  double t = x * 0.88622692545275801365;
  for (int step = 0; step < 5; ++step) t -= (std::erf(t) - x) * 0.88622692545275801365 * std::exp(t * t);
  return std::isnan(x) ? x : t;
}
// exp(x^2) erfc(x), beyond 25 by the asymptotic series (DLMF 7.12.1).
inline double scaled_erfc(double x) {
  if (x < 25) return std::exp(x * x) * std::erfc(x);
  const double r = 1 / (2 * x * x);
  return 0.56418958354775628695 / x * (1 - r * (1 - 3 * r * (1 - 5 * r)));
}
template <class Real>
Real norm_of(int n, const Real* p) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum = std::hypot(sum, static_cast<double>(p[i]));
  return static_cast<Real>(sum);
}

}  // namespace simt::import

#define SIMT_IMPORT_FUNCTION(name, Real, parameters, value) \
  template <class = void>                                   \
  SIMT_INLINE Real name parameters {                        \
    return static_cast<Real>(value);                        \
  }
// name(x) of double and namef(x) of float.
#define SIMT_IMPORT_FUNCTIONS(name, value)              \
  SIMT_IMPORT_FUNCTION(name, double, (double x), value) \
  SIMT_IMPORT_FUNCTION(name##f, float, (float x), value)
SIMT_IMPORT_FUNCTIONS(erfinv, simt::import::inverse_erf(x))
SIMT_IMPORT_FUNCTIONS(erfcinv, simt::import::inverse_erfc(x))
SIMT_IMPORT_FUNCTIONS(erfcx, simt::import::scaled_erfc(x))
SIMT_IMPORT_FUNCTIONS(normcdfinv, -1.41421356237309504880 * simt::import::inverse_erfc(2.0 * x))
SIMT_IMPORT_FUNCTIONS(cyl_bessel_i0, std::cyl_bessel_i(0.0, std::fabs(static_cast<double>(x))))
SIMT_IMPORT_FUNCTIONS(cyl_bessel_i1,
                      std::copysign(std::cyl_bessel_i(1.0, std::fabs(static_cast<double>(x))), static_cast<double>(x)))
SIMT_IMPORT_FUNCTION(rcbrt, double, (double x), 1 / std::cbrt(x))
#undef SIMT_IMPORT_FUNCTIONS
// The length of a vector, and its reciprocal.
#define SIMT_IMPORT_LENGTHS(suffix, Real)                                                                  \
  SIMT_IMPORT_FUNCTION(rhypot##suffix, Real, (Real a, Real b), 1 / std::hypot(double{a}, double{b}))       \
  SIMT_IMPORT_FUNCTION(norm4d##suffix, Real, (Real a, Real b, Real c, Real d),                             \
                       std::hypot(std::hypot(double{a}, double{b}), std::hypot(double{c}, double{d})))     \
  SIMT_IMPORT_FUNCTION(rnorm4d##suffix, Real, (Real a, Real b, Real c, Real d),                            \
                       1 / std::hypot(std::hypot(double{a}, double{b}), std::hypot(double{c}, double{d}))) \
  SIMT_IMPORT_FUNCTION(norm##suffix, Real, (int n, const Real* p), simt::import::norm_of(n, p))            \
  SIMT_IMPORT_FUNCTION(rnorm##suffix, Real, (int n, const Real* p), 1.0 / simt::import::norm_of(n, p))
SIMT_IMPORT_LENGTHS(, double)
SIMT_IMPORT_LENGTHS(f, float)
#undef SIMT_IMPORT_LENGTHS
SIMT_IMPORT_FUNCTION(norm3d, double, (double a, double b, double c), std::hypot(a, b, c))
SIMT_IMPORT_FUNCTION(rnorm3d, double, (double a, double b, double c), 1 / std::hypot(a, b, c))
#undef SIMT_IMPORT_FUNCTION
SIMT_INLINE float __tanhf(float x) { return simt::import::approximate("__tanhf", std::tanh(x)); }

// Directed rounding. The error of the nearest number is computed so that its sign is exact. If the nearest number of a
// finite result overflows, the result is the largest number or infinity.
namespace simt::import {
__extension__ typedef __float128 quadruple;  // 113 bits: the product of two doubles is exact

template <class Real>
SIMT_INLINE Real directed_finite(Real nearest, double lacks, direction to, bool finite_operands) {
  if (!std::isinf(nearest) || !finite_operands) return directed(nearest, lacks, to);
  const bool outwards = to == (nearest > 0 ? direction::up : direction::down);
  return outwards ? nearest : std::copysign(std::numeric_limits<Real>::max(), nearest);
}
SIMT_INLINE double sign_of(quadruple x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
SIMT_INLINE double directed_sum(double a, double b, direction to) {
  const double sum = a + b, b_in_it = sum - a;
  return directed_finite(sum, (a - (sum - b_in_it)) + (b - b_in_it), to, std::isfinite(a) && std::isfinite(b));
}
SIMT_INLINE double directed_product(double a, double b, direction to) {
  const double product = a * b;
  const bool finite = std::isfinite(a) && std::isfinite(b);
  const double lacks = finite && std::isfinite(product) ? sign_of(quadruple{a} * b - product) : 0;
  return directed_finite(product, lacks, to, finite);
}
SIMT_INLINE double directed_quotient(double a, double b, direction to) {
  const double quotient = a / b;
  const bool finite = std::isfinite(a) && std::isfinite(b) && b != 0;
  const double remainder = finite && std::isfinite(quotient) ? sign_of(a - quadruple{quotient} * b) : 0;
  return directed_finite(quotient, b < 0 ? -remainder : remainder, to, finite);
}
template <class Real>
SIMT_INLINE Real directed_root(Real x, direction to) {
  const Real root = std::sqrt(x);
  const double lacks = std::isfinite(root) ? sign_of(x - quadruple{root} * root) : 0;
  return directed(root, lacks, to);
}
// Returns a b + c, as the sum of the exact product and c in two numbers (Knuth, TAOCP 2, 4.2.2).
template <class Real>
SIMT_INLINE Real directed_fma(Real a, Real b, Real c, direction to) {
  const Real nearest = std::fma(a, b, c);
  const bool finite = std::isfinite(a) && std::isfinite(b) && std::isfinite(c);
  if (!finite || !std::isfinite(nearest)) return directed_finite(nearest, 0, to, finite);
  const quadruple product = quadruple{a} * b, sum = product + c, c_in_it = sum - product;
  const quadruple error = (product - (sum - c_in_it)) + (c - c_in_it);
  return directed(nearest, sign_of((sum - nearest) + error), to);
}
SIMT_INLINE float directed_narrowing(double x, direction to) {
  const auto nearest = static_cast<float>(x);
  return directed_finite(nearest, x - double{nearest}, to, std::isfinite(x));
}
}  // namespace simt::import
#define SIMT_IMPORT_DIRECTIONS(Real, name, parameters, function, ...)                                                  \
  SIMT_INLINE Real name##_ru parameters { return simt::import::function(__VA_ARGS__, simt::import::direction::up); }   \
  SIMT_INLINE Real name##_rd parameters { return simt::import::function(__VA_ARGS__, simt::import::direction::down); } \
  SIMT_INLINE Real name##_rz parameters { return simt::import::function(__VA_ARGS__, simt::import::direction::zero); }
SIMT_IMPORT_DIRECTIONS(double, __dadd, (double a, double b), directed_sum, a, b)
SIMT_IMPORT_DIRECTIONS(double, __dsub, (double a, double b), directed_sum, a, -b)
SIMT_IMPORT_DIRECTIONS(double, __dmul, (double a, double b), directed_product, a, b)
SIMT_IMPORT_DIRECTIONS(double, __ddiv, (double a, double b), directed_quotient, a, b)
SIMT_IMPORT_DIRECTIONS(double, __drcp, (double x), directed_quotient, 1.0, x)
SIMT_IMPORT_DIRECTIONS(float, __frcp, (float x), directed_quotient, 1.0f, x)
SIMT_IMPORT_DIRECTIONS(double, __dsqrt, (double x), directed_root, x)
SIMT_IMPORT_DIRECTIONS(float, __fsqrt, (float x), directed_root, x)
SIMT_IMPORT_DIRECTIONS(double, __fma, (double a, double b, double c), directed_fma, a, b, c)
SIMT_IMPORT_DIRECTIONS(float, __fmaf, (float a, float b, float c), directed_fma, a, b, c)
SIMT_IMPORT_DIRECTIONS(float, __double2float, (double x), directed_narrowing, x)
#undef SIMT_IMPORT_DIRECTIONS

// Means and distances of integers, without intermediate overflow.
SIMT_INLINE int __rhadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1); }
SIMT_INLINE unsigned __uhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b) >> 1);
}
SIMT_INLINE unsigned __urhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b + 1) >> 1);
}
SIMT_INLINE unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a < b ? b - a : a - b) + c; }
SIMT_INLINE long long __mul64hi(long long a, long long b) {
  __extension__ typedef __int128 wide;
  return static_cast<long long>(static_cast<wide>(a) * b >> 64);
}
SIMT_INLINE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned by) {
  return by >= 32 ? low : __funnelshift_l(low, high, by);
}
SIMT_INLINE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned by) {
  return by >= 32 ? high : __funnelshift_r(low, high, by);
}
SIMT_INLINE int __dp2a_lo(int a, int b, int c) {
  return c + static_cast<short>(a) * static_cast<signed char>(b) + (a >> 16) * static_cast<signed char>(b >> 8);
}
SIMT_INLINE int __dp2a_hi(int a, int b, int c) { return __dp2a_lo(a, b >> 16, c); }
SIMT_INLINE unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) {
  return c + (a & 0xffff) * (b & 0xff) + (a >> 16) * (b >> 8 & 0xff);
}
SIMT_INLINE unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c) { return __dp2a_lo(a, b >> 16, c); }

// Operations on the lanes of a word: comparison, saturation and mean.
#define SIMT_IMPORT_COMPARISON(name, Wide, Narrow, operation)                                            \
  SIMT_INLINE unsigned __vcmp##name##2(unsigned x, unsigned y) {                                         \
    return simt::import::by_lanes<16, Wide>(x, y, [](int a, int b) { return a operation b ? -1 : 0; });  \
  }                                                                                                      \
  SIMT_INLINE unsigned __vcmp##name##4(unsigned x, unsigned y) {                                         \
    return simt::import::by_lanes<8, Narrow>(x, y, [](int a, int b) { return a operation b ? -1 : 0; }); \
  }                                                                                                      \
  SIMT_INLINE unsigned __vset##name##2(unsigned x, unsigned y) {                                         \
    return simt::import::by_lanes<16, Wide>(x, y, [](int a, int b) { return a operation b ? 1 : 0; });   \
  }                                                                                                      \
  SIMT_INLINE unsigned __vset##name##4(unsigned x, unsigned y) {                                         \
    return simt::import::by_lanes<8, Narrow>(x, y, [](int a, int b) { return a operation b ? 1 : 0; });  \
  }
SIMT_IMPORT_COMPARISON(eq, unsigned short, unsigned char, ==)
SIMT_IMPORT_COMPARISON(ne, unsigned short, unsigned char, !=)
SIMT_IMPORT_COMPARISON(gts, short, signed char, >)
SIMT_IMPORT_COMPARISON(ges, short, signed char, >=)
SIMT_IMPORT_COMPARISON(lts, short, signed char, <)
SIMT_IMPORT_COMPARISON(les, short, signed char, <=)
SIMT_IMPORT_COMPARISON(gtu, unsigned short, unsigned char, >)
SIMT_IMPORT_COMPARISON(geu, unsigned short, unsigned char, >=)
SIMT_IMPORT_COMPARISON(ltu, unsigned short, unsigned char, <)
SIMT_IMPORT_COMPARISON(leu, unsigned short, unsigned char, <=)
#undef SIMT_IMPORT_COMPARISON
namespace simt::import {
template <class Lane>
SIMT_INLINE int within_lane(int x) {
  constexpr int least = std::numeric_limits<Lane>::min(), greatest = std::numeric_limits<Lane>::max();
  return x < least ? least : x > greatest ? greatest : x;
}
}  // namespace simt::import
#define SIMT_IMPORT_LANE(name, bits, suffix, Lane, expression)                                \
  SIMT_INLINE unsigned __v##name##suffix(unsigned x, unsigned y) {                            \
    return simt::import::by_lanes<bits, Lane>(x, y, [](int a, int b) { return expression; }); \
  }
#define SIMT_IMPORT_LANES(name, Wide, Narrow, operation)                          \
  SIMT_IMPORT_LANE(name, 16, 2, Wide, simt::import::within_lane<Wide>(operation)) \
  SIMT_IMPORT_LANE(name, 8, 4, Narrow, simt::import::within_lane<Narrow>(operation))
SIMT_IMPORT_LANES(addss, short, signed char, a + b)
SIMT_IMPORT_LANES(subss, short, signed char, a - b)
SIMT_IMPORT_LANES(addus, unsigned short, unsigned char, a + b)
SIMT_IMPORT_LANES(subus, unsigned short, unsigned char, a - b)
SIMT_IMPORT_LANES(avgs, short, signed char, (a + b + (a + b >= 0)) >> 1)
SIMT_IMPORT_LANES(avgu, unsigned short, unsigned char, (a + b + 1) >> 1)
SIMT_IMPORT_LANES(haddu, unsigned short, unsigned char, (a + b) >> 1)
#undef SIMT_IMPORT_LANES
#undef SIMT_IMPORT_LANE
SIMT_INLINE unsigned __vneg2(unsigned x) { return __vsub2(0, x); }
SIMT_INLINE unsigned __vneg4(unsigned x) { return __vsub4(0, x); }
SIMT_INLINE unsigned __vnegss2(unsigned x) { return __vsubss2(0, x); }
SIMT_INLINE unsigned __vnegss4(unsigned x) { return __vsubss4(0, x); }
SIMT_INLINE unsigned __vabsss2(unsigned x) { return __vmaxs2(x, __vnegss2(x)); }
SIMT_INLINE unsigned __vabsss4(unsigned x) { return __vmaxs4(x, __vnegss4(x)); }
SIMT_INLINE unsigned __vsadu2(unsigned x, unsigned y) {
  const unsigned d = __vabsdiffu2(x, y);
  return (d & 0xffff) + (d >> 16);
}
SIMT_INLINE unsigned __vsads2(unsigned x, unsigned y) {
  const unsigned d = __vabsdiffs2(x, y);
  return (d & 0xffff) + (d >> 16);
}
SIMT_INLINE unsigned __vsads4(unsigned x, unsigned y) {
  const unsigned d = __vabsdiffs4(x, y);
  return (d & 255) + (d >> 8 & 255) + (d >> 16 & 255) + (d >> 24);
}
SIMT_INLINE unsigned __fns(unsigned mask, unsigned base, int offset) {
  return simt::import::ptx::nth_one(mask, base, offset);
}
SIMT_INLINE void __brkpt() {}
SIMT_INLINE void __prof_trigger(int) {}
// nvcc assumes this condition; it is not checked here either.
#define __builtin_assume(condition) ((void)0)
#define __isLocal(p) (!__isShared(p) && !__isGlobal(p))
#define __isConstant(p) (false && (p))
