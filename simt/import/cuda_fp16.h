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

SIMT_IMPORT_HALF_NAMES(__half, __half2, half)
SIMT_IMPORT_HALF_FUNCTIONS(__half, __half2)
SIMT_IMPORT_HALF_ATOMICS(__half, __half2)
SIMT_IMPORT_MORE_HALF_FUNCTIONS(__half, __half2)
SIMT_IMPORT_HALF_CONVERSIONS(__half, half)
inline __half htanh_approx(__half x) { return ::simt::import::approximate("htanh_approx", htanh(x)); }
inline __half2 h2tanh_approx(__half2 x) { return {htanh_approx(x.x), htanh_approx(x.y)}; }
