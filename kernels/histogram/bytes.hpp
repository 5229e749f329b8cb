// Dense bins of one byte, in tiles of byte_tile.hpp. Cost of an update: a byte permutation and the atomics of Updates.
#pragma once

#include <cstdint>

#include "kernels/histogram/byte_tile.hpp"
#include "kernels/histogram/rows.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// Groups of columns, cut at multiples of four.
struct byte_groups {
  int64_t num_cols;
  int64_t count;
  int words;     // of a row in a group, 8 at most; the last group may have fewer
  bool aligned;  // four bins of a row make a word in memory

  __device__ int64_t first(int64_t group) const { return group * words * 4; }
  __device__ int columns(int64_t group) const {
    const int64_t rest = num_cols - first(group);
    return static_cast<int>(rest < 4 * words ? rest : 4 * words);
  }
};

// Adds the rows of an item to the tile.
template <class Updates, class RowId, bool Listed>
class byte_adder {
  using source = typename Updates::source;

 public:
  __device__ byte_adder(const Updates& updates, unsigned char* tile, const dense_view<uint8_t>& d,
                        const byte_groups& groups, int64_t group, const RowId* list)
      : updates_(updates),
        context_(updates.begin()),
        tile_(tile),
        bins_(d.bins + groups.first(group)),
        stride_(d.row_stride),
        cols_(d.cols + groups.first(group)),
        columns_(groups.columns(group)),
        aligned_(groups.aligned),
        list_(list),
        lane_(columns_, sizeof(typename Updates::word)) {}

  // Entries `begin` to `end` of the leaf.
  __device__ void add(int64_t begin, int64_t end) const {
    if (lane_.row >= lane_.rows) return;
    if (!Listed && aligned_)
      add_words(begin, end);
    else
      add_batches(begin, end);
    if (updates_.any_noted()) note_rows(begin, end);
  }

 private:
  // As many as 64 registers a thread can hold.
  static constexpr int k_batch = sizeof(source) > sizeof(unsigned) ? 4 : 8;

  // Adds rows whose four bins are words in memory. The next batch is loaded while one is added; after a warp's last
  // batch the same one is loaded again.
  __device__ void add_words(int64_t begin, int64_t end) const {
    const int warp = static_cast<int>(threadIdx.x) / k_warp_size, warps = static_cast<int>(blockDim.x) / k_warp_size;
    const int batch = lane_.rows * k_batch;
    const int64_t batches = (end - begin) / batch;
    int64_t row = begin + warp * batch + lane_.row;
    const uint8_t* word = bins_ + row * stride_ + 4 * lane_.word;
    const int64_t pitch = lane_.rows * stride_;
    unsigned bins[k_batch];
    source values[k_batch];
    const auto read = [&](int u) {
      bins[u] = *reinterpret_cast<const unsigned*>(word + u * pitch);
      values[u] = updates_.fetch(row + u * lane_.rows);
    };
    int64_t left = (batches - warp + warps - 1) / warps;
    if (left > 0) {
#pragma unroll
      for (int u = 0; u < k_batch; ++u) read(u);
    }
    for (; left > 0; --left) {
      if (left > 1) {
        row += warps * batch;
        word += k_batch * warps * pitch;
      }
#pragma unroll
      for (int u = 0; u < k_batch; ++u) {
        const unsigned bins_now = bins[u];
        const source values_now = values[u];
        read(u);
        add(bins_now, values_now);
      }
    }
    add_rest(begin + batches * batch, end);
  }
  // Adds the rest of the last batch.
  __device__ void add_rest(int64_t begin, int64_t end) const {
    for_each_row(begin, end, [&](int64_t row) { add(bins_of(row), updates_.fetch(row)); });
  }
  // A lane reads all words of a batch before it needs the first one.
  __device__ void add_batches(int64_t begin, int64_t end) const {
    const int64_t warp = threadIdx.x / k_warp_size, warps = blockDim.x / k_warp_size;
    const int64_t batch = static_cast<int64_t>(lane_.rows) * k_batch, step = warps * batch;
    const int64_t whole = begin + (end - begin) / batch * batch;  // batches end here
    RowId id[k_batch];
    const auto find = [&](int64_t at) {
#pragma unroll
      for (int u = 0; Listed && u < k_batch; ++u)
        if (at < whole) id[u] = list_[at + u * lane_.rows];
    };
    int64_t at = begin + warp * batch + lane_.row;
    find(at);
    for (; at < whole; at += step) {
      unsigned bins[k_batch];
      typename Updates::source values[k_batch];
#pragma unroll
      for (int u = 0; u < k_batch; ++u) {
        const int64_t row = Listed ? static_cast<int64_t>(id[u]) : at + u * lane_.rows;
        bins[u] = bins_of(row);
        values[u] = updates_.fetch(row);
      }
      find(at + step);
#pragma unroll
      for (int u = 0; u < k_batch; ++u) add(bins[u], values[u]);
    }
    add_rest(whole, end);
  }
  // The lane's word of a row, with 0 for columns that do not exist.
  __device__ unsigned bins_of(int64_t row) const {
    const uint8_t* const p = bins_ + row * stride_ + 4 * lane_.word;
    if (aligned_) return *reinterpret_cast<const unsigned*>(p);
    unsigned bytes = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (4 * lane_.word + i < columns_) bytes |= static_cast<unsigned>(p[i]) << 8 * i;
    return bytes;
  }
  __device__ void add(unsigned bins, const typename Updates::source& values) const {
    using word = typename Updates::word;
    const typename Updates::change change = updates_.finite_change_of(values, context_);
    const unsigned turned = lane_.turned(bins);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      expect(lane_.column(k) >= columns_ ||
             static_cast<int>(bins >> 8 * lane_.byte(k) & 0xffu) < cols_[lane_.column(k)].num_bin);
      auto* const slot = reinterpret_cast<word*>(tile_ + lane_.place(turned, k));
      updates_.add_to_tile(byte_slot<word>{slot}, change);
    }
  }
  // A separate pass finds values that no sum can hold, which leaves the registers to the main pass.
  __device__ void note_rows(int64_t begin, int64_t end) const {
    for_each_row(begin, end, [&](int64_t row) {
      const typename Updates::change change = updates_.change_of(updates_.fetch(row), context_);
      if (!updates_.is_noted(change)) return;
      const unsigned bins = bins_of(row);
#pragma unroll 1
      for (int k = 0; k < 4; ++k) {
        if (lane_.column(k) >= columns_) continue;
        const hist_column column = cols_[lane_.column(k)];
        const int bin = static_cast<int>(bins >> 8 * lane_.byte(k) & 0xffu);
        if (bin >= column.mfb_offset) updates_.note(column.hist_offset + bin - column.mfb_offset, change);
      }
    });
  }
  // Visits the lane's rows, a step for each warp.
  template <class F>
  __device__ void for_each_row(int64_t begin, int64_t end, F&& f) const {
    const int64_t warp = threadIdx.x / k_warp_size, warps = blockDim.x / k_warp_size;
#pragma unroll 1
    for (int64_t at = begin + warp * lane_.rows + lane_.row; at < end; at += warps * lane_.rows)
      f(Listed ? static_cast<int64_t>(list_[at]) : at);
  }

  const Updates& updates_;
  const typename Updates::context context_;
  unsigned char* const tile_;
  const uint8_t* const bins_;
  const int64_t stride_;
  const hist_column* const cols_;
  const int columns_;
  const bool aligned_;
  const RowId* const list_;
  const byte_lane lane_;
};

