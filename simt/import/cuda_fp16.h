// Stands in for CUDA's header of this name: f16 with operators and the common functions.
#pragma once

#include "cuda_runtime.h"
#include "simt/import/half_arithmetic.hpp"
#include "simt/import/half_functions.hpp"

struct __half_raw {
  unsigned short x;
};
struct __half : simt::import::half_float<simt::f16, __half> {
  using half_float::half_float;
  __half() = default;
  __half(__half_raw raw) { bits = raw.x; }
  operator __half_raw() const { return {bits}; }
};
using half = __half;
using nv_half = __half;
using __nv_half = __half;
using __nv_half_raw = __half_raw;
using __half2 = simt::import::half_pair<__half>;
using half2 = __half2;
using nv_half2 = __half2;
using __nv_half2 = __half2;

SIMT_IMPORT_HALF_NAMES(__half, __half2, half)
SIMT_IMPORT_HALF_FUNCTIONS(__half, __half2)
SIMT_IMPORT_HALF_ATOMICS(__half, __half2)
SIMT_IMPORT_MORE_HALF_FUNCTIONS(__half, __half2)
SIMT_IMPORT_HALF_CONVERSIONS(__half, half)
inline __half htanh_approx(__half x) { return ::simt::import::approximate("htanh_approx", htanh(x)); }
inline __half2 h2tanh_approx(__half2 x) { return {htanh_approx(x.x), htanh_approx(x.y)}; }
