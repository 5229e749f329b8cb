// Arithmetic of CUDA's 16-bit floating-point types on the host: each operation in float, then rounded to the type. For
// one operation on two operands that is a single rounding: float has 24 bits, at least twice the type's and two more
// (Figueroa, When is double rounding innocuous?, SIGNUM Newsletter 30, 1995). Other operations round to odd, see below.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "simt/half_types.hpp"

namespace simt::import {

// Rounding to odd: an inexact number becomes the one of its two neighbours whose last bit is 1. The result differs
// from every number and midpoint of a type with at least two bits less, so rounding it to such a type equals rounding
// the exact number (Boldo & Melquiond, Emulation of a FMA and correctly rounded sums, IEEE Transactions on Computers
// 57, 2008).

// Returns the sum, rounded to odd.
inline double add_to_odd(double a, double b) {
  const double sum = a + b;
  const double b_in_it = sum - a;
  const double lost = (a - (sum - b_in_it)) + (b - b_in_it);  // exactly (Knuth, TAOCP 2, 4.2.2)
  if (!std::isfinite(sum) || lost == 0) return sum;
  uint64_t bits;
  std::memcpy(&bits, &sum, sizeof bits);
  if ((lost < 0) != (sum < 0)) --bits;  // towards zero
  bits |= 1;
  double odd;
  std::memcpy(&odd, &bits, sizeof odd);
  return odd;
}

// Returns x as a float rounded to odd; the largest float instead of infinity, since shorter types round both alike.
inline float float_to_odd(double x) {
  const auto nearest = static_cast<float>(x);
  if (std::isnan(x) || nearest == x) return nearest;
  uint32_t bits;
  std::memcpy(&bits, &nearest, sizeof bits);
  if (std::fabs(nearest) > std::fabs(x)) --bits;  // towards zero
  return emu::detail::bits_float(bits | 1);
}

// `Storage` is f16 or bf16, and determines the layout. Operators return a `Half`, the class derived from this one.
template <class Storage, class Half = void>
struct half_float {
  using result = std::conditional_t<std::is_void_v<Half>, half_float, Half>;
  uint16_t bits;

  half_float() = default;
  half_float(float x) : bits(from_float<Storage>(x).bits) {}
  half_float(double x) : half_float(float_to_odd(x)) {}
  // A double holds every integer of up to 53 bits; a longer integer is beyond the type's range or rounds alike.
  template <class Integer, class = std::enable_if_t<std::is_integral_v<Integer>>>
  half_float(Integer x) : half_float(static_cast<double>(x)) {}
  operator float() const { return to_float(Storage{bits}); }

  friend result operator+(result a, result b) { return float(a) + float(b); }
  friend result operator-(result a, result b) { return float(a) - float(b); }
  friend result operator*(result a, result b) { return float(a) * float(b); }
  friend result operator/(result a, result b) { return float(a) / float(b); }
  // Returns a * b + c. The product is exact in double: it has at most 22 bits and stays within double's exponents.
  friend result fused(result a, result b, result c) {
    return add_to_odd(double(float(a)) * double(float(b)), double(float(c)));
  }
  friend result operator-(result a) { return -float(a); }
  friend bool operator<(result a, result b) { return float(a) < float(b); }
  friend bool operator>(result a, result b) { return float(a) > float(b); }
  friend bool operator<=(result a, result b) { return float(a) <= float(b); }
  friend bool operator>=(result a, result b) { return float(a) >= float(b); }
  friend bool operator==(result a, result b) { return float(a) == float(b); }
  friend bool operator!=(result a, result b) { return float(a) != float(b); }
  result& operator+=(result b) { return self() = self() + b; }
  result& operator-=(result b) { return self() = self() - b; }
  result& operator*=(result b) { return self() = self() * b; }
  result& operator/=(result b) { return self() = self() / b; }

 private:
  result& self() { return static_cast<result&>(*this); }
};

template <class Half>
struct alignas(4) half_pair {
  Half x, y;

