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
  __device__ bool is_aligned() const { return reinterpret_cast<uintptr_t>(hist) % sizeof(double2) == 0; }
  // The gradients and hessians of a slot; in one access if the histogram's alignment allows that.
  template <bool Aligned = false>
  __device__ double2 slot(int32_t bin) const {
    const double* const place = hist + 2 * static_cast<int64_t>(bin - offset);
    if (Aligned) return *reinterpret_cast<const double2*>(place);
    return {place[0], place[1]};
  }
  __device__ double rows(int32_t bin) const {
    return bin_count == nullptr ? 0 : static_cast<double>(bin_count[bin - offset]);
  }
  __device__ split_mass stored(int32_t bin) const {
    const double2 m = slot(bin);
    return {m.x, m.y, rows(bin)};
  }
};

__device__ inline bool is_finite(const split_mass& m) { return std::isfinite(m.g) && std::isfinite(m.h); }

// Slots of a warp's positions: read from device memory side by side, by the lanes in runs of neighbours. A gap after
// each run keeps the lanes' accesses on different banks.
struct warp_slots {
  double2 slot[k_warp_tile + k_warp_size];

  __device__ double2& at(int position) { return slot[position + position / k_split_values]; }
};

// Accumulates the left side from bin 0 up, or the right side from the last bin down; positions count from the start.
struct numerical_scan {
  bool reverse;
  int32_t num_bin;
  int32_t offset;  // the first bin that is stored
  int32_t first;   // positions from this one
  int32_t last;    // to this one belong to the scanned side and end a candidate,
  int32_t skip;    // except this one; -1: none

  __device__ numerical_scan(const split_task& t, split_compat compat)
      : reverse(t.reverse),
        num_bin(t.num_bin),
        offset(t.mfb_offset),
        first((t.reverse && t.na_as_missing) || leaves_out_bin_0(t, compat) ? 1 : 0),
        last(t.num_bin - 2),
        skip(!t.skip_default_bin ? -1 : bin_at(t.default_bin)) {}
  __device__ static bool leaves_out_bin_0(const split_task& t, split_compat compat) {
    return compat == split_compat::lightgbm_cuda && t.skip_default_bin && !t.reverse && t.mfb_offset > 0;
  }

  __device__ int32_t bin_at(int32_t position) const { return reverse ? num_bin - 1 - position : position; }
  // Integers, as `&` joins them without a branch.
  __device__ int takes_part(int32_t position) const {
    return (position >= first) & (position <= last) & (position != skip);
  }
  __device__ int is_stored(int32_t position) const { return bin_at(position) >= offset; }
  __device__ uint32_t threshold_of(int32_t position) const {
    return static_cast<uint32_t>(reverse ? last - position : position);
  }
  __device__ split_scan kind() const {
    return reverse ? split_scan::right : offset > 0 ? split_scan::left_unstored : split_scan::left;
  }
};

// The positions of a warp from `base` on, staged in shared memory.
template <bool Counts>
struct warp_tile {
  const task_bins& bins;
  const numerical_scan& scan;
  warp_slots& slots;
  int32_t base, end;
  int32_t has_nonfinite;

  __device__ warp_tile(const task_bins& b, const numerical_scan& n, int32_t from, int32_t to, warp_slots& s)
      : bins(b), scan(n), slots(s), base(from), end(to) {
    const bool found = bins.is_aligned() ? stage<true>() : stage<false>();
    has_nonfinite = __any_sync(k_all_lanes, found);
    __syncwarp();
  }
  // True if the lane read a number that is not finite.
  template <bool Aligned>
  __device__ bool stage() {
    const int lane = lane_index();
    double2 read[k_split_values];
#pragma unroll
    for (int k = 0; k < k_split_values; ++k) {
      const int32_t position = base + k * k_warp_size + lane;
      read[k] =
          ((position < end) & scan.is_stored(position)) ? bins.slot<Aligned>(scan.bin_at(position)) : double2{0, 0};
    }
    bool found = false;
    __syncwarp();  // the last tile has been read
#pragma unroll
    for (int k = 0; k < k_split_values; ++k) {
      found |= !(std::isfinite(read[k].x) && std::isfinite(read[k].y));
      slots.at(k * k_warp_size + lane) = read[k];
    }
    return found;
  }
  // The lane's k-th position; all of its positions together are neighbours.
  __device__ int32_t position(int k) const { return base + lane_index() * k_split_values + k; }
  // The stored mass at the position; it may be zero.
  __device__ split_mass stored(int k) const {
    const double2 m = slots.at(lane_index() * k_split_values + k);
    const int32_t p = position(k);
    return {m.x, m.y, Counts && p < end && scan.is_stored(p) ? bins.rows(scan.bin_at(p)) : 0};
  }
  __device__ bool takes_part(int k) const { return (position(k) < end) & scan.takes_part(position(k)); }
  // The sums of the lane's scan and of its stored bins.
  __device__ split_mass scanned_sum() const {
    split_mass own{0, 0, 0};
#pragma unroll
    for (int k = 0; k < k_split_values; ++k) {
      const split_mass m = stored(k);
      own = own + (takes_part(k) ? m : split_mass{0, 0, 0});
    }
    return own;
  }
  __device__ split_mass stored_sum() const {
    split_mass own{0, 0, 0};
#pragma unroll
    for (int k = 0; k < k_split_values; ++k) own = own + stored(k);
    return own;
  }
};

