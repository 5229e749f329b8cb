// Stands in for CUDA's header of this name: bf16 with operators and the common functions.
#pragma once

#include "cuda_runtime.h"
#include "simt/import/half_arithmetic.hpp"
#include "simt/import/half_functions.hpp"

struct __nv_bfloat16 : simt::import::half_float<simt::bf16, __nv_bfloat16> {
  using half_float::half_float;
  __nv_bfloat16() = default;
};
using nv_bfloat16 = __nv_bfloat16;
using __nv_bfloat162 = simt::import::half_pair<__nv_bfloat16>;
using nv_bfloat162 = __nv_bfloat162;

inline __nv_bfloat16 __float2bfloat16(float x) { return x; }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return x; }
inline float __bfloat162float(__nv_bfloat16 x) { return x; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {v.x, v.y}; }
inline __nv_bfloat16 __double2bfloat16(double x) { return x; }
inline __nv_bfloat162 __float2bfloat162_rn(float x) { return {x, x}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 v) { return {v.x, v.y}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
inline float __low2float(__nv_bfloat162 v) { return v.x; }
inline float __high2float(__nv_bfloat162 v) { return v.y; }
inline __nv_bfloat16 __int2bfloat16_rn(int x) { return x; }
inline __nv_bfloat16 __uint2bfloat16_rn(unsigned x) { return x; }
inline int __bfloat162int_rn(__nv_bfloat16 x) { return __float2int_rn(x); }
inline int __bfloat162int_rz(__nv_bfloat16 x) { return __float2int_rz(x); }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return ::simt::emu::from_bits<__nv_bfloat16>(bits); }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
SIMT_IMPORT_HALF_FUNCTIONS(__nv_bfloat16, __nv_bfloat162)
SIMT_IMPORT_HALF_ATOMICS(__nv_bfloat16, __nv_bfloat162)
inline __nv_bfloat16 hexp10(__nv_bfloat16 x) { return std::pow(10.0, double(float(x))); }
SIMT_IMPORT_MORE_HALF_FUNCTIONS(__nv_bfloat16, __nv_bfloat162)
SIMT_IMPORT_HALF_CONVERSIONS(__nv_bfloat16, bfloat16)
inline unsigned __bfloat162uint_rn(__nv_bfloat16 x) { return __float2uint_rn(x); }
inline __nv_bfloat16 __short_as_bfloat16(short bits) {
  return ::simt::emu::from_bits<__nv_bfloat16>(static_cast<unsigned short>(bits));
}
inline short __bfloat16_as_short(__nv_bfloat16 x) { return static_cast<short>(x.bits); }
inline __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) { return {a.x, a.x}; }
inline __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) { return {a.y, a.y}; }
inline __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x, b.x}; }
inline __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.y, b.y}; }
inline __nv_bfloat162 __lowhigh2highlow(__nv_bfloat162 a) { return {a.y, a.x}; }
inline __nv_bfloat16 htanh_approx(__nv_bfloat16 x) { return ::simt::import::approximate("htanh_approx", htanh(x)); }
inline __nv_bfloat162 h2tanh_approx(__nv_bfloat162 x) { return {htanh_approx(x.x), htanh_approx(x.y)}; }
