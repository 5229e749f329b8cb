// The finders of one task: numerical, one-hot, sorted categories.
#pragma once

#include <cstdint>

#include "kernels/best_split/block.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// The bins of a task in device memory.
struct task_bins {
  const double* hist;
  const int64_t* bin_count;  // or nullptr
  int32_t num_bin;
  int32_t offset;  // the first bin that is stored

  __device__ task_bins(const double* histogram, const int64_t* counts, const split_leaf& leaf, const split_task& task)
      : num_bin(task.num_bin), offset(task.mfb_offset) {
    const int64_t first = leaf.hist_base + task.hist_offset;
    hist = histogram + 2 * first;
    bin_count = counts == nullptr ? nullptr : counts + first;
  }
  __device__ bool is_stored(int32_t bin) const { return bin >= offset; }
  __device__ split_mass stored(int32_t bin) const {
    const int64_t slot = bin - offset;
    return {hist[2 * slot], hist[2 * slot + 1], bin_count == nullptr ? 0 : bin_count[slot]};
  }
};

__device__ inline bool is_finite(const split_mass& m) { return std::isfinite(m.g) && std::isfinite(m.h); }

// The positions that a block of the task scans, whole tiles of them.
struct scan_part {
  int32_t begin, end;
  __device__ scan_part(int32_t positions, unsigned rank, unsigned blocks) {
    const int64_t tiles = (positions + k_split_tile - 1) / k_split_tile;
    const int64_t size = (tiles + blocks - 1) / blocks * k_split_tile;
    begin = static_cast<int32_t>(rank * size < positions ? rank * size : positions);
    end = static_cast<int32_t>(begin + size < positions ? begin + size : positions);
  }
};

// Accumulates the left side from bin 0 up, or the right side from the last bin down. One pass over the slots for their
// sums and for numbers that are none, one for the candidates; a barrier per tile in the second.
struct numerical_scan {
  const split_task& task;

  __device__ int32_t bin_at(int32_t position) const { return task.reverse ? task.num_bin - 1 - position : position; }
  // Whether the bin belongs to the scanned side and ends a candidate.
  __device__ bool takes_part(int32_t bin) const {
    if (task.skip_default_bin && bin == task.default_bin) return false;
    if (!task.reverse) return bin <= task.num_bin - 2;
    return bin >= 1 && !(task.na_as_missing && bin == task.num_bin - 1);
  }
  __device__ uint32_t threshold_of(int32_t bin) const { return static_cast<uint32_t>(task.reverse ? bin - 1 : bin); }
};

template <bool Cluster>
__device__ inline split_candidate find_numerical(const task_bins& bins, const split_task& task, const split_terms& t,
                                                 bool is_drawn, uint32_t drawn, split_scratch& s) {
  const numerical_scan scan{task};
  const scan_part part(task.num_bin, task_rank<Cluster>(), task_blocks<Cluster>());
  compensated_mass scanned, stored;
  bool has_nonfinite = false;
  for (int32_t i = part.begin + static_cast<int32_t>(threadIdx.x); i < part.end; i += k_split_threads) {
    const int32_t bin = scan.bin_at(i);
    if (!bins.is_stored(bin)) continue;
    const split_mass m = bins.stored(bin);
    has_nonfinite |= !is_finite(m);
    stored.add(m);
    if (scan.takes_part(bin)) scanned.add(m);
  }
  split_mass before;
  const split_share all = share_sums<Cluster>(scanned.value(), stored.value(), has_nonfinite, s, before);
  split_candidate best = split_candidate::none();
  if (all.has_nonfinite || !t.is_open) return best;

  const split_mass total{t.sum_g, t.sum_h, t.count};
  const split_mass unstored = total - all.stored;  // bin 0
  compensated_mass carry;
  if (part.begin > 0 && !task.reverse && bins.offset > 0 && scan.takes_part(0)) carry.add(unstored);
  carry.add(before);
  int turn = 0;
  for (int32_t base = part.begin; base < part.end; base += k_split_tile, turn ^= 1) {
    const int32_t first = base + static_cast<int32_t>(threadIdx.x) * k_split_values;
    split_mass value[k_split_values];
    split_mass own{0, 0, 0};
#pragma unroll
    for (int k = 0; k < k_split_values; ++k) {
      value[k] = {0, 0, 0};
      const int32_t bin = scan.bin_at(first + k);
      if (first + k >= part.end || !scan.takes_part(bin)) continue;
      value[k] = bins.is_stored(bin) ? bins.stored(bin) : unstored;
      own = own + value[k];
    }
    split_mass of_tile;
    split_mass running = block_exclusive_scan(own, s.warp_total[turn], of_tile);
    running = carry.value() + running;
#pragma unroll
    for (int k = 0; k < k_split_values; ++k) {
      const int32_t bin = scan.bin_at(first + k);
      if (first + k >= part.end || !scan.takes_part(bin)) continue;
      running = running + value[k];
      const uint32_t threshold = scan.threshold_of(bin);
      if (is_drawn && threshold != drawn) continue;
      const split_mass left{total.g - running.g, total.h - running.h, running.n};
      offer(t, task.reverse ? left : running, task.reverse, threshold, best);
    }
    carry.add(of_tile);
  }
  return best;
}