// Candidates of the lanes' positions. `scanned` is the sum of the positions before the lane's own.
template <bool Counts, class Terms>
__device__ inline void offer_tile(const Terms& t, const warp_tile<Counts>& tile, split_mass scanned, bool is_drawn,
                                  uint32_t drawn, split_candidate& best) {
  const split_scan kind = tile.scan.kind();
#pragma unroll 2
  for (int k = 0; k < k_split_values; ++k) {
    if (!tile.takes_part(k)) continue;
    scanned = scanned + tile.stored(k);
    const uint32_t threshold = tile.scan.threshold_of(tile.position(k));
    if (is_drawn && threshold != drawn) continue;
    offer(t, scanned, kind, threshold, best);
  }
}

// The positions that a block of the team scans, in whole tiles.
struct scan_part {
  int32_t begin, end;
  __device__ scan_part(int32_t positions, unsigned rank, unsigned blocks) {
    const int64_t tiles = (positions + k_split_tile - 1) / k_split_tile;
    const int64_t size = (tiles + blocks - 1) / blocks * k_split_tile;
    begin = static_cast<int32_t>(rank * size < positions ? rank * size : positions);
    end = static_cast<int32_t>(begin + size < positions ? begin + size : positions);
  }
};

// The mass that an unstored bin 0 adds to every candidate of the scan from below.
template <class Terms>
__device__ inline split_mass unstored_sums(const Terms& t, const numerical_scan& scan, bool has_unstored,
                                           const split_mass& of_slots) {
  const split_mass total{t.sum_g, t.sum_h, t.total_rows}, nothing{0, 0, 0};
  return has_unstored && !scan.reverse && scan.takes_part(0) ? total - of_slots : nothing;
}

// The candidates of each thread. Features of up to a tile for each block are read once. Longer features are read once
// for their sums and for numbers that are not finite, and once more for the candidates, with a barrier per tile.
template <split_team Team, bool Counts, split_compat Compat>
__device__ inline split_candidate scan_numerical(const task_bins& bins, const split_task& task,
                                                 const split_terms<Compat>& t, bool is_drawn, uint32_t drawn,
                                                 warp_slots& slots, split_scratch& s) {
  const numerical_scan scan(task, Compat);
  const bool has_unstored = bins.offset > 0;
  split_candidate best = split_candidate::none();
  const auto unstored = [&](const split_mass& of_slots) { return unstored_sums(t, scan, has_unstored, of_slots); };
  if constexpr (Team == split_team::warp) {
    const warp_tile<Counts> tile(bins, scan, 0, task.num_bin, slots);
    if (tile.has_nonfinite || !t.is_open) return best;
    split_mass total;
    const split_mass before = warp_exclusive_scan<Counts>(tile.scanned_sum(), total);
    const split_mass stored = has_unstored ? warp_sum<Counts>(tile.stored_sum()) : split_mass{0, 0, 0};
    offer_tile(t, tile, unstored(stored) + before, is_drawn, drawn, best);
  } else {
    const scan_part part(task.num_bin, task_rank<Team>(), task_blocks<Team>());
    const bool is_short = task.num_bin <= static_cast<int64_t>(task_blocks<Team>()) * k_split_tile;
    scanned_before before;
    compensated_mass carry;
    if (!is_short) {
      compensated_mass scanned, stored;
      bool found = false;
#pragma unroll 4
      for (int32_t i = part.begin + static_cast<int32_t>(threadIdx.x); i < part.end; i += k_split_threads) {
        const int32_t bin = scan.bin_at(i);
        if (!scan.is_stored(i)) continue;
        const split_mass m = bins.stored(bin);
        found |= !is_finite(m);
        stored.add(m);
        if (scan.takes_part(i)) scanned.add(m);
      }
      const split_share mine{warp_sum<Counts>(scanned.value()), warp_sum<Counts>(stored.value()),
                             __any_sync(k_all_lanes, found)};
      const split_share all = share_sums<Team, Counts>(mine, true, s, 0, before);
      if (all.has_nonfinite || !t.is_open) return best;
      carry.add(unstored(all.stored));
      carry.add(before.blocks);
    }
    // A block without a part of a short feature takes part with an empty share.
    for (int32_t turn = 1, base = part.begin; base < part.end || is_short; base += k_split_tile, turn ^= 1) {
      const warp_tile<Counts> tile(bins, scan, base + warp_index() * k_warp_tile, part.end, slots);
      split_mass total;
      const split_mass of_lanes = warp_exclusive_scan<Counts>(tile.scanned_sum(), total);
      split_share mine{total, {0, 0, 0}, tile.has_nonfinite}, all;
      if (is_short) {
        if (has_unstored) mine.stored = warp_sum<Counts>(tile.stored_sum());
        all = share_sums<Team, Counts>(mine, has_unstored, s, turn, before);
        if (all.has_nonfinite || !t.is_open) return best;
        carry.add(unstored(all.stored));
        carry.add(before.blocks);
      } else {
        all = share_sums<split_team::block, Counts>(mine, false, s, turn, before);
      }
      offer_tile(t, tile, carry.value() + (before.warps + of_lanes), is_drawn, drawn, best);
      if (is_short) break;
      carry.add(all.scanned);
    }
  }
  return best;
}

