// What the finders share: sums, scans and winners of a block, and of a cluster of blocks where a task has one.
#pragma once

#include <cstdint>

#include "kernels/best_split/gain.hpp"
#include "kernels/primitives/reduce.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_split_threads = 128;
constexpr int k_split_warps = k_split_threads / k_warp_size;
constexpr int k_split_values = 4;  // neighbouring bins of a thread
constexpr int k_split_tile = k_split_threads * k_split_values;
constexpr int k_split_cluster = 8;

__device__ inline split_mass operator+(const split_mass& a, const split_mass& b) {
  return {a.g + b.g, a.h + b.h, a.n + b.n};
}
__device__ inline split_mass operator-(const split_mass& a, const split_mass& b) {
  return {a.g - b.g, a.h - b.h, a.n - b.n};
}

// A long chain of additions whose error does not grow with its length (TwoSum; Higham 2002, section 4.3).
class compensated_mass {
 public:
  __device__ void add(const split_mass& m) {
    add(m.g, g_, g_low_);
    add(m.h, h_, h_low_);
    n_ += m.n;
  }
  __device__ split_mass value() const { return {g_ + g_low_, h_ + h_low_, n_}; }

 private:
  __device__ static void add(double x, double& sum, double& low) {
    const double s = sum + x;
    const double part = s - sum;
    low += (sum - (s - part)) + (x - part);
    sum = s;
  }
  double g_ = 0, h_ = 0, g_low_ = 0, h_low_ = 0;
  int64_t n_ = 0;
};

// What one block knows and all of the task must.
struct split_share {
  split_mass scanned;  // of the bins that its part of the scan adds
  split_mass stored;
  int32_t has_nonfinite;
};

struct split_scratch {
  split_share warp_share[k_split_warps];
  split_share share;
  split_mass warp_total[2][k_split_warps];  // in turn, so that a tile needs one barrier
  split_candidate warp_best[k_split_warps];
  split_candidate best;
  double key[2][k_split_warps];
  int32_t bin[2][k_split_warps];
};

template <bool Cluster>
__device__ inline unsigned task_blocks() {
  if constexpr (Cluster)
    return simt::cluster_size();
  else
    return 1;
}
template <bool Cluster>
__device__ inline unsigned task_rank() {
  if constexpr (Cluster)
    return simt::cluster_rank();
  else
    return 0;
}
template <bool Cluster>
__device__ inline void task_sync() {
  if constexpr (Cluster)
    simt::cluster_sync();
  else
    __syncthreads();
}
template <bool Cluster, class T>
__device__ inline const T& of_rank(T& own, unsigned rank) {
  if constexpr (Cluster)
    return *simt::map_shared_rank(&own, rank);
  else
    return (void)rank, own;
}

template <class F>
__device__ inline split_mass shuffle_mass(const split_mass& m, F&& shuffle) {
  return {shuffle(m.g), shuffle(m.h), shuffle(m.n)};
}

__device__ inline split_mass warp_sum(split_mass m) {
#pragma unroll
  for (int offset = k_warp_size / 2; offset > 0; offset /= 2)
    m = m + shuffle_mass(m, [&](auto v) { return __shfl_xor_sync(k_all_lanes, v, offset); });
  return m;
}

// Gives every thread of the task the sums of all its threads, in an order that depends on the launch shape alone.
// Barriers: one of the block, one of the task. `before` gets what the blocks of lower rank scan.
template <bool Cluster>
__device__ inline split_share share_sums(const split_mass& scanned, const split_mass& stored, bool has_nonfinite,
                                         split_scratch& s, split_mass& before) {
  const split_share mine{warp_sum(scanned), warp_sum(stored), __any_sync(k_all_lanes, has_nonfinite)};
  if (threadIdx.x % k_warp_size == 0) s.warp_share[threadIdx.x / k_warp_size] = mine;
  __syncthreads();
  const auto join = [](const split_share& a, const split_share& b) {
    return split_share{a.scanned + b.scanned, a.stored + b.stored, a.has_nonfinite | b.has_nonfinite};
  };
  if (threadIdx.x == 0) {
    split_share block = s.warp_share[0];
    for (int w = 1; w < k_split_warps; ++w) block = join(block, s.warp_share[w]);
    s.share = block;
  }
  task_sync<Cluster>();
  before = {0, 0, 0};
  split_share all{};
  for (unsigned r = 0; r < task_blocks<Cluster>(); ++r) {
    if (r == task_rank<Cluster>()) before = all.scanned;
    all = join(all, of_rank<Cluster>(s.share, r));
  }
  return all;
}

// The sum of what the threads before hold, and `total` of all: one barrier. `turn` alternates from call to call.
__device__ inline split_mass block_exclusive_scan(const split_mass& own, split_mass (&warp_total)[k_split_warps],
                                                  split_mass& total) {
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
  const int warp = static_cast<int>(threadIdx.x) / k_warp_size;
  split_mass sum = own;
#pragma unroll
  for (int offset = 1; offset < k_warp_size; offset *= 2) {
    const split_mass other = shuffle_mass(sum, [&](auto v) { return __shfl_up_sync(k_all_lanes, v, offset); });
    if (lane >= offset) sum = other + sum;
  }
  split_mass before = shuffle_mass(sum, [&](auto v) { return __shfl_up_sync(k_all_lanes, v, 1); });
  if (lane == 0) before = {0, 0, 0};
  if (lane == k_warp_size - 1) warp_total[warp] = sum;
  __syncthreads();
  total = {0, 0, 0};
  split_mass of_warps{0, 0, 0};
  for (int w = 0; w < k_split_warps; ++w) {
    if (w == warp) of_warps = total;
    total = total + warp_total[w];
  }
  return of_warps + before;
}

// The best candidate of the task; right for thread 0 of rank 0. Barriers: one of the block, two of the task.
template <bool Cluster>
__device__ inline split_candidate find_winner(const split_candidate& own, split_scratch& s) {
  split_candidate best = own;
#pragma unroll
  for (int offset = k_warp_size / 2; offset > 0; offset /= 2) {
    const split_candidate other{
        __shfl_xor_sync(k_all_lanes, best.gain, offset), __shfl_xor_sync(k_all_lanes, best.threshold, offset),
        __shfl_xor_sync(k_all_lanes, static_cast<int>(best.is_valid), offset) != 0,
        shuffle_mass(best.left, [&](auto v) { return __shfl_xor_sync(k_all_lanes, v, offset); })};
    if (other.is_better_than(best)) best = other;
  }
  if (threadIdx.x % k_warp_size == 0) s.warp_best[threadIdx.x / k_warp_size] = best;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < k_split_warps; ++w)
      if (s.warp_best[w].is_better_than(best)) best = s.warp_best[w];
    s.best = best;
  }
  task_sync<Cluster>();
  if (threadIdx.x == 0 && task_rank<Cluster>() == 0)
    for (unsigned r = 1; r < task_blocks<Cluster>(); ++r)
      if (of_rank<Cluster>(s.best, r).is_better_than(best)) best = of_rank<Cluster>(s.best, r);
  task_sync<Cluster>();
  return best;
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
