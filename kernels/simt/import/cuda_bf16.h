// Stands in for CUDA's header of this name: bf16 with operators and the common functions.
#pragma once

#include "cuda_runtime.h"
#include "kernels/simt/import/half_arithmetic.hpp"

struct __nv_bfloat16 : simt::import::half_float<simt::bf16> {
  using half_float::half_float;
  __nv_bfloat16() = default;
  __nv_bfloat16(const simt::import::half_float<simt::bf16>& x) : half_float(x) {}
};
using nv_bfloat16 = __nv_bfloat16;
using __nv_bfloat162 = simt::import::half_pair<__nv_bfloat16>;
using nv_bfloat162 = __nv_bfloat162;

inline __nv_bfloat16 __float2bfloat16(float x) { return x; }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return x; }
inline float __bfloat162float(__nv_bfloat16 x) { return x; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {v.x, v.y}; }
SIMT_IMPORT_HALF_FUNCTIONS(__nv_bfloat16, __nv_bfloat162)
