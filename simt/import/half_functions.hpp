// The less common functions that cuda_fp16.h and cuda_bf16.h both define: saturating arithmetic and relu,
// comparisons that hold for NaN, masks, and conversions with directed rounding.
#pragma once

#include <cmath>
#include <cstdint>

#include "simt/import/half_arithmetic.hpp"
#include "simt/import/intrinsics.hpp"

namespace simt::import {

// Returns x rounded to the type in a direction.
template <class H>
SIMT_INLINE H half_directed(double x, direction to) {
  H nearest = x;
  const double value = float(nearest);
  if (std::isnan(x) || value == x) return nearest;
  const bool upwards = to == direction::up || (to == direction::zero && x < 0);
  if (upwards == (value > x)) return nearest;
  if (value == 0) return ::simt::emu::from_bits<H>(static_cast<uint16_t>(upwards ? 1 : 0x8001));
  const bool away = (value > 0) == upwards;
  return ::simt::emu::from_bits<H>(static_cast<uint16_t>(nearest.bits + (away ? 1 : -1)));
}
template <class H>
SIMT_INLINE H half_saturated(H x) {
  return float(x) > 0 ? float(x) < 1 ? x : H(1.0f) : H(0.0f);
}
template <class H>
SIMT_INLINE H half_rectified(H x) {
  return float(x) < 0 ? H(0.0f) : x;
}
constexpr unsigned pair_mask(bool low, bool high) { return (low ? 0xffffu : 0) | (high ? 0xffff0000u : 0); }

}  // namespace simt::import

// Comparisons: of numbers; unordered (true for NaN); of pairs; as masks; of both halves.
#define SIMT_IMPORT_HALF_ORDER(H, H2, name, operation)                                                           \
  inline bool __h##name##u(H a, H b) { return !(a == a && b == b) || a operation b; }                            \
  inline H2 __h##name##u2(H2 a, H2 b) { return {float(__h##name##u(a.x, b.x)), float(__h##name##u(a.y, b.y))}; } \
  inline unsigned __h##name##2_mask(H2 a, H2 b) {                                                                \
    return ::simt::import::pair_mask(a.x operation b.x, a.y operation b.y);                                      \
  }                                                                                                              \
  inline unsigned __h##name##u2_mask(H2 a, H2 b) {                                                               \
    return ::simt::import::pair_mask(__h##name##u(a.x, b.x), __h##name##u(a.y, b.y));                            \
  }                                                                                                              \
  inline bool __hb##name##u2(H2 a, H2 b) { return __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y); }
#define SIMT_IMPORT_HALF_SUM(H, H2, name, operation)                                              \
  inline H __h##name##_rn(H a, H b) { return a operation b; }                                     \
  inline H2 __h##name##2_rn(H2 a, H2 b) { return a operation b; }                                 \
  inline H __h##name##_sat(H a, H b) { return ::simt::import::half_saturated<H>(a operation b); } \
  inline H2 __h##name##2_sat(H2 a, H2 b) { return {__h##name##_sat(a.x, b.x), __h##name##_sat(a.y, b.y)}; }
#define SIMT_IMPORT_HALF_BY_EACH(H2, name, of_one) \
  inline H2 name(H2 a) { return {of_one(a.x), of_one(a.y)}; }