template <split_team Team, split_compat Compat>
__device__ inline split_candidate find_numerical(const task_bins& bins, const split_task& task,
                                                 const split_terms<Compat>& t, bool is_drawn, uint32_t drawn,
                                                 warp_slots& slots, split_scratch& s) {
  if constexpr (Compat == split_compat::strict)
    if (bins.bin_count != nullptr) return scan_numerical<Team, true>(bins, task, t, is_drawn, drawn, slots, s);
  return scan_numerical<Team, false>(bins, task, t, is_drawn, drawn, slots, s);
}

// True if any stored slot holds a number that is not finite; the same for all threads of the task.
template <split_team Team>
__device__ inline bool has_nonfinite_slot(const task_bins& bins, split_scratch& s) {
  const unsigned threads = task_blocks<Team>() * k_split_threads;
  bool found = false;
  for (int64_t bin = bins.offset + task_rank<Team>() * k_split_threads + threadIdx.x; bin < bins.num_bin;
       bin += threads)
    found |= !is_finite(bins.stored(static_cast<int32_t>(bin)));
  scanned_before before;
  const split_mass nothing{0, 0, 0};
  const split_share mine{nothing, nothing, __any_sync(k_all_lanes, found)};
  return share_sums<Team, false>(mine, false, s, 0, before).has_nonfinite != 0;
}

// One category goes to the left; bin 0 never does.
template <split_team Team, class Terms>
__device__ inline split_candidate find_one_hot(const task_bins& bins, const Terms& t, bool is_drawn, uint32_t drawn,
                                               split_scratch& s) {
  split_candidate best = split_candidate::none();
  if (has_nonfinite_slot<Team>(bins, s) || !t.is_open) return best;
  const unsigned threads = task_blocks<Team>() * k_split_threads;
  for (int64_t bin = 1 + task_rank<Team>() * k_split_threads + threadIdx.x; bin < bins.num_bin; bin += threads) {
    if (is_drawn && bin != 1 + static_cast<int64_t>(drawn)) continue;
    offer(t, bins.stored(static_cast<int32_t>(bin)), split_scan::category, static_cast<uint32_t>(bin), best);
  }
  return best;
}

// A category with its place in the order.
struct ranked_category {
  double key;
  int32_t bin;  // -1: none
};

// True if a comes before b, seen from the low end or from the high end.
__device__ inline bool precedes(const ranked_category& a, const ranked_category& b, bool from_high) {
  const bool is_lower = a.key < b.key || (a.key == b.key && a.bin < b.bin);
  return from_high ? !is_lower && a.bin != b.bin : is_lower;
}