  half_pair() = default;
  constexpr half_pair(Half a, Half b) : x(a), y(b) {}

  friend half_pair operator+(half_pair a, half_pair b) { return {a.x + b.x, a.y + b.y}; }
  friend half_pair operator-(half_pair a, half_pair b) { return {a.x - b.x, a.y - b.y}; }
  friend half_pair operator*(half_pair a, half_pair b) { return {a.x * b.x, a.y * b.y}; }
  friend half_pair operator/(half_pair a, half_pair b) { return {a.x / b.x, a.y / b.y}; }
  friend half_pair operator-(half_pair a) { return {-a.x, -a.y}; }
  friend half_pair operator+(half_pair a) { return a; }
  half_pair& operator+=(half_pair b) { return *this = *this + b; }
  half_pair& operator-=(half_pair b) { return *this = *this - b; }
  half_pair& operator*=(half_pair b) { return *this = *this * b; }
  half_pair& operator/=(half_pair b) { return *this = *this / b; }
  // True if the comparison holds for both halves.
  friend bool operator==(half_pair a, half_pair b) { return a.x == b.x && a.y == b.y; }
  friend bool operator!=(half_pair a, half_pair b) { return a.x != b.x && a.y != b.y; }
  friend bool operator<(half_pair a, half_pair b) { return a.x < b.x && a.y < b.y; }
  friend bool operator>(half_pair a, half_pair b) { return a.x > b.x && a.y > b.y; }
  friend bool operator<=(half_pair a, half_pair b) { return a.x <= b.x && a.y <= b.y; }
  friend bool operator>=(half_pair a, half_pair b) { return a.x >= b.x && a.y >= b.y; }
};

// Compare and swap of 2 and 4 bytes.
template <class T>
[[gnu::always_inline]] inline T atomic_sum(T* p, T v) {
  using word = std::conditional_t<sizeof(T) == 2, unsigned short, unsigned>;
  word seen, old = atomicCAS(reinterpret_cast<word*>(p), word{0}, word{0});  // reads it atomically
  do {
    seen = old;
    T now;
    std::memcpy(&now, &seen, sizeof now);
    now = now + v;
    word next;
    std::memcpy(&next, &now, sizeof next);
    old = atomicCAS(reinterpret_cast<word*>(p), seen, next);
  } while (old != seen);
  T before;
  std::memcpy(&before, &old, sizeof before);
  return before;
}

}  // namespace simt::import

