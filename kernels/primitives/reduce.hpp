// Reductions over lanes, warps and blocks. Every participating thread gets the result, with the same bits: a butterfly
// of a commutative operation gives each lane the same tree.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "simt/simt.hpp"

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

// Passes NaN on, as IEEE maximum does.
struct max_of {
  static constexpr float k_neutral = -INFINITY;
  __device__ float operator()(float a, float b) const { return simt::max_nan(a, b); }
};

template <class Index>
struct min_of {
  static constexpr Index k_neutral = std::numeric_limits<Index>::max();
  __device__ Index operator()(Index a, Index b) const { return a < b ? a : b; }
};

// Reduction over groups of `Lanes` neighbouring lanes; the whole warp must take part.
template <int Lanes, class Op, class V>
__device__ inline V lane_reduce(V value, Op op) {
#pragma unroll
  for (int offset = Lanes / 2; offset > 0; offset /= 2) value = op(value, __shfl_xor_sync(k_all_lanes, value, offset));
  return value;
}

// Reduction over the block in two halves with a barrier of the block between them, so that several reductions may share
// one. `scratch` holds k_max_warps values and may be posted to again only after another barrier: alternate between two.
template <class Op, class V>
__device__ inline void block_post(V value, Op op, V* scratch) {
  const int warp = static_cast<int>(threadIdx.x) / k_warp_size;
  value = lane_reduce<k_warp_size>(value, op);
  if (threadIdx.x % k_warp_size == 0) scratch[warp] = value;
}

template <class Op, class V>
__device__ inline V block_fetch(Op op, const V* scratch) {
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
  const int warps = static_cast<int>(blockDim.x) / k_warp_size;
  return lane_reduce<k_warp_size>(lane < warps ? scratch[lane] : Op::k_neutral, op);
}

template <class Op, class V>
__device__ inline V block_reduce(V value, Op op, V* scratch) {
  block_post(value, op, scratch);
  __syncthreads();
  return block_fetch(op, scratch);
}

// The largest of a lane's registers, NaN passed on.
template <int Count>
__device__ inline float max_of_values(const float (&value)[Count]) {
  float maximum = value[0];
#pragma unroll
  for (int i = 1; i < Count; ++i) maximum = max_of()(maximum, value[i]);
  return maximum;
}

// The largest value of a warp, NaN passed on, in the order of integers, which one instruction reduces.
__device__ inline float warp_maximum(float value) {
  constexpr int k_nan = 0x7fffffff;  // above +Inf, and NaN itself
  int key;
  memcpy(&key, &value, sizeof key);
  key = value != value ? k_nan : key ^ (key >> 31 & 0x7fffffff);
  key = __reduce_max_sync(k_all_lanes, key);
  key ^= key >> 31 & 0x7fffffff;
  memcpy(&value, &key, sizeof value);
  return value;
}

// The largest maximum of a lane's partials, NaN passed on.
template <class Partial, int Count>
__device__ inline float max_of_partials(const Partial (&partial)[Count]) {
  float maximum = partial[0].maximum;
#pragma unroll
  for (int i = 1; i < Count; ++i) maximum = max_of()(maximum, partial[i].maximum);
  return maximum;
}

// The largest of `Lanes` neighbouring lanes, NaN passed on.
template <int Lanes>
__device__ inline float lanes_maximum(float value) {
  if constexpr (Lanes == k_warp_size) return warp_maximum(value);
  return lane_reduce<Lanes>(value, max_of());
}

// Sum over a lane's registers in four independent accumulators, then a tree: a chain of Count/4 + 1 additions.
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

// e^x, x <= 0, in two operations, for the terms of a sum: off by (4 + 1.23 |x|) u of itself, u = 2^-24 (expf: 2.6u),
// and 0 below 2^-126. Terms of little weight may have this error (docs/numerics.md lists the sums that may use them).
// Sums of only small terms may not use it, and of results only those of softmax in f16.
__device__ inline float quick_exp(float x) {
  constexpr float k_log2_e = 1.44269504f;
  return simt::exp2_approx(x * k_log2_e);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