template <class Terms>
__device__ inline ranked_category rank_category(const task_bins& bins, int32_t bin, const Terms& t, double cat_smooth) {
  const split_mass m = bins.stored(bin);
  const double rows = t.exact_counts ? m.n : t.rows_of(m.h);
  const double key = m.g / (m.h + cat_smooth);
  return rows >= cat_smooth && std::isfinite(key) ? ranked_category{key, bin} : ranked_category{0, -1};
}

// The first category after `last` (the first of all, if that is none) in the order from one end; the same for all
// threads of the block. One barrier; `turn` alternates. No order is stored, because prefixes are short, and so any
// number of bins is possible.
template <class Terms>
__device__ inline ranked_category next_category(const task_bins& bins, const Terms& t, double cat_smooth,
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

// Returns the number of usable categories. One barrier per block of bins.
template <class Terms>
__device__ inline int32_t count_usable(const task_bins& bins, const Terms& t, double cat_smooth) {
  int32_t usable = 0;
  for (int32_t base = 1; base < bins.num_bin; base += k_split_threads) {
    const int32_t bin = base + static_cast<int32_t>(threadIdx.x);
    usable += __syncthreads_count(bin < bins.num_bin && rank_category(bins, bin, t, cat_smooth).bin >= 0);
  }
  return usable;
}

// Walks the prefixes from one end; thread 0 lists their categories in this order.
template <split_compat Compat>
__device__ inline void walk_prefixes(const task_bins& bins, const split_task& task, const split_terms<Compat>& t,
                                     const split_config& c, uint64_t seed, int32_t longest, bool from_high,
                                     uint32_t* list, split_scratch& s, split_candidate& best) {
  const auto group = static_cast<double>(c.min_data_per_group);
  const double least_right = t.least_rows > group ? t.least_rows : group;
  const uint32_t drawn = drawn_threshold(seed, task.feature, static_cast<uint32_t>(longest));
  ranked_category last{0, -1};
  compensated_mass sums;
  double tested_rows = 0;
  for (int32_t k = 1; k <= longest; ++k) {
    last = next_category(bins, t, c.cat_smooth, last, from_high, s, k % 2);
    sums.add(bins.stored(last.bin));
    if (threadIdx.x == 0) list[k - 1] = static_cast<uint32_t>(last.bin);
    const split_mass prefix = sums.value();
    const auto place = static_cast<uint32_t>(from_high ? longest + k - 1 : k - 1);
    if constexpr (Compat == split_compat::strict) {
      split_half left, right;
      divide(t, prefix, split_scan::categories, left, right);
      if (!(left.rows >= 0)) continue;
      if (left.rows > t.total_rows) break;
      if (!passes_gates(t, left.h + k_split_epsilon, left)) continue;
      if (!(right.h + k_split_epsilon >= t.min_hessian) || right.rows < least_right) break;
      if (left.rows - tested_rows < group) continue;
      tested_rows = left.rows;
      if (c.extra_trees && static_cast<uint32_t>(k - 1) != drawn) continue;
    }
    offer(t, prefix, split_scan::categories, place, best);
  }
  __syncthreads();  // the next walk starts with the scratch of an even turn again
}

// The categories in the order of their keys, with prefixes from both ends. One block works. The result and `num_cat`
// are valid in its thread 0, which leaves the best candidate's categories in `list`.
template <split_team Team, class Terms>
__device__ inline split_candidate find_sorted(const task_bins& bins, const split_task& task, const Terms& t,
                                              const split_config& c, uint64_t seed, uint32_t* list, uint32_t* high_list,
                                              int32_t& num_cat, split_scratch& s) {
  split_candidate best = split_candidate::none();
  num_cat = 0;
  if (has_nonfinite_slot<Team>(bins, s) || !t.is_open || task_rank<Team>() != 0) return best;
  const int32_t half = (count_usable(bins, t, c.cat_smooth) + 1) / 2;
  const int32_t longest = half < c.max_cat_threshold ? half : c.max_cat_threshold;
#pragma unroll 1
  for (int end = 0; end < 2; ++end)
    walk_prefixes(bins, task, t, c, seed, longest, end != 0, end == 0 ? list : high_list, s, best);
  if (threadIdx.x != 0) return split_candidate::none();
  if (!best.is_valid()) return best;
  const auto place = static_cast<int32_t>(best.threshold);
  num_cat = (place < longest ? place : place - longest) + 1;
  if (place >= longest)
    for (int32_t k = 0; k < num_cat; ++k) list[k] = high_list[num_cat - 1 - k];
  return best;
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