// Whether any stored slot holds a number that is none; the same for all threads of the task.
template <bool Cluster>
__device__ inline bool has_nonfinite_slot(const task_bins& bins, split_scratch& s) {
  const unsigned threads = task_blocks<Cluster>() * k_split_threads;
  bool found = false;
  for (int64_t bin = bins.offset + task_rank<Cluster>() * k_split_threads + threadIdx.x; bin < bins.num_bin;
       bin += threads)
    found |= !is_finite(bins.stored(static_cast<int32_t>(bin)));
  split_mass before;
  const split_mass nothing{0, 0, 0};
  return share_sums<Cluster>(nothing, nothing, found, s, before).has_nonfinite != 0;
}

// One category to the left; bin 0 never.
template <bool Cluster>
__device__ inline split_candidate find_one_hot(const task_bins& bins, const split_terms& t, bool is_drawn,
                                               uint32_t drawn, split_scratch& s) {
  split_candidate best = split_candidate::none();
  if (has_nonfinite_slot<Cluster>(bins, s) || !t.is_open) return best;
  const unsigned threads = task_blocks<Cluster>() * k_split_threads;
  for (int64_t bin = 1 + task_rank<Cluster>() * k_split_threads + threadIdx.x; bin < bins.num_bin; bin += threads) {
    if (is_drawn && bin != 1 + static_cast<int64_t>(drawn)) continue;
    offer(t, bins.stored(static_cast<int32_t>(bin)), false, static_cast<uint32_t>(bin), best);
  }
  return best;
}

// A category with its place in the order.
struct ranked_category {
  double key;
  int32_t bin;  // -1: none
};

// Whether a comes before b, seen from the low end or from the high end.
__device__ inline bool precedes(const ranked_category& a, const ranked_category& b, bool from_high) {
  const bool is_lower = a.key < b.key || (a.key == b.key && a.bin < b.bin);
  return from_high ? !is_lower && a.bin != b.bin : is_lower;
}

__device__ inline ranked_category rank_category(const task_bins& bins, int32_t bin, const split_terms& t,
                                                double cat_smooth) {
  const split_mass m = bins.stored(bin);
  const double rows = t.exact_counts ? static_cast<double>(m.n) : t.rows_of(m.h);
  const double key = m.g / (m.h + cat_smooth);
  return rows >= cat_smooth && std::isfinite(key) ? ranked_category{key, bin} : ranked_category{0, -1};
}

// The first category behind `last` (any, where that is none) in the order from one end; the same for all threads of the
// block. One barrier; `turn` alternates. No order is stored: prefixes are short, and this takes any number of bins.
__device__ inline ranked_category next_category(const task_bins& bins, const split_terms& t, double cat_smooth,
                                                const ranked_category& last, bool from_high, split_scratch& s,
                                                int turn) {
  ranked_category best{0, -1};
  const auto see = [&](const ranked_category& c) {
    if (c.bin >= 0 && (best.bin < 0 || precedes(c, best, from_high))) best = c;
  };
  for (int32_t bin = 1 + static_cast<int32_t>(threadIdx.x); bin < bins.num_bin; bin += k_split_threads) {
    const ranked_category c = rank_category(bins, bin, t, cat_smooth);
    if (c.bin >= 0 && (last.bin < 0 || precedes(last, c, from_high))) see(c);
  }
#pragma unroll
  for (int offset = k_warp_size / 2; offset > 0; offset /= 2)
    see({__shfl_xor_sync(k_all_lanes, best.key, offset), __shfl_xor_sync(k_all_lanes, best.bin, offset)});
  if (threadIdx.x % k_warp_size == 0) {
    s.key[turn][threadIdx.x / k_warp_size] = best.key;
    s.bin[turn][threadIdx.x / k_warp_size] = best.bin;
  }
  __syncthreads();
  for (int w = 0; w < k_split_warps; ++w) see({s.key[turn][w], s.bin[turn][w]});
  return best;
}