// The functions that both headers define, for one type and its pair.
#define SIMT_IMPORT_HALF_FUNCTIONS(H, H2)                                                   \
  inline H __hadd(H a, H b) { return a + b; }                                               \
  inline H __hsub(H a, H b) { return a - b; }                                               \
  inline H __hmul(H a, H b) { return a * b; }                                               \
  inline H __hdiv(H a, H b) { return a / b; }                                               \
  inline H __hneg(H a) { return -a; }                                                       \
  inline H __hfma(H a, H b, H c) { return fused(a, b, c); }                                 \
  inline H __hmax(H a, H b) { return float(b) > float(a) || float(a) != float(a) ? b : a; } \
  inline H __hmin(H a, H b) { return float(b) < float(a) || float(a) != float(a) ? b : a; } \
  inline H __habs(H a) { return std::fabs(float(a)); }                                      \
  inline H hexp(H x) { return std::exp(float(x)); }                                         \
  inline H hsqrt(H x) { return std::sqrt(float(x)); }                                       \
  inline H hexp2(H x) { return std::exp2(float(x)); }                                       \
  inline H hlog(H x) { return std::log(float(x)); }                                         \
  inline H hlog2(H x) { return std::log2(float(x)); }                                       \
  inline H hlog10(H x) { return std::log10(float(x)); }                                     \
  inline H hsin(H x) { return std::sin(float(x)); }                                         \
  inline H hcos(H x) { return std::cos(float(x)); }                                         \
  inline H htanh(H x) { return std::tanh(float(x)); }                                       \
  inline H hrcp(H x) { return 1 / double(float(x)); }                                       \
  inline H hrsqrt(H x) { return 1 / std::sqrt(double(float(x))); }                          \
  inline H hfloor(H x) { return std::floor(float(x)); }                                     \
  inline H hceil(H x) { return std::ceil(float(x)); }                                       \
  inline H hrint(H x) { return std::nearbyint(float(x)); }                                  \
  inline H htrunc(H x) { return std::trunc(float(x)); }                                     \
  inline bool __hge(H a, H b) { return a >= b; }                                            \
  inline bool __hle(H a, H b) { return a <= b; }                                            \
  inline bool __hne(H a, H b) { return a != b; }                                            \
  inline bool __hisinf(H a) { return std::isinf(float(a)); }                                \
  inline H2 __hneg2(H2 a) { return -a; }                                                    \
  inline H2 __habs2(H2 a) { return {__habs(a.x), __habs(a.y)}; }                            \
  inline H2 __hmax2(H2 a, H2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }            \
  inline H2 __hmin2(H2 a, H2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }            \
  inline H2 __h2div(H2 a, H2 b) { return a / b; }                                           \
  inline H2 h2exp(H2 a) { return {hexp(a.x), hexp(a.y)}; }                                  \
  inline H2 h2tanh(H2 a) { return {htanh(a.x), htanh(a.y)}; }                               \
  inline H2 h2sqrt(H2 a) { return {hsqrt(a.x), hsqrt(a.y)}; }                               \
  inline H2 h2rsqrt(H2 a) { return {hrsqrt(a.x), hrsqrt(a.y)}; }                            \
  inline H2 h2rcp(H2 a) { return {hrcp(a.x), hrcp(a.y)}; }                                  \
  inline H2 h2exp2(H2 a) { return {hexp2(a.x), hexp2(a.y)}; }                               \
  inline H2 h2log2(H2 a) { return {hlog2(a.x), hlog2(a.y)}; }                               \
  inline H2 h2log(H2 a) { return {hlog(a.x), hlog(a.y)}; }                                  \
  inline H2 __heq2(H2 a, H2 b) { return {float(a.x == b.x), float(a.y == b.y)}; }           \
  inline H2 __hgt2(H2 a, H2 b) { return {float(a.x > b.x), float(a.y > b.y)}; }             \
  inline H2 __hlt2(H2 a, H2 b) { return {float(a.x < b.x), float(a.y < b.y)}; }             \
  inline H2 __hge2(H2 a, H2 b) { return {float(a.x >= b.x), float(a.y >= b.y)}; }           \
  inline H2 __hle2(H2 a, H2 b) { return {float(a.x <= b.x), float(a.y <= b.y)}; }           \
  inline bool __hbgt2(H2 a, H2 b) { return a > b; }                                         \
  inline bool __hblt2(H2 a, H2 b) { return a < b; }                                         \
  inline bool __hbeq2(H2 a, H2 b) { return a == b; }                                        \
  inline bool __hgt(H a, H b) { return a > b; }                                             \
  inline bool __hlt(H a, H b) { return a < b; }                                             \
  inline bool __heq(H a, H b) { return a == b; }                                            \
  inline bool __hisnan(H a) { return float(a) != float(a); }                                \
  inline H2 __hadd2(H2 a, H2 b) { return {a.x + b.x, a.y + b.y}; }                          \
  inline H2 __hsub2(H2 a, H2 b) { return {a.x - b.x, a.y - b.y}; }                          \
  inline H2 __hmul2(H2 a, H2 b) { return {a.x * b.x, a.y * b.y}; }                          \
  inline H2 __hfma2(H2 a, H2 b, H2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
// Atomics that a GPU does in one step; here they use compare and swap.
#define SIMT_IMPORT_HALF_ATOMICS(H, H2)                                           \
  SIMT_INLINE H atomicAdd(H* p, H v) { return ::simt::import::atomic_sum(p, v); } \
  SIMT_INLINE H2 atomicAdd(H2* p, H2 v) { return ::simt::import::atomic_sum(p, v); }
