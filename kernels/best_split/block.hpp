// Sums, scans and best candidates over a warp, a block, or a cluster of blocks, for the finders.
#pragma once

#include <cstdint>

#include "kernels/best_split/gain.hpp"
#include "kernels/primitives/reduce.hpp"
#include "kernels/primitives/two_sum.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_split_warps = 8;
constexpr int k_split_threads = k_split_warps * k_warp_size;
constexpr int k_split_values = 8;  // neighbouring positions of a lane
constexpr int k_warp_tile = k_warp_size * k_split_values;
constexpr int k_split_tile = k_split_warps * k_warp_tile;
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
    low += sum_error(sum, x, s);
    sum = s;
  }
  double g_ = 0, h_ = 0, g_low_ = 0, h_low_ = 0;
  double n_ = 0;
};

// The threads that work on a task together.
enum class split_team { warp, block, cluster };

// The data that each part of the team shares with the whole team.
struct split_share {
  split_mass scanned;  // of the bins that its part of the scan adds
  split_mass stored;
  int32_t has_nonfinite;
};

struct split_scratch {
  split_share warp_share[2][k_split_warps];  // used in turn, so that a tile needs one barrier
  split_share share;
  split_candidate warp_best[k_split_warps];
  split_candidate best;
  double key[2][k_split_warps];
  int32_t bin[2][k_split_warps];
};

template <split_team Team>
__device__ inline unsigned task_blocks() {
  if constexpr (Team == split_team::cluster)
    return simt::cluster_size();
  else
    return 1;
}
template <split_team Team>
__device__ inline unsigned task_rank() {
  if constexpr (Team == split_team::cluster)
    return simt::cluster_rank();
  else
    return 0;
}

__device__ inline int lane_index() { return static_cast<int>(threadIdx.x) % k_warp_size; }
__device__ inline int warp_index() { return static_cast<int>(threadIdx.x) / k_warp_size; }

// Without `Counts` rows are 0.
template <bool Counts, class F>
__device__ inline split_mass shuffle_mass(const split_mass& m, F&& shuffle) {
  return {shuffle(m.g), shuffle(m.h), Counts ? shuffle(m.n) : 0};
}

template <bool Counts>
__device__ inline split_mass warp_sum(split_mass m) {
#pragma unroll
  for (int offset = k_warp_size / 2; offset > 0; offset /= 2)
    m = m + shuffle_mass<Counts>(m, [&](auto v) { return __shfl_xor_sync(k_all_lanes, v, offset); });
  return m;
}

// Returns the sum of the lanes before this one, and the `total` of all lanes.
template <bool Counts>
__device__ inline split_mass warp_exclusive_scan(const split_mass& own, split_mass& total) {
  split_mass sum = own;
#pragma unroll
  for (int offset = 1; offset < k_warp_size; offset *= 2) {
    const split_mass other = shuffle_mass<Counts>(sum, [&](auto v) { return __shfl_up_sync(k_all_lanes, v, offset); });
    if (lane_index() >= offset) sum = other + sum;
  }
  total = shuffle_mass<Counts>(sum, [&](auto v) { return __shfl_sync(k_all_lanes, v, k_warp_size - 1); });
  const split_mass before = shuffle_mass<Counts>(sum, [&](auto v) { return __shfl_up_sync(k_all_lanes, v, 1); });
  return lane_index() == 0 ? split_mass{0, 0, 0} : before;
}

// Joins the shares of the lanes; `before` becomes the sum of the scans of the lanes below `index`.
template <bool Counts>
__device__ inline split_share join_lanes(const split_share& mine, int index, bool stored, split_mass& before) {
  split_share all{{0, 0, 0}, {0, 0, 0}, __any_sync(k_all_lanes, mine.has_nonfinite)};
  const split_mass below = warp_exclusive_scan<Counts>(mine.scanned, all.scanned);
  before = shuffle_mass<Counts>(below, [&](auto v) { return __shfl_sync(k_all_lanes, v, index); });
  if (stored) all.stored = warp_sum<Counts>(mine.stored);
  return all;
}

// Gives every thread of the team the joined share of its warps; the order of joining depends on the launch shape alone.
// A warp's share is the same in all of its lanes. `before` becomes the sum of the scans of the warps before it: those
// of its block, and those of the blocks before. Barriers: one of the block, and one of the cluster; `turn` alternates
// from call to call.
struct scanned_before {
  split_mass warps, blocks;
};
template <split_team Team, bool Counts>
__device__ inline split_share share_sums(const split_share& mine, bool stored, split_scratch& s, int turn,
                                         scanned_before& before) {
  const split_share nothing{{0, 0, 0}, {0, 0, 0}, 0};
  if (lane_index() == 0) s.warp_share[turn][warp_index()] = mine;
  __syncthreads();
  split_share all = join_lanes<Counts>(lane_index() < k_split_warps ? s.warp_share[turn][lane_index()] : nothing,
                                       warp_index(), stored, before.warps);
  before.blocks = {0, 0, 0};
  if constexpr (Team == split_team::cluster) {
    if (threadIdx.x == 0) s.share = all;
    simt::cluster_sync();
    const auto lane = static_cast<unsigned>(lane_index());
    all = join_lanes<Counts>(lane < simt::cluster_size() ? *simt::map_shared_rank(&s.share, lane) : nothing,
                             static_cast<int>(simt::cluster_rank()), stored, before.blocks);
  }
  return all;
}

// The best candidate of the warp, in all of its lanes.
__device__ inline split_candidate select_in_warp(const split_candidate& own) {
  split_candidate best = own;
#pragma unroll
  for (int offset = k_warp_size / 2; offset > 0; offset /= 2) {
    split_candidate other = best;
    other.gain = __shfl_xor_sync(k_all_lanes, best.gain, offset);
    other.threshold = __shfl_xor_sync(k_all_lanes, best.threshold, offset);
    if (other.is_better_than(best)) best.gain = other.gain, best.threshold = other.threshold;
  }
  const int owner = __ffs(static_cast<int>(__ballot_sync(k_all_lanes, own.threshold == best.threshold))) - 1;
  best.sums = shuffle_mass<true>(own.sums, [&](auto v) { return __shfl_sync(k_all_lanes, v, owner); });
  return best;
}

// The best candidate of the team; valid in the threads of its first warp. Barriers: one of the block, and two of the
// cluster.
template <split_team Team>
__device__ inline split_candidate select_in_team(const split_candidate& own, split_scratch& s) {
  split_candidate best = select_in_warp(own);
  if constexpr (Team != split_team::warp) {
    if (lane_index() == 0) s.warp_best[warp_index()] = best;
    __syncthreads();
    if (warp_index() == 0)
      best = select_in_warp(lane_index() < k_split_warps ? s.warp_best[lane_index()] : split_candidate::none());
  }
  if constexpr (Team == split_team::cluster) {
    if (threadIdx.x == 0) s.best = best;
    simt::cluster_sync();
    const auto lane = static_cast<unsigned>(lane_index());
    if (warp_index() == 0 && simt::cluster_rank() == 0)
      best =
          select_in_warp(lane < simt::cluster_size() ? *simt::map_shared_rank(&s.best, lane) : split_candidate::none());
    simt::cluster_sync();
  }
  return best;
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