// How many categories are usable. A barrier per block of bins.
__device__ inline int32_t count_usable(const task_bins& bins, const split_terms& t, double cat_smooth) {
  int32_t usable = 0;
  for (int32_t base = 1; base < bins.num_bin; base += k_split_threads) {
    const int32_t bin = base + static_cast<int32_t>(threadIdx.x);
    usable += __syncthreads_count(bin < bins.num_bin && rank_category(bins, bin, t, cat_smooth).bin >= 0);
  }
  return usable;
}

// Walks the prefixes from one end; thread 0 lists their categories as they come.
__device__ inline void walk_prefixes(const task_bins& bins, const split_task& task, const split_terms& t,
                                     const split_config& c, uint64_t seed, int32_t longest, bool from_high,
                                     uint32_t* list, split_scratch& s, split_candidate& best) {
  const int64_t least_right = t.min_data > c.min_data_per_group ? t.min_data : c.min_data_per_group;
  const uint32_t drawn = drawn_threshold(seed, task.feature, static_cast<uint32_t>(longest));
  ranked_category last{0, -1};
  compensated_mass sums;
  int64_t tested_rows = 0;
  for (int32_t k = 1; k <= longest; ++k) {
    last = next_category(bins, t, c.cat_smooth, last, from_high, s, k % 2);
    sums.add(bins.stored(last.bin));
    if (threadIdx.x == 0) list[k - 1] = static_cast<uint32_t>(last.bin);
    const split_mass prefix = sums.value();
    const double rows = t.exact_counts ? static_cast<double>(prefix.n) : t.rows_of(prefix.h);
    if (!(rows >= 0)) continue;
    if (rows > static_cast<double>(t.count)) break;
    split_side left, right;
    if (!divide(t, prefix, false, left, right) || !passes_gates(t, left)) continue;
    if (!(right.sum_h + k_split_epsilon >= t.min_hessian) || right.count < least_right) break;
    if (left.count - tested_rows < c.min_data_per_group) continue;
    tested_rows = left.count;
    if (c.extra_trees && static_cast<uint32_t>(k - 1) != drawn) continue;
    offer(t, prefix, false, static_cast<uint32_t>(from_high ? longest + k - 1 : k - 1), best);
  }
  __syncthreads();  // the next walk starts with the scratch of an even turn again
}

// The categories in the order of their keys, prefixes from both ends. One block works; the result and `num_cat` are
// right for its thread 0, which leaves the winner's categories in `list`.
template <bool Cluster>
__device__ inline split_candidate find_sorted(const task_bins& bins, const split_task& task, const split_terms& t,
                                              const split_config& c, uint64_t seed, uint32_t* list, uint32_t* high_list,
                                              int32_t& num_cat, split_scratch& s) {
  split_candidate best = split_candidate::none();
  num_cat = 0;
  if (has_nonfinite_slot<Cluster>(bins, s) || !t.is_open || task_rank<Cluster>() != 0) return best;
  const int32_t half = (count_usable(bins, t, c.cat_smooth) + 1) / 2;
  const int32_t longest = half < c.max_cat_threshold ? half : c.max_cat_threshold;
  walk_prefixes(bins, task, t, c, seed, longest, false, list, s, best);
  walk_prefixes(bins, task, t, c, seed, longest, true, high_list, s, best);
  if (threadIdx.x != 0) return split_candidate::none();
  if (!best.is_valid) return best;
  const auto place = static_cast<int32_t>(best.threshold);
  num_cat = (place < longest ? place : place - longest) + 1;
  if (place >= longest)
    for (int32_t k = 0; k < num_cat; ++k) list[k] = high_list[num_cat - 1 - k];
  return best;
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
