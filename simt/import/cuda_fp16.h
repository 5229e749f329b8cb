// Stands in for CUDA's header of this name: f16 with operators and the common functions.
#pragma once

#include "cuda_runtime.h"
#include "simt/import/half_arithmetic.hpp"
#include "simt/import/half_functions.hpp"

struct __half : simt::import::half_float<simt::f16, __half> {
  using half_float::half_float;
  __half() = default;
};
using half = __half;
using __half2 = simt::import::half_pair<__half>;
using half2 = __half2;

inline __half __float2half(float x) { return x; }
inline __half __float2half_rn(float x) { return x; }
inline __half __double2half(double x) { return x; }
inline float __half2float(__half x) { return x; }
inline __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
inline __half2 __float22half2_rn(float2 v) { return {v.x, v.y}; }
inline __half2 __float2half2_rn(float x) { return {x, x}; }
inline float2 __half22float2(__half2 v) { return {v.x, v.y}; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 __half2half2(__half x) { return {x, x}; }
inline __half __low2half(__half2 v) { return v.x; }
inline __half __high2half(__half2 v) { return v.y; }
inline float __low2float(__half2 v) { return v.x; }
inline float __high2float(__half2 v) { return v.y; }
inline __half hexp10(__half x) { return std::pow(10.0, double(float(x))); }
inline __half __int2half_rn(int x) { return x; }
inline __half __uint2half_rn(unsigned x) { return x; }
inline __half __short2half_rn(short x) { return x; }
inline __half __ushort2half_rn(unsigned short x) { return x; }
inline __half __ll2half_rn(long long x) { return x; }
inline int __half2int_rn(__half x) { return __float2int_rn(x); }
inline int __half2int_rz(__half x) { return __float2int_rz(x); }
inline unsigned __half2uint_rn(__half x) { return __float2uint_rn(x); }
inline __half __ushort_as_half(unsigned short bits) { return ::simt::emu::from_bits<__half>(bits); }
inline __half __short_as_half(short bits) { return __ushort_as_half(static_cast<unsigned short>(bits)); }
inline unsigned short __half_as_ushort(__half x) { return x.bits; }
inline short __half_as_short(__half x) { return static_cast<short>(x.bits); }
inline __half2 make_half2(__half x, __half y) { return {x, y}; }
inline __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
inline __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
inline __half2 __lowhigh2highlow(__half2 a) { return {a.y, a.x}; }
inline __half2 __low2half2(__half2 a) { return {a.x, a.x}; }
inline __half2 __high2half2(__half2 a) { return {a.y, a.y}; }
SIMT_IMPORT_HALF_FUNCTIONS(__half, __half2)
SIMT_IMPORT_HALF_ATOMICS(__half, __half2)
SIMT_IMPORT_MORE_HALF_FUNCTIONS(__half, __half2)
SIMT_IMPORT_HALF_CONVERSIONS(__half, half)
inline __half __ull2half_rn(unsigned long long x) { return x; }
inline __half htanh_approx(__half x) { return ::simt::import::approximate("htanh_approx", htanh(x)); }
inline __half2 h2tanh_approx(__half2 x) { return {htanh_approx(x.x), htanh_approx(x.y)}; }
