// Prefix combinations over lanes, warps and blocks. The tree of every prefix is fixed by the positions of its values
// alone, so that the bits are the same on every launch; padding by the neutral element changes none.
//
// An operation is a functor with a static neutral() and an associative operator()(earlier, later).
#pragma once

#include <cstdint>

#include "kernels/primitives/reduce.hpp"
#include "kernels/primitives/shuffle.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

template <class V>
struct plus_of {
  __host__ __device__ static V neutral() { return V{}; }
  __device__ V operator()(V a, V b) const { return a + b; }
};

// Inclusive prefix over groups of `Lanes` neighbouring lanes; the whole warp must take part. Each value passes through
// at most log2(Lanes) operations (Kogge, Stone, IEEE Trans. Computers C-22, 1973).
template <int Lanes, class Op, class V>
__device__ inline V lane_scan(V value, Op op) {
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
#pragma unroll
  for (int offset = 1; offset < Lanes; offset *= 2) {
    const V below = shuffle_up(value, offset);
    if (lane >= offset) value = op(below, value);
  }
  return value;
}

// From the inclusive prefix of each lane to the exclusive one: that of the lane below, the neutral element in lane 0.
template <int Lanes, class Op, class V>
__device__ inline V lane_exclusive(V inclusive, Op) {
  const V below = shuffle_up(inclusive, 1);
  return static_cast<int>(threadIdx.x) % Lanes == 0 ? Op::neutral() : below;
}

// The exclusive prefix of a warp's total over the warps of a block, and the total of the block.
template <class V>
struct warp_base {
  V before;
  V all;
};

// In two halves with a barrier of the block between them. All threads of a block of whole warps take part. `scratch`
// holds k_max_warps values, and another barrier must pass before it is posted to again: alternate between two. Every
// thread gets the result, with the same bits in all lanes of a warp.
template <class V>
__device__ inline void post_warp_total(V total, V* scratch) {
  if (threadIdx.x % k_warp_size == 0) scratch[threadIdx.x / k_warp_size] = total;
}

template <class Op, class V>
__device__ inline warp_base<V> fetch_warp_base(Op op, const V* scratch) {
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
  const int warp = static_cast<int>(threadIdx.x) / k_warp_size;
  const int warps = static_cast<int>(blockDim.x) / k_warp_size;
  const V prefix = lane_scan<k_warp_size>(lane < warps ? scratch[lane] : Op::neutral(), op);
  const V before = shuffle_from(prefix, warp == 0 ? 0 : warp - 1);
  return {warp == 0 ? Op::neutral() : before, shuffle_from(prefix, warps - 1)};
}

// Exclusive prefix over the threads of a block, in thread order, and the block's total: same rules.
template <class Op, class V>
__device__ inline warp_base<V> block_exclusive_scan(V value, Op op, V* scratch) {
  const V inclusive = lane_scan<k_warp_size>(value, op);
  post_warp_total(shuffle_from(inclusive, k_warp_size - 1), scratch);
  __syncthreads();
  const warp_base<V> base = fetch_warp_base(op, scratch);
  return {op(base.before, lane_exclusive<k_warp_size>(inclusive, op)), base.all};
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
