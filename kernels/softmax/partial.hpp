// The partial of a warp, a block or a tile for its part of a row, and the combination of partials.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/primitives/reduce.hpp"
#include "kernels/softmax/arguments.hpp"
#include "kernels/softmax/arithmetic.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

struct alignas(8) softmax_partial {
  float maximum;  // NaN passed on
  float sum;      // of exp(x - maximum)
};

// exp is computed relative to this, so that a part without any finite element sums to 0.
__device__ inline float finite_reference(float maximum) { return maximum == -INFINITY ? 0.0f : maximum; }

// Combines `count` partials in an order that depends on their number alone; every lane of the warp gets the result.
// One rescale per term.
__device__ inline softmax_partial combine(const softmax_partial* partials, int count) {
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
  float maximum = -INFINITY;
  for (int i = lane; i < count; i += k_warp_size) maximum = max_of()(maximum, partials[i].maximum);
  maximum = warp_maximum(maximum);
  const float reference = finite_reference(maximum);
  float sum = 0.0f;
  for (int i = lane; i < count; i += k_warp_size) sum += partials[i].sum * expf(partials[i].maximum - reference);
  return {maximum, lane_reduce<k_warp_size>(sum, sum_of())};
}

// The RowOp of rows that several blocks keep (row_tile_pair.hpp).
struct softmax_row_op {
  template <class T>
  using arguments = softmax_arguments<T>;
  using partial = softmax_partial;

  template <int Count>
  __device__ static float terms(const float (&value)[Count], float, float maximum) {
    const float reference = finite_reference(maximum);
    return chained_sum<Count>([&](int i) { return quick_exp(value[i] - reference); });
  }
  template <int Count>
  __device__ static float held_out_max(float held_out_max, const float (&)[Count]) {
    return held_out_max;
  }
  __device__ static partial over_warp(float, float terms, float maximum) {
    return {maximum, lane_reduce<k_warp_size>(terms, sum_of())};
  }
  __device__ static partial combine(const partial* partials, int count) { return warpcheck::combine(partials, count); }
  // Partials of the values of `Lanes` neighbouring lanes, and of the partials of a warp (small_matrix.hpp).
  template <int Lanes, int Count>
  __device__ static partial of_small_row(const float (&value)[Count]) {
    const float maximum = lanes_maximum<Lanes>(max_of_values(value));
    return {maximum, lane_reduce<Lanes>(terms(value, -INFINITY, maximum), sum_of())};
  }
  template <int Lanes, int Each>
  __device__ static partial merge_small_row(const partial (&mine)[Each]) {
    const float maximum = warp_maximum(max_of_partials(mine));
    const float reference = finite_reference(maximum);
    float sum = mine[0].sum * expf(mine[0].maximum - reference);
#pragma unroll
    for (int i = 1; i < Each; ++i) sum = fmaf(mine[i].sum, expf(mine[i].maximum - reference), sum);
    return {maximum, lane_reduce<Lanes>(sum, sum_of())};
  }
  template <class T>
  class result {
   public:
    result() = default;
    __device__ explicit result(const partial& row) : over_sum_(row.sum), maximum_(row.maximum) {}
    __device__ float operator()(float x) const { return over_sum_(softmax_arithmetic<T>::shared_exp(x - maximum_)); }

   private:
    typename softmax_arithmetic<T>::quotient over_sum_;
    float maximum_;
  };
  template <class T>
  __device__ __host__ static int64_t* argmax(const arguments<T>& a) {
    return a.argmax;
  }
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
