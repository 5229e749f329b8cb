// The logistic function of sigmoid and of matmul's epilogue.
#pragma once

#include <cmath>

#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// e / d for 0 <= e <= 1 <= d <= 2, NaN passed on: the hardware's reciprocal after one step of Newton's, and the
// quotient corrected by its exact remainder (quotient.hpp). No branch, and the bits of IEEE division for every e =
// exp(-|z|), d = 1 + e (all 2^32 floats z on an H200).
__device__ inline float unit_quotient(float e, float d) {
  float reciprocal = simt::reciprocal_approx(d);
  reciprocal = fmaf(reciprocal, fmaf(-d, reciprocal, 1.0f), reciprocal);
  const float q = e * reciprocal;
  return fmaf(fmaf(-q, d, e), reciprocal, q);
}

// {1 or e} / (1 + e) with e = exp(-|z|): neither overflows, and the tail of negative z keeps its relative accuracy.
__device__ inline float logistic(float x, float mu, float sigma) {
  const float z = (x - mu) * sigma;
  const float e = expf(-fabsf(z));
  return unit_quotient(z >= 0.0f ? 1.0f : e, 1.0f + e);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
