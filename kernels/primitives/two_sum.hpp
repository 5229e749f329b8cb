// The rounding error of a sum (D. E. Knuth, The Art of Computer Programming 2, 4.2.2, theorem B).
#pragma once

#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// a + b - sum, exactly, if sum = RN(a + b) is finite.
template <class V>
__device__ inline V sum_error(V a, V b, V sum) {
  const V part = sum - a;
  return (a - (sum - part)) + (b - part);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
