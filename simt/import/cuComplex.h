// Stands in for CUDA's header of this name: complex numbers as pairs, and their arithmetic.
#pragma once

#include "cuda_runtime.h"

using cuFloatComplex = float2;
using cuDoubleComplex = double2;
using cuComplex = cuFloatComplex;

namespace simt::import {

template <class Pair>
SIMT_INLINE Pair complex_product(Pair x, Pair y) {
  return {x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x};
}
// Returns x conj(y) / |y|^2. Scaling by |Re y| + |Im y| keeps the square from overflow and underflow.
template <class Pair>
SIMT_INLINE Pair complex_quotient(Pair x, Pair y) {
  const auto scale = 1 / (std::abs(y.x) + std::abs(y.y));
  const Pair a{x.x * scale, x.y * scale}, b{y.x * scale, y.y * scale};
  const auto norm = 1 / (b.x * b.x + b.y * b.y);
  return {(a.x * b.x + a.y * b.y) * norm, (a.y * b.x - a.x * b.y) * norm};
}

}  // namespace simt::import

// One name for each type: F is the suffix of the functions of float.
#define SIMT_IMPORT_COMPLEX(T, Pair, F)                                                         \
  SIMT_INLINE T cuCreal##F(Pair x) { return x.x; }                                              \
  SIMT_INLINE T cuCimag##F(Pair x) { return x.y; }                                              \
  SIMT_INLINE Pair cuConj##F(Pair x) { return {x.x, -x.y}; }                                    \
  SIMT_INLINE Pair cuCadd##F(Pair x, Pair y) { return {x.x + y.x, x.y + y.y}; }                 \
  SIMT_INLINE Pair cuCsub##F(Pair x, Pair y) { return {x.x - y.x, x.y - y.y}; }                 \
  SIMT_INLINE Pair cuCmul##F(Pair x, Pair y) { return ::simt::import::complex_product(x, y); }  \
  SIMT_INLINE Pair cuCdiv##F(Pair x, Pair y) { return ::simt::import::complex_quotient(x, y); } \
  SIMT_INLINE Pair cuCfma##F(Pair x, Pair y, Pair z) { return cuCadd##F(cuCmul##F(x, y), z); }  \
  SIMT_INLINE T cuCabs##F(Pair x) {                                                             \
    return ::simt::import::approximate_in_kernel("functions of math.h", std::hypot(x.x, x.y));  \
  }
SIMT_IMPORT_COMPLEX(double, double2, )
SIMT_IMPORT_COMPLEX(float, float2, f)
#undef SIMT_IMPORT_COMPLEX

inline cuDoubleComplex make_cuDoubleComplex(double real, double imaginary) { return {real, imaginary}; }
inline cuFloatComplex make_cuFloatComplex(float real, float imaginary) { return {real, imaginary}; }
inline cuComplex make_cuComplex(float real, float imaginary) { return {real, imaginary}; }
inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex x) { return {x.x, x.y}; }
inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex x) {
  return {static_cast<float>(x.x), static_cast<float>(x.y)};
}
