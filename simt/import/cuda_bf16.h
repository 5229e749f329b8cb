// Stands in for CUDA's header of this name: bf16 with operators and the common functions.
#pragma once

#include "cuda_runtime.h"
#include "simt/import/half_arithmetic.hpp"
#include "simt/import/half_functions.hpp"

struct __nv_bfloat16_raw {
  unsigned short x;
};
struct __nv_bfloat16 : simt::import::half_float<simt::bf16, __nv_bfloat16> {
  using half_float::half_float;
  __nv_bfloat16() = default;
  __nv_bfloat16(__nv_bfloat16_raw raw) { bits = raw.x; }
  operator __nv_bfloat16_raw() const { return {bits}; }
};
using nv_bfloat16 = __nv_bfloat16;
using __nv_bfloat162 = simt::import::half_pair<__nv_bfloat16>;
using nv_bfloat162 = __nv_bfloat162;

SIMT_IMPORT_HALF_NAMES(__nv_bfloat16, __nv_bfloat162, bfloat16)
SIMT_IMPORT_HALF_FUNCTIONS(__nv_bfloat16, __nv_bfloat162)
SIMT_IMPORT_HALF_ATOMICS(__nv_bfloat16, __nv_bfloat162)
SIMT_IMPORT_MORE_HALF_FUNCTIONS(__nv_bfloat16, __nv_bfloat162)
SIMT_IMPORT_HALF_CONVERSIONS(__nv_bfloat16, bfloat16)
inline __nv_bfloat16 htanh_approx(__nv_bfloat16 x) { return ::simt::import::approximate("htanh_approx", htanh(x)); }
inline __nv_bfloat162 h2tanh_approx(__nv_bfloat162 x) { return {htanh_approx(x.x), htanh_approx(x.y)}; }
