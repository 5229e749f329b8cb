// Many correctly rounded quotients by one divisor, at five operations each and without a branch.
#pragma once

#include <cmath>

#include "kernels/simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// e / s for 0 <= e <= 1 <= s < 2^36, rounded to nearest even where the quotient is normal and off by less than the
// smallest subnormal elsewhere; NaN if either is. The first correction makes the product with the rounded reciprocal
// faithful, the second rounds it (Markstein, IBM J. Res. Dev. 34, 1990, theorem on division: exact remainder, faithful
// estimate, correctly rounded reciprocal). The remainder stays exact because small e are scaled up first.
class row_quotient {
 public:
  __device__ explicit row_quotient(float divisor) : divisor_(divisor), reciprocal_(1.0f / divisor) {}

  __device__ float operator()(float e) const {
    const bool small = e < 0x1p-90f;
    const float numerator = small ? e * 0x1p96f : e;
    float q = numerator * reciprocal_;
    q = fmaf(fmaf(-q, divisor_, numerator), reciprocal_, q);
    q = fmaf(fmaf(-q, divisor_, numerator), reciprocal_, q);
    return small ? q * 0x1p-96f : q;
  }

 private:
  float divisor_;
  float reciprocal_;
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