// A warp takes both parts of two bins of eight columns, which are whole sectors of global memory, and banks that at
// most four lanes share. Blocks start at different bins, so that their atomics do not meet.
template <class Updates>
__device__ inline void hand_over_bytes(const Updates& updates, unsigned char* tile, const hist_column* cols,
                                       int columns, int bins) {
  using word = typename Updates::word;
  constexpr int k_across = 8, k_down = 2;
  const byte_lane lanes(columns, sizeof(word));
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size, warp = static_cast<int>(threadIdx.x) / k_warp_size;
  const int warps = static_cast<int>(blockDim.x) / k_warp_size;
  const int rows = (bins + k_down - 1) / k_down, patches = rows * ((columns + k_across - 1) / k_across);
  const int start = static_cast<int>(blockIdx.x * 193u % static_cast<unsigned>(rows));
  for (int patch = warp; patch < patches; patch += warps) {
    const int c = patch / rows * k_across + lane / 4;
    const int bin = (patch % rows + start) % rows * k_down + lane / 2 % 2;
    if (c >= columns) continue;
    const hist_column column = cols[c];
    if (bin < column.mfb_offset || bin >= column.num_bin) continue;
    for (int copy = 0; copy < lanes.copies; ++copy) {
      unsigned char* const slot =
          tile + bin * k_bin_row_bytes + (copy * lanes.columns + c) * static_cast<int>(sizeof(word));
      updates.hand_over(byte_slot<word>{reinterpret_cast<word*>(slot)}, column.hist_offset + bin - column.mfb_offset,
                        lane % 2);
    }
  }
}

template <class Updates, class RowId, bool Listed>
__global__ void __launch_bounds__(k_byte_threads, 1)
    histogram_bytes(Updates updates, dense_view<uint8_t> d, byte_groups groups, leaf_rows<RowId> rows) {
  SIMT_DYN_SHARED(unsigned, tile);
  for (int64_t item = blockIdx.x; item < groups.count * rows.items; item += gridDim.x) {
    // Neighbouring blocks read the same rows.
    const int64_t group = item % groups.count;
    const hist_column* const cols = d.cols + groups.first(group);
    const int columns = groups.columns(group), lane = static_cast<int>(threadIdx.x) % k_warp_size;
    const int widest =
        lane_reduce<k_warp_size>(lane < columns ? cols[lane].num_bin : 0, [](int a, int b) { return a > b ? a : b; });
    const int bins = widest < k_byte_values ? widest : k_byte_values;
    for (int bank_tile = 0; bank_tile < k_byte_bank_tiles<Updates>; ++bank_tile)
      for (int i = static_cast<int>(threadIdx.x); i < bins * k_bin_row_bytes / 4; i += static_cast<int>(blockDim.x))
        tile[bank_tile * (k_bank_tile_bytes / 4) + i] = 0;
    __syncthreads();
    auto* const bytes = reinterpret_cast<unsigned char*>(tile);
    byte_adder<Updates, RowId, Listed>(updates, bytes, d, groups, group, rows.list)
        .add(rows.begin(item / groups.count), rows.end(item / groups.count));
    __syncthreads();
    hand_over_bytes(updates, bytes, cols, columns, bins);
    __syncthreads();  // the tile is zeroed again
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
