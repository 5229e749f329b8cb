// Reductions over lanes, warps and blocks. Every participating thread gets the result, with the same bits: a butterfly
// of a commutative operation gives each lane the same tree.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_warp_size = 32;
constexpr int k_max_warps = 32;  // warps of the largest block
constexpr unsigned k_all_lanes = 0xffffffffu;

// Each operation carries its neutral element, which stands in for warps that a block does not have.
struct sum_of {
  static constexpr float k_neutral = 0.0f;
  __device__ float operator()(float a, float b) const { return a + b; }
};

// Drops NaN, as IEEE maximumNumber does; a NaN reaches the result of a softmax through the sum.
struct max_of {
  static constexpr float k_neutral = -INFINITY;
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

struct min_index {
  static constexpr int64_t k_neutral = INT64_MAX;
  __device__ int64_t operator()(int64_t a, int64_t b) const { return a < b ? a : b; }
};

// Reduction over groups of `Lanes` neighbouring lanes; the whole warp must take part.
template <int Lanes, class Op, class V>
__device__ inline V lane_reduce(V value, Op op) {
#pragma unroll
  for (int offset = Lanes / 2; offset > 0; offset /= 2) value = op(value, __shfl_xor_sync(k_all_lanes, value, offset));
  return value;
}

// Reduction over the block, one barrier. `scratch` holds k_max_warps values and may be used again only after another
// barrier of the block has passed: alternate between two of them.
template <class Op, class V>
__device__ inline V block_reduce(V value, Op op, V* scratch) {
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
  const int warp = static_cast<int>(threadIdx.x) / k_warp_size;
  const int warps = static_cast<int>(blockDim.x) / k_warp_size;
  value = lane_reduce<k_warp_size>(value, op);
  if (lane == 0) scratch[warp] = value;
  __syncthreads();
  return lane_reduce<k_warp_size>(lane < warps ? scratch[lane] : Op::k_neutral, op);
}

// Sum over a lane's registers in `Chains` independent accumulators, then a tree: a chain of Count/Chains + log2(Chains)
// additions, and that many in flight.
template <int Count, class F>
__device__ inline float chained_sum(F&& term) {
  constexpr int k_chains = Count < 4 ? 1 : 4;
  float sum[k_chains];
#pragma unroll
  for (int i = 0; i < k_chains; ++i) sum[i] = term(i);
#pragma unroll
  for (int i = k_chains; i < Count; ++i) sum[i % k_chains] += term(i);
  if constexpr (k_chains == 4) return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  return sum[0];
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