#define SIMT_IMPORT_MORE_HALF_FUNCTIONS(H, H2)                                                                  \
  SIMT_IMPORT_HALF_ORDER(H, H2, eq, ==)                                                                         \
  SIMT_IMPORT_HALF_ORDER(H, H2, ne, !=)                                                                         \
  SIMT_IMPORT_HALF_ORDER(H, H2, gt, >)                                                                          \
  SIMT_IMPORT_HALF_ORDER(H, H2, ge, >=)                                                                         \
  SIMT_IMPORT_HALF_ORDER(H, H2, lt, <)                                                                          \
  SIMT_IMPORT_HALF_ORDER(H, H2, le, <=)                                                                         \
  SIMT_IMPORT_HALF_SUM(H, H2, add, +)                                                                           \
  SIMT_IMPORT_HALF_SUM(H, H2, sub, -)                                                                           \
  SIMT_IMPORT_HALF_SUM(H, H2, mul, *)                                                                           \
  SIMT_IMPORT_HALF_BY_EACH(H2, h2ceil, hceil)                                                                   \
  SIMT_IMPORT_HALF_BY_EACH(H2, h2floor, hfloor)                                                                 \
  SIMT_IMPORT_HALF_BY_EACH(H2, h2rint, hrint)                                                                   \
  SIMT_IMPORT_HALF_BY_EACH(H2, h2trunc, htrunc)                                                                 \
  SIMT_IMPORT_HALF_BY_EACH(H2, h2sin, hsin)                                                                     \
  SIMT_IMPORT_HALF_BY_EACH(H2, h2cos, hcos)                                                                     \
  SIMT_IMPORT_HALF_BY_EACH(H2, h2log10, hlog10)                                                                 \
  SIMT_IMPORT_HALF_BY_EACH(H2, h2exp10, hexp10)                                                                 \
  inline H2 __hne2(H2 a, H2 b) { return {float(a.x != b.x), float(a.y != b.y)}; }                               \
  inline bool __hbge2(H2 a, H2 b) { return a >= b; }                                                            \
  inline bool __hble2(H2 a, H2 b) { return a <= b; }                                                            \
  inline bool __hbne2(H2 a, H2 b) { return a != b; }                                                            \
  inline H2 __hisnan2(H2 a) { return {float(a.x != a.x), float(a.y != a.y)}; }                                  \
  inline H __hmax_nan(H a, H b) { return a != a ? a : b != b ? b : __hmax(a, b); }                              \
  inline H __hmin_nan(H a, H b) { return a != a ? a : b != b ? b : __hmin(a, b); }                              \
  inline H2 __hmax2_nan(H2 a, H2 b) { return {__hmax_nan(a.x, b.x), __hmax_nan(a.y, b.y)}; }                    \
  inline H2 __hmin2_nan(H2 a, H2 b) { return {__hmin_nan(a.x, b.x), __hmin_nan(a.y, b.y)}; }                    \
  inline H __hfma_sat(H a, H b, H c) { return ::simt::import::half_saturated<H>(__hfma(a, b, c)); }             \
  inline H __hfma_relu(H a, H b, H c) { return ::simt::import::half_rectified<H>(__hfma(a, b, c)); }            \
  inline H2 __hfma2_sat(H2 a, H2 b, H2 c) { return {__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)}; }    \
  inline H2 __hfma2_relu(H2 a, H2 b, H2 c) { return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)}; } \
  inline H2 __hcmadd(H2 a, H2 b, H2 c) {                                                                        \
    return {__hfma(-a.y, b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))};                 \
  }

// __half2int_rd and its like, and __int2half_rd; `name` is "half" or "bfloat16".
#define SIMT_IMPORT_HALF_TO_INTEGER(H, name, integer, Integer, suffix, round)      \
  inline Integer __##name##2##integer##_##suffix(H x) {                            \
    return ::simt::emu::detail::saturating_cast<Integer>(round(double(float(x)))); \
  }
#define SIMT_IMPORT_INTEGER_TO_HALF(H, name, integer, Integer)                   \
  inline H __##integer##2##name##_rd(Integer x) {                                \
    return ::simt::import::half_directed<H>(x, ::simt::import::direction::down); \
  }                                                                              \
  inline H __##integer##2##name##_ru(Integer x) {                                \
    return ::simt::import::half_directed<H>(x, ::simt::import::direction::up);   \
  }                                                                              \
  inline H __##integer##2##name##_rz(Integer x) {                                \
    return ::simt::import::half_directed<H>(x, ::simt::import::direction::zero); \
  }
#define SIMT_IMPORT_HALF_CONVERSIONS(H, name)                                       \
  SIMT_IMPORT_INTEGER_TO_HALF(H, name, int, int)                                    \
  SIMT_IMPORT_INTEGER_TO_HALF(H, name, uint, unsigned)                              \
  SIMT_IMPORT_INTEGER_TO_HALF(H, name, short, short)                                \
  SIMT_IMPORT_INTEGER_TO_HALF(H, name, ushort, unsigned short)                      \
  SIMT_IMPORT_INTEGER_TO_HALF(H, name, float, float)                                \
  SIMT_IMPORT_HALF_TO_INTEGER(H, name, int, int, rd, std::floor)                    \
  SIMT_IMPORT_HALF_TO_INTEGER(H, name, int, int, ru, std::ceil)                     \
  SIMT_IMPORT_HALF_TO_INTEGER(H, name, uint, unsigned, rz, std::trunc)              \
  SIMT_IMPORT_HALF_TO_INTEGER(H, name, uint, unsigned, rd, std::floor)              \
  SIMT_IMPORT_HALF_TO_INTEGER(H, name, uint, unsigned, ru, std::ceil)               \
  SIMT_IMPORT_HALF_TO_INTEGER(H, name, short, short, rn, std::nearbyint)            \
  SIMT_IMPORT_HALF_TO_INTEGER(H, name, short, short, rz, std::trunc)                \
  SIMT_IMPORT_HALF_TO_INTEGER(H, name, short, short, rd, std::floor)                \
  SIMT_IMPORT_HALF_TO_INTEGER(H, name, short, short, ru, std::ceil)                 \
  SIMT_IMPORT_HALF_TO_INTEGER(H, name, ushort, unsigned short, rn, std::nearbyint)  \
  SIMT_IMPORT_HALF_TO_INTEGER(H, name, ushort, unsigned short, rz, std::trunc)      \
  SIMT_IMPORT_HALF_TO_INTEGER(H, name, ushort, unsigned short, rd, std::floor)      \
  SIMT_IMPORT_HALF_TO_INTEGER(H, name, ushort, unsigned short, ru, std::ceil)       \
  SIMT_IMPORT_HALF_TO_INTEGER(H, name, ll, long long, rn, std::nearbyint)           \
  SIMT_IMPORT_HALF_TO_INTEGER(H, name, ll, long long, rz, std::trunc)               \
  SIMT_IMPORT_HALF_TO_INTEGER(H, name, ll, long long, rd, std::floor)               \
  SIMT_IMPORT_HALF_TO_INTEGER(H, name, ll, long long, ru, std::ceil)                \
  SIMT_IMPORT_HALF_TO_INTEGER(H, name, ull, unsigned long long, rn, std::nearbyint) \
  SIMT_IMPORT_HALF_TO_INTEGER(H, name, ull, unsigned long long, rz, std::trunc)     \
  SIMT_IMPORT_HALF_TO_INTEGER(H, name, ull, unsigned long long, rd, std::floor)     \
  SIMT_IMPORT_HALF_TO_INTEGER(H, name, ull, unsigned long long, ru, std::ceil)      \
  SIMT_IMPORT_HALF_TO_INTEGER(H, name, char, signed char, rz, std::trunc)           \
  SIMT_IMPORT_HALF_TO_INTEGER(H, name, uchar, unsigned char, rz, std::trunc)

