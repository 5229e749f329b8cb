// Arithmetic of the results of softmax. Its bound allows the numerator two rescales, and the sum more additions than
// kernels make. Kernels of f16 and bf16, which instructions limit, use this room for exponentials and quotients of
// fewer operations (docs/numerics.md).
#pragma once

#include <cmath>

#include "kernels/primitives/quotient.hpp"
#include "kernels/primitives/reduce.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// e^x for x <= 0 as the square of e^(x/2), in seven operations and without a branch; NaN for NaN, including subnormal
// results. The rounding of x log2(e)/2 is compensated to first order.
__device__ inline float squared_exp(float x) {
  constexpr float k_half_log2_e = 0.72134752f, k_2_ln2 = 1.38629436f;
  x = simt::max_nan(x, -150.0f);  // e^-150 is 0, and -Inf less -Inf would be NaN below
  const float half = x * k_half_log2_e;
  const float rest = fmaf(half, -k_2_ln2, x);
  const float root = simt::exp2_approx(half);
  const float square = root * root;
  return fmaf(square, rest, square);
}

// exp: if lanes or a block hold a row; shared_exp: for the results of a row that several blocks share, whose sum has
// used its part of the bound already.
template <class T>
struct softmax_arithmetic {
  __device__ static float exp(float x) { return expf(x); }
  __device__ static float shared_exp(float x) { return expf(x); }
  using quotient = row_quotient;
};

// The relative error of quick_exp grows with -x, and from x = -17.4 down the result is 0 in f16 (docs/numerics.md).
template <>
struct softmax_arithmetic<simt::f16> {
  __device__ static float exp(float x) { return quick_exp(x); }
  __device__ static float shared_exp(float x) { return squared_exp(x); }
  using quotient = row_product;
};

template <>
struct softmax_arithmetic<simt::bf16> {
  __device__ static float exp(float x) { return squared_exp(x); }
  __device__ static float shared_exp(float x) { return squared_exp(x); }
  using quotient = row_product;
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
