// Kernels that run through the rows of a leaf. A block takes items: some rows and either a group of columns (dense) or
// a range of slots (CSR) whose sums it keeps in a tile of shared memory; without a tile it adds to global memory.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "kernels/histogram/updates.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_histogram_threads = 512;  // two blocks share a multiprocessor
constexpr int k_prepare_threads = 256;
constexpr int k_group_columns = 64;
constexpr int k_csr_lanes = 8;  // of a row

// The rows of a leaf, cut into pieces.
template <class RowId>
struct leaf_rows {
  const RowId* list;  // nullptr: the first `count` rows
  int64_t count;
  int64_t per_item;
  int64_t items;

  __device__ int64_t row(int64_t i) const { return list == nullptr ? i : static_cast<int64_t>(list[i]); }
  __device__ int64_t begin(int64_t item) const { return item * per_item; }
  __device__ int64_t end(int64_t item) const {
    const int64_t last = (item + 1) * per_item;
    return last < count ? last : count;
  }
};

// Ends the process on the emulated device if a precondition is broken; a GPU does not check it.
__device__ inline void expect([[maybe_unused]] bool holds) {
#ifndef __CUDACC__
  if (!holds) std::abort();
#endif
}

// ---- dense ----

// Consecutive columns form a group, of k_group_columns at most: those whose slots fit into a tile together, or those
// that do not fit into one at all and add to global memory. Columns differ in their number of bins, so a fixed number
// of columns would not do.
struct column_groups {
  int* count;
  int* first_column;  // of each group, and one past the last
  int* first_slot;    // of each column in its tile; -1: no tile

  __device__ bool has_tile(int column) const { return first_slot[column] >= 0; }
};

__device__ inline int slots_of(const hist_column& column) { return column.num_bin - column.mfb_offset; }

// By one block. The walk over the widths is serial; the loads are not.
__device__ inline void group_columns(const hist_column* cols, int64_t num_cols, int64_t tile_slots,
                                     const column_groups& groups) {
  SIMT_SHARED(width, int[k_prepare_threads]);
  int count = 0, columns = k_group_columns;  // of the last group; as if full, so that the first column opens one
  int64_t used = 0;
  bool wide = false;
  for (int64_t base = 0; base < num_cols; base += k_prepare_threads) {
    const int64_t mine = base + threadIdx.x;
    if (mine < num_cols) width[threadIdx.x] = slots_of(cols[mine]);
    __syncthreads();
    for (int i = 0; threadIdx.x == 0 && i < k_prepare_threads && base + i < num_cols; ++i) {
      const bool fits = width[i] <= tile_slots;
      if (columns == k_group_columns || wide == fits || (fits && used + width[i] > tile_slots)) {
        groups.first_column[count++] = static_cast<int>(base) + i;
        columns = 0;
        used = 0;
        wide = !fits;
      }
      groups.first_slot[base + i] = fits ? static_cast<int>(used) : -1;
      if (fits) used += width[i];
      ++columns;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    groups.first_column[count] = static_cast<int>(num_cols);
    *groups.count = count;
  }
}

// Zeroes the sums (8 bytes each) and the poison bits; block 0 groups the columns, if there are any.
__global__ void __launch_bounds__(k_prepare_threads)
    prepare_histogram(unsigned long long* sums, int64_t num_sums, unsigned* poison, int64_t poison_words,
                      const hist_column* cols, int64_t num_cols, int64_t tile_slots, column_groups groups) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = first; i < num_sums; i += step) sums[i] = 0;
  for (int64_t i = first; i < poison_words; i += step) poison[i] = 0;
  if (blockIdx.x == 0 && num_cols > 0) group_columns(cols, num_cols, tile_slots, groups);
}

template <class Bin>
struct dense_view {
  const Bin* bins;
  int64_t row_stride;
  const hist_column* cols;
};

struct group_column {
  int base;     // bin + base: the slot in the tile
  int skipped;  // smaller bins have no slot
  int bins;
};

template <class Bin>
struct alignas(4 * sizeof(Bin)) four_bins {
  Bin bin[4];
};

// Reads the bins of one row in a group of columns, four to a load if the address allows it. Lanes start at different
// columns, so that rows with equal bins do not meet at the same slot.
template <class Bin, class F>
__device__ inline void for_each_bin(const Bin* bins, int columns, F&& add) {
  const int fours = reinterpret_cast<uintptr_t>(bins) % sizeof(four_bins<Bin>) == 0 ? columns / 4 : 0;
  if (fours > 0) {
    int at = static_cast<int>(threadIdx.x) % 32 % fours;
    for (int n = 0; n < fours; ++n) {
      const four_bins<Bin> four = reinterpret_cast<const four_bins<Bin>*>(bins)[at];
#pragma unroll
      for (int i = 0; i < 4; ++i) add(4 * at + i, four.bin[i]);
      at = at + 1 == fours ? 0 : at + 1;
    }
  }
  for (int c = 4 * fours; c < columns; ++c) add(c, bins[c]);
}

