// Many quotients by one divisor, without a branch: correctly rounded ones at three operations each.
#pragma once

#include <cmath>

#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// e / s for 0 <= e <= 1 <= s: rounded to nearest even for e >= 2^-100; below, off by at most half the smallest
// subnormal more; NaN if either is NaN. The product with the rounded reciprocal is within one unit in the last place,
// so its exact remainder corrects it (Markstein, IBM J. Res. Dev. 34, 1990; checked on all quotients within 8/2^24
// units of a rounding boundary, the only ones that the correction's own error can affect).
class row_quotient {
 public:
  row_quotient() = default;
  __device__ explicit row_quotient(float divisor) : divisor_(divisor), reciprocal_(1.0f / divisor) {}

  __device__ float operator()(float e) const {
    const float q = e * reciprocal_;
    return fmaf(fmaf(-q, divisor_, e), reciprocal_, q);
  }

 private:
  float divisor_;
  float reciprocal_;
};

// The same to within 2u of itself and half the smallest subnormal, in one operation.
class row_product {
 public:
  row_product() = default;
  __device__ explicit row_product(float divisor) : reciprocal_(1.0f / divisor) {}

  __device__ float operator()(float e) const { return e * reciprocal_; }

 private:
  float reciprocal_;
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
