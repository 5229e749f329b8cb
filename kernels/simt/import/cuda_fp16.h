// Stands in for CUDA's header of this name: f16 with operators and the common functions.
#pragma once

#include "cuda_runtime.h"
#include "kernels/simt/import/half_arithmetic.hpp"

struct __half : simt::import::half_float<simt::f16> {
  using half_float::half_float;
  __half() = default;
  __half(const simt::import::half_float<simt::f16>& x) : half_float(x) {}
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
inline __half hexp(__half x) { return std::exp(float(x)); }
inline __half hsqrt(__half x) { return std::sqrt(float(x)); }
SIMT_IMPORT_HALF_FUNCTIONS(__half, __half2)