// The functions whose names differ between __half, whose `name` is half, and __nv_bfloat16, whose name is bfloat16. P
// is the pair.
#define SIMT_IMPORT_HALF_NAMES(H, P, name)                                                                        \
  inline H __float2##name##_rn(float x) { return x; }                                                             \
  inline H __float2##name(float x) { return x; }                                                                  \
  inline H __double2##name(double x) { return x; }                                                                \
  inline H __int2##name##_rn(int x) { return x; }                                                                 \
  inline H __uint2##name##_rn(unsigned x) { return x; }                                                           \
  inline H __short2##name##_rn(short x) { return x; }                                                             \
  inline H __ushort2##name##_rn(unsigned short x) { return x; }                                                   \
  inline H __ll2##name##_rn(long long x) { return x; }                                                            \
  inline H __ull2##name##_rn(unsigned long long x) { return x; }                                                  \
  inline float __##name##2float(H x) { return x; }                                                                \
  inline int __##name##2int_rn(H x) { return __float2int_rn(x); }                                                 \
  inline int __##name##2int_rz(H x) { return __float2int_rz(x); }                                                 \
  inline unsigned __##name##2uint_rn(H x) { return __float2uint_rn(x); }                                          \
  inline H __ushort_as_##name(unsigned short bits) { return ::simt::emu::from_bits<H>(bits); }                    \
  inline H __short_as_##name(short bits) { return ::simt::emu::from_bits<H>(static_cast<unsigned short>(bits)); } \
  inline unsigned short __##name##_as_ushort(H x) { return x.bits; }                                              \
  inline short __##name##_as_short(H x) { return static_cast<short>(x.bits); }                                    \
  inline H hexp10(H x) { return std::pow(10.0, double(float(x))); }                                               \
  inline P make_##name##2(H x, H y) { return {x, y}; }                                                            \
  inline P __halves2##name##2(H x, H y) { return {x, y}; }                                                        \
  inline P __##name##2##name##2(H x) { return {x, x}; }                                                           \
  inline P __float2##name##2_rn(float x) { return {x, x}; }                                                       \
  inline P __floats2##name##2_rn(float x, float y) { return {x, y}; }                                             \
  inline P __float22##name##2_rn(float2 v) { return {v.x, v.y}; }                                                 \
  inline float2 __##name##22float2(P v) { return {v.x, v.y}; }                                                    \
  inline H __low2##name(P v) { return v.x; }                                                                      \
  inline H __high2##name(P v) { return v.y; }                                                                     \
  inline float __low2float(P v) { return v.x; }                                                                   \
  inline float __high2float(P v) { return v.y; }                                                                  \
  inline P __low2##name##2(P v) { return {v.x, v.x}; }                                                            \
  inline P __high2##name##2(P v) { return {v.y, v.y}; }                                                           \
  inline P __lows2##name##2(P a, P b) { return {a.x, b.x}; }                                                      \
  inline P __highs2##name##2(P a, P b) { return {a.y, b.y}; }                                                     \
  inline P __lowhigh2highlow(P v) { return {v.y, v.x}; }