template <class Updates, class Bin, class RowId>
__global__ void __launch_bounds__(k_histogram_threads, 2)
    histogram_dense(Updates updates, dense_view<Bin> d, column_groups groups, leaf_rows<RowId> rows) {
  using slot_type = tile_slot<typename Updates::word>;
  SIMT_DYN_SHARED(typename Updates::word, tile);
  SIMT_SHARED(table, group_column[k_group_columns]);
  const auto context = updates.begin();
  const int64_t num_groups = *groups.count;
  for (int64_t item = blockIdx.x; item < num_groups * rows.items; item += gridDim.x) {
    // Neighbouring blocks read the same rows.
    const int group = static_cast<int>(item % num_groups);
    const int64_t begin = rows.begin(item / num_groups), end = rows.end(item / num_groups);
    const int first = groups.first_column[group], columns = groups.first_column[group + 1] - first;
    const bool has_tile = groups.has_tile(first);
    const int last = first + columns - 1;
    const int slots = has_tile ? groups.first_slot[last] + slots_of(d.cols[last]) : 0;
    for (int c = static_cast<int>(threadIdx.x); c < columns; c += k_histogram_threads) {
      const hist_column column = d.cols[first + c];
      table[c] = {groups.first_slot[first + c] - column.mfb_offset, column.mfb_offset, column.num_bin};
    }
    for (int i = static_cast<int>(threadIdx.x); i < slots * Updates::k_limbs; i += k_histogram_threads) tile[i] = 0;
    __syncthreads();
    for (int64_t i = begin + threadIdx.x; i < end; i += k_histogram_threads) {
      const int64_t row = rows.row(i);
      const typename Updates::change change = updates.change_of(updates.fetch(row), context);
      for_each_bin(d.bins + row * d.row_stride + first, columns, [&](int c, Bin read) {
        const auto bin = static_cast<int64_t>(read);
        expect(bin < table[c].bins);
        if (bin < table[c].skipped) return;
        if (has_tile) updates.add_to_tile(slot_type{tile + bin + table[c].base, slots}, change);
        if (has_tile && !updates.is_noted(change)) return;
        const int64_t slot = d.cols[first + c].hist_offset + bin - table[c].skipped;
        if (!has_tile) updates.add(slot, change);
        if (updates.is_noted(change)) updates.note(slot, change);
      });
    }
    __syncthreads();
    for (int c = 0; has_tile && c < columns; ++c) {
      const int width = table[c].bins - table[c].skipped, local = table[c].base + table[c].skipped;
      const int64_t slot = d.cols[first + c].hist_offset;
      for (int i = static_cast<int>(threadIdx.x); i < 2 * width; i += k_histogram_threads)
        updates.hand_over(slot_type{tile + local + i / 2, slots}, slot + i / 2, i % 2);
    }
    __syncthreads();  // table and tile are written again
  }
}

// ---- CSR ----

template <class Slot>
struct csr_view {
  const int64_t* row_ptr;
  const Slot* slots;
};

// tile_slots: slots of a range; 0: no tile, one range of all slots.
template <class Updates, class Slot, class RowId>
__global__ void __launch_bounds__(k_histogram_threads, 2)
    histogram_csr(Updates updates, csr_view<Slot> d, int64_t total_slots, int tile_slots, int64_t ranges,
                  leaf_rows<RowId> rows) {
  using slot_type = tile_slot<typename Updates::word>;
  SIMT_DYN_SHARED(typename Updates::word, tile);
  const auto context = updates.begin();
  const int lane = static_cast<int>(threadIdx.x) % k_csr_lanes;
  const bool has_tile = tile_slots > 0;
  for (int64_t item = blockIdx.x; item < ranges * rows.items; item += gridDim.x) {
    const int64_t first = item % ranges * tile_slots;
    const int64_t rest = total_slots - first;
    const int64_t range = has_tile && tile_slots < rest ? tile_slots : rest;
    const int slots = has_tile ? static_cast<int>(range) : 0;
    const int64_t end = rows.end(item / ranges);
    for (int i = static_cast<int>(threadIdx.x); i < slots * Updates::k_limbs; i += k_histogram_threads) tile[i] = 0;
    __syncthreads();
    for (int64_t i = rows.begin(item / ranges) + threadIdx.x / k_csr_lanes; i < end;
         i += k_histogram_threads / k_csr_lanes) {
      const int64_t row = rows.row(i);
      const typename Updates::change change = updates.change_of(updates.fetch(row), context);
      for (int64_t k = d.row_ptr[row] + lane; k < d.row_ptr[row + 1]; k += k_csr_lanes) {
        const auto slot = static_cast<int64_t>(d.slots[k]);
        expect(slot < total_slots);
        if (slot < first || slot - first >= range) continue;
        if (has_tile)
          updates.add_to_tile(slot_type{tile + (slot - first), slots}, change);
        else
          updates.add(slot, change);
        if (updates.is_noted(change)) updates.note(slot, change);
      }
    }
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < 2 * slots; i += k_histogram_threads)
      updates.hand_over(slot_type{tile + i / 2, slots}, first + i / 2, i % 2);
    __syncthreads();  // the tile is zeroed again
  }
}

// Converts fixed-point sums to numbers, in place; poisoned ones become NaN.
__global__ void __launch_bounds__(k_prepare_threads)
    finish_fixed64(double* hist, int64_t total_bins, const unsigned* poison, const fixed_scale* scale) {
  const double unit[2] = {power_of_two(-scale->e_g), power_of_two(-scale->e_h)};
  const unsigned nonfinite = scale->nonfinite;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < 2 * total_bins;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const int part = static_cast<int>(i % 2);
    const int64_t slot = i / 2;
    const double sum = static_cast<double>(__double_as_longlong(hist[i])) * unit[part];
    const bool poisoned =
        nonfinite != 0 && (poison[slot / k_poison_slots] >> (2 * (slot % k_poison_slots) + part) & 1u) != 0;
    hist[i] = poisoned ? static_cast<double>(NAN) : sum;
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
