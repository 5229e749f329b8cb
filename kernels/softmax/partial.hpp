// What a warp, a block or a tile knows of its part of a row, and how such parts combine.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/primitives/reduce.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

struct alignas(8) softmax_partial {
  float maximum;  // NaN passed on
  float sum;      // of exp(x - maximum)
};

// exp is taken relative to this, so that a part without any finite element sums to 0.
__device__ inline float finite_reference(float maximum) { return maximum == -INFINITY ? 0.0f : maximum; }

// Of the slices of a warp, of which `own` is the maximum of the lane's; every lane gets the result.
template <int Count>
__device__ inline softmax_partial warp_partial(const float (&value)[Count], float own) {
  const float maximum = lane_reduce<k_warp_size>(own, max_of());
  const float reference = finite_reference(maximum);
  const float sum = chained_sum<Count>([&](int i) { return expf(value[i] - reference); });
  return {maximum, lane_reduce<k_warp_size>(sum, sum_of())};
}

// Combines `count` partials in an order that depends on their number alone; every lane of the warp gets the result.
// One rescale per term.
__device__ inline softmax_partial combine(const softmax_partial* partials, int count) {
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
  float maximum = -INFINITY;
  for (int i = lane; i < count; i += k_warp_size) maximum = max_of()(maximum, partials[i].maximum);
  maximum = lane_reduce<k_warp_size>(maximum, max_of());
  const float reference = finite_reference(maximum);
  float sum = 0.0f;
  for (int i = lane; i < count; i += k_warp_size) sum += partials[i].sum * expf(partials[i].maximum - reference);
  return {maximum, lane_reduce<k_warp_size>(sum, sum_of())};
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
