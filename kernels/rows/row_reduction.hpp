// One value per row, in one pass over it, for rows of any length and number.
//
// A RowReduction defines the computation:
//   element, partial, result          types; partial is trivially copyable, its size a multiple of 4
//   none()                            the partial of no element
//   absorb(partial, slice, value, begin)  takes in a lane's values (row_access.hpp) of a row that starts at `begin`
//   over_lanes<Lanes>(partial)        the partial of `Lanes` neighbouring lanes, in each of them, with the same bits
//   collect(partials, first, last, step)  that of every step-th of an array of partials
//   finish(partial)                   the result
//   k_expensive                       true if taking in values and merging partials cost so much that they show beside
//                                     the time of reading; if so, absorb looks at the values alone, and there is
//   over_row<Lanes>(value)            the partial of a row whose values `Lanes` neighbouring lanes hold, as over_lanes
//   of_warp(value, partial)           likewise of a warp, by a short cut; false where that is not accurate enough
// A reduction of two partials, merge(a, b), gets over_lanes and collect from merging_reduction.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/primitives/grid.hpp"
#include "kernels/primitives/reduce.hpp"
#include "kernels/primitives/shuffle.hpp"
#include "kernels/rows/row_access.hpp"
#include "kernels/rows/row_tiling.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

template <class RowReduction>
struct reduction_arguments {
  const typename RowReduction::element* x;
  int64_t ldx;
  typename RowReduction::result* y;  // one per row
  int64_t rows;
  int64_t cols;
};

// For reductions whose partials merge two by two. `merge` is commutative, so that a butterfly gives every lane the same
// bits.
template <class RowReduction, class Partial>
struct merging_reduction {
  template <int Lanes>
  __device__ static Partial over_lanes(Partial mine) {
#pragma unroll
    for (int offset = Lanes / 2; offset > 0; offset /= 2) mine = RowReduction::merge(mine, shuffle_xor(mine, offset));
    return mine;
  }
  __device__ static Partial collect(const Partial* partials, int64_t first, int64_t last, int64_t step) {
    Partial all = RowReduction::none();
    for (int64_t i = first; i < last; i += step) all = RowReduction::merge(all, partials[i]);
    return all;
  }
};

// The result in thread 0 is that of the block. `scratch` holds k_max_warps partials, and another barrier must pass
// before it is used again.
template <class RowReduction>
__device__ inline typename RowReduction::partial merge_block(typename RowReduction::partial mine,
                                                             typename RowReduction::partial* scratch) {
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
  const int warps = static_cast<int>(blockDim.x) / k_warp_size;
  mine = RowReduction::template over_lanes<k_warp_size>(mine);
  if (warps == 1) return mine;
  if (lane == 0) scratch[threadIdx.x / k_warp_size] = mine;
  __syncthreads();
  mine = RowReduction::none();
  if (lane < warps) mine = scratch[lane];
  return RowReduction::template over_lanes<k_warp_size>(mine);
}

constexpr int k_reduction_warp_threads = 128;
constexpr int k_reduction_warp_values = 32;  // of a lane at a time

constexpr int k_reduction_tile_values = 32;      // of a thread at a time
constexpr int k_reduction_chunks = 16;           // of the largest tile: bounds the chain of merges
constexpr int k_reduction_expensive_chunks = 8;  // the same if merging loses accuracy
constexpr int k_reduction_tiles_threads = 128;
constexpr int k_reduction_large_tiles_threads = 512;

constexpr int k_reduction_ahead_threads = 128;
constexpr int k_reduction_ahead_blocks = 4;  // of a multiprocessor: as many as the registers of two chunks allow
// of the largest tile, of k_reduction_expensive_chunks chunks: bounds the chain of merges
constexpr int k_reduction_ahead_groups = 4;

// A chunk of such elements has half the bytes, so that merging costs twice as much relative to reading.
template <class RowReduction>
constexpr bool reduction_is_16_bit = sizeof(typename RowReduction::element) == 2;

template <class RowReduction, int Values>
constexpr int reduction_vectors = Values / row_vector<typename RowReduction::element>::k_width;

// `Lanes` lanes take a row, a warp 32/Lanes * Rows neighbouring rows at a time, `Rows` of them in flight per lane.
// Reads a row once; no barrier. With Rows > 1 the lanes hold a whole row.
template <class RowReduction, row_access Access, int Lanes, int Vectors, int Rows>
__global__ void __launch_bounds__(k_reduction_warp_threads) reduction_warp(reduction_arguments<RowReduction> a) {
  using slice_type = row_slice<typename RowReduction::element, Access, Vectors>;
  constexpr int k_groups = k_warp_size / Lanes;
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const int group = static_cast<int>(threadIdx.x) % k_warp_size / Lanes;
  const int64_t warp = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / k_warp_size;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * blockDim.x / k_warp_size;
  const int cols = static_cast<int>(a.cols);
  // A row after the last is empty: its lanes stay active for the shuffles and access nothing.
  const auto slice_of = [&](int64_t r, int chunk) {
    const bool exists = r < a.rows;
    return slice_type(a.x + (exists ? r * a.ldx : 0), exists ? cols : 0, lane, Lanes, chunk);
  };
  for (int64_t base = warp * k_groups * Rows; base < a.rows; base += warps * k_groups * Rows) {
    const int64_t first = base + group;
    wide_type<typename RowReduction::element> value[Rows][slice_type::k_values];
#pragma unroll
    for (int j = 0; j < Rows; ++j) slice_of(first + j * k_groups, 0).load(value[j]);
    typename RowReduction::partial of_row[Rows];
#pragma unroll
    for (int j = 0; j < Rows; ++j) {
      if constexpr (Rows > 1 && RowReduction::k_expensive) {
        of_row[j] = RowReduction::template over_row<Lanes>(value[j]);
      } else {
        // The test pays only if instructions limit the kernel.
        if constexpr (Lanes == k_warp_size && reduction_is_16_bit<RowReduction> && RowReduction::k_expensive)
          if (cols / slice_type::k_width <= Lanes * Vectors && RowReduction::of_warp(value[j], of_row[j])) continue;
        const int64_t r = first + j * k_groups;
        of_row[j] = RowReduction::none();
        RowReduction::absorb(of_row[j], slice_of(r, 0), value[j], 0);
        if constexpr (Rows == 1) {
          for (int chunk = 1; chunk * Lanes * Vectors < cols / slice_type::k_width; ++chunk) {
            const slice_type slice = slice_of(r, chunk);
            slice.load(value[j]);
            RowReduction::absorb(of_row[j], slice, value[j], 0);
          }
        }
        of_row[j] = RowReduction::template over_lanes<Lanes>(of_row[j]);
      }
    }
    // Each lane finishes another of the rows.
#pragma unroll
    for (int k = 0; k < Rows; k += Lanes) {
      auto mine = of_row[k];
#pragma unroll
      for (int j = 1; j < Lanes && k + j < Rows; ++j)
        if (lane == j) mine = of_row[k + j];
      const int64_t r = first + (k + lane) * k_groups;
      if (k + lane < Rows && r < a.rows) store_element(a.y + r, RowReduction::finish(mine));
    }
  }
}

// The i-th partial of the grid, or the row's result if a row has only one.
template <class RowReduction>
__device__ inline void store_partial(const reduction_arguments<RowReduction>& a, int64_t i,
                                     const typename RowReduction::partial& partial,
                                     typename RowReduction::partial* partials) {
  if (partials != nullptr)
    partials[i] = partial;
  else
    a.y[i] = RowReduction::finish(partial);
}

// Takes in the values that a thread has in a chunk of a tile, which starts at `begin` of its row.
template <class RowReduction, row_access Access, int Threads>
__device__ inline void absorb_chunk(typename RowReduction::partial& all, const typename RowReduction::element* tile,
                                    int cols, int chunk, int64_t begin) {
  using slice_type =
      row_slice<typename RowReduction::element, Access, reduction_vectors<RowReduction, k_reduction_tile_values>>;
  const slice_type slice(tile, cols, static_cast<int>(threadIdx.x), Threads, chunk);
  wide_type<typename RowReduction::element> value[slice_type::k_values];
  slice.load(value);
  RowReduction::absorb(all, slice, value, begin);
}

// A block takes a tile of a row, k_reduction_tile_values elements a thread at a time; `partials` (rows x tiles) is
// nullptr if a row is one tile. One block for each tile. One barrier.
template <class RowReduction, row_access Access, int Threads>
__global__ void __launch_bounds__(Threads) reduction_tiles(reduction_arguments<RowReduction> a, unsigned tiles,
                                                           int tile_size, typename RowReduction::partial* partials) {
  constexpr int k_chunk = Threads * k_reduction_tile_values;
  SIMT_SHARED(scratch, typename RowReduction::partial[k_max_warps]);
  // A row of one tile needs no division before its first read.
  const auto* row = a.x + blockIdx.x * a.ldx;
  int64_t begin = 0;
  int cols = static_cast<int>(a.cols);
  if (partials != nullptr) {
    simt::trigger_dependents();
    row = a.x + blockIdx.x / tiles * a.ldx;
    const row_tile<typename RowReduction::element> tile(row, a.cols, blockIdx.x % tiles, tile_size);
    begin = tile.begin;
    cols = tile.cols;
  }
  auto partial = RowReduction::none();
  int chunk = 0;
  if constexpr (Access == row_access::aligned && !RowReduction::k_expensive)  // a test of each vector would cost time
    for (; (chunk + 1) * k_chunk <= cols; ++chunk)
      absorb_chunk<RowReduction, row_access::whole, Threads>(partial, row + begin, cols, chunk, begin);
  // Only the first and the last tile of a misaligned row have ends, whose single elements cost as much as a vector.
  if constexpr (Access == row_access::peeled && RowReduction::k_expensive)
    if (cols == tile_size && edge_misalignment(row + begin, edge_of<typename RowReduction::element>(Threads)) == 0)
      for (; chunk < cols / k_chunk; ++chunk)
        absorb_chunk<RowReduction, row_access::whole, Threads>(partial, row + begin, cols, chunk, begin);
  for (; chunk * k_chunk < cols; ++chunk)
    absorb_chunk<RowReduction, Access, Threads>(partial, row + begin, cols, chunk, begin);
  partial = merge_block<RowReduction>(partial, scratch);
  if (threadIdx.x == 0) store_partial(a, blockIdx.x, partial, partials);
}

// The same for aligned rows and expensive reductions, with persistent blocks: the next chunk, of this tile or another,
// is loaded while one is absorbed. tile_size: at most k_reduction_ahead_groups groups of k_reduction_expensive_chunks
// chunks.
template <class RowReduction>
__global__ void __launch_bounds__(k_reduction_ahead_threads, k_reduction_ahead_blocks)
    reduction_ahead(reduction_arguments<RowReduction> a, int64_t tiles, int tile_size,
                    typename RowReduction::partial* partials) {
  using element = typename RowReduction::element;
  using slice_type = row_slice<element, row_access::aligned, reduction_vectors<RowReduction, k_reduction_tile_values>>;
  constexpr int k_chunk = k_reduction_ahead_threads * slice_type::k_values;
  static_assert(std::is_same_v<element, wide_type<element>>, "a conversion would wait for what is on its way");
  SIMT_SHARED(scratch, typename RowReduction::partial[2][k_max_warps]);
  if (partials != nullptr) simt::trigger_dependents();
  const bool grouped =
      tile_size > k_reduction_expensive_chunks * k_chunk && a.cols > k_reduction_expensive_chunks * k_chunk;
  // The chunk that is read next.
  int64_t i = blockIdx.x;
  const element* tile = nullptr;
  int cols = 0, chunk = 0;
  const auto enter = [&] {
    const int64_t row = tiles > 1 ? i / tiles : i, begin = tiles > 1 ? i % tiles * tile_size : 0;
    tile = a.x + row * a.ldx + begin;
    cols = static_cast<int>(tile_size < a.cols - begin ? tile_size : a.cols - begin);
  };
  const auto slice_of = [&] {
    return slice_type(tile, cols, static_cast<int>(threadIdx.x), k_reduction_ahead_threads, chunk);
  };
  enter();
  element next[slice_type::k_values];
  slice_of().load(next);
  auto of_groups = RowReduction::none(), partial = RowReduction::none();
  int turn = 0;
  for (bool more = true; more;) {
    element value[slice_type::k_values];
#pragma unroll
    for (int k = 0; k < slice_type::k_values; ++k) value[k] = next[k];
    const slice_type slice = slice_of();
    const int64_t of_value = i;
    const bool ends = (chunk + 1) * k_chunk >= cols;
    if (ends) {
      i += gridDim.x;
      chunk = 0;
      more = i < a.rows * tiles;
      if (more) enter();
    } else {
      ++chunk;
    }
    if (more) slice_of().load(next);
    RowReduction::absorb(partial, slice, value, 0);
    if (grouped && chunk % k_reduction_expensive_chunks == 0) {
      const typename RowReduction::partial both[2] = {of_groups, partial};
      of_groups = RowReduction::collect(both, 0, 2, 1);
      partial = ends ? of_groups : RowReduction::none();
    }
    if (ends) {
      partial = merge_block<RowReduction>(partial, scratch[turn]);
      turn ^= 1;
      if (threadIdx.x == 0) store_partial(a, of_value, partial, partials);
      partial = of_groups = RowReduction::none();
    }
  }
}

constexpr int k_reduction_merge_threads = 256;

// Merges the tiles of the row of each block, in an order that depends on their number alone. Rows of several tiles are
// so long that a grid can hold a block for each row that fits in memory.
template <class RowReduction>
__global__ void __launch_bounds__(k_reduction_merge_threads)
    reduction_merge(reduction_arguments<RowReduction> a, int64_t tiles,
                    const typename RowReduction::partial* partials) {
  SIMT_SHARED(scratch, typename RowReduction::partial[k_max_warps]);
  const int64_t r = blockIdx.x;
  simt::grid_dependency_wait();
  const auto partial =
      merge_block<RowReduction>(RowReduction::collect(partials + r * tiles, threadIdx.x, tiles, blockDim.x), scratch);
  if (threadIdx.x == 0) a.y[r] = RowReduction::finish(partial);
}

// Lanes of one warp reduce rows up to the first length, tiles those up to the second, large tiles longer ones. The
// calls of the next functions use twice these lengths for 16-bit types.
constexpr int64_t k_reduction_warp_cols = 2048;
constexpr int64_t k_reduction_tiles_cols = 16384;

template <class RowReduction, row_access Access, int Lanes, int Vectors>
void launch_reduction_warp(const reduction_arguments<RowReduction>& a, simt::stream_t stream) {
  // Enough elements in flight per lane to cover the latency of memory.
  constexpr int k_in_flight =
      k_reduction_warp_values / (Vectors * access_width<typename RowReduction::element, Access>);
  // Measured on an H200: with three rows, registers leave room for more blocks where that counts.
  constexpr int k_most_rows = Access == row_access::aligned && Lanes == 8               ? 8
                              : RowReduction::k_expensive && Lanes == 4 && Vectors == 2 ? 3
                                                                                        : 4;
  constexpr int k_rows = Lanes == k_warp_size ? 1 : k_in_flight < k_most_rows ? k_in_flight : k_most_rows;
  // If rows would leave multiprocessors idle, blocks have one warp, and rows do not go eight at a time. Neither changes
  // the bits of a result.
  constexpr int k_few_rows = k_rows == 8 ? 2 : k_rows;
  const auto blocks_of = [&](int threads, int rows) { return ceil_div(a.rows, int64_t{threads} / Lanes * rows); };
  const int64_t blocks = blocks_of(k_reduction_warp_threads, k_rows);
  if (blocks < 2 * simt::device_properties(stream).sm_count)
    simt::launch({grid_size(blocks_of(k_warp_size, k_few_rows), stream), k_warp_size, 0, stream},
                 reduction_warp<RowReduction, Access, Lanes, Vectors, k_few_rows>, a);
  else
    simt::launch({grid_size(blocks, stream), k_reduction_warp_threads, 0, stream},
                 reduction_warp<RowReduction, Access, Lanes, Vectors, k_rows>, a);
}

// For rows of any length, meant for up to k_reduction_warp_cols elements.
template <class RowReduction>
void reduce_by_warp(const reduction_arguments<RowReduction>& a, simt::stream_t stream) {
  constexpr auto k_aligned = row_access::aligned;
  constexpr auto k_scalar = row_access::scalar;
  constexpr int k_most = reduction_vectors<RowReduction, k_reduction_warp_values>;
  const int64_t vectors = a.cols / row_vector<typename RowReduction::element>::k_width;
  if (has_aligned_rows(a)) {
    if (vectors <= 1) return launch_reduction_warp<RowReduction, k_aligned, 1, 1>(a, stream);
    // Neighbouring lanes read whole lines; if merging is expensive, few lanes with many values each are faster.
    constexpr int k_lanes_of_4 = RowReduction::k_expensive ? 1 : 4, k_lanes_of_8 = RowReduction::k_expensive ? 4 : 8;
    if (vectors <= 4) return launch_reduction_warp<RowReduction, k_aligned, k_lanes_of_4, 4 / k_lanes_of_4>(a, stream);
    if (vectors <= 8) return launch_reduction_warp<RowReduction, k_aligned, k_lanes_of_8, 8 / k_lanes_of_8>(a, stream);
    if (vectors <= 16) return launch_reduction_warp<RowReduction, k_aligned, 4, 4>(a, stream);
    if (vectors <= 32) return launch_reduction_warp<RowReduction, k_aligned, 8, 4>(a, stream);
    if (vectors <= 64) return launch_reduction_warp<RowReduction, k_aligned, 8, k_most>(a, stream);
    return launch_reduction_warp<RowReduction, k_aligned, k_warp_size, k_most>(a, stream);
  }
  if (a.cols <= 4) return launch_reduction_warp<RowReduction, k_scalar, 1, 4>(a, stream);
  if (a.cols <= 16) return launch_reduction_warp<RowReduction, k_scalar, 4, 4>(a, stream);
  if (a.cols <= 64) return launch_reduction_warp<RowReduction, k_scalar, 16, 4>(a, stream);
  // So few lanes that at each end of a row, of less than a vector, there is a lane for each element.
  constexpr int k_few = 2 * row_vector<typename RowReduction::element>::k_width;
  if (vectors <= 32) return launch_reduction_warp<RowReduction, row_access::peeled, k_few, 32 / k_few>(a, stream);
  if (vectors <= 64) return launch_reduction_warp<RowReduction, row_access::peeled, k_few, 64 / k_few>(a, stream);
  launch_reduction_warp<RowReduction, row_access::peeled, k_warp_size, k_most>(a, stream);
}

// `launch` gets the partials of all tiles, rows x tiles, or nullptr if a row is one tile.
template <class RowReduction, class Launch>
void launch_and_merge(const reduction_arguments<RowReduction>& a, int64_t tiles, simt::stream_t stream,
                      const Launch& launch) {
  if (tiles == 1) return launch(nullptr);
  const simt::stream_workspace<typename RowReduction::partial> partials(static_cast<size_t>(a.rows * tiles), stream);
  launch(partials.data());
  const int64_t mergers = std::min<int64_t>(ceil_div(tiles, k_warp_size) * k_warp_size, k_reduction_merge_threads);
  simt::launch_config merge{static_cast<unsigned>(a.rows), static_cast<unsigned>(mergers), 0, stream};
  merge.programmatic_launch = true;  // its start costs as much as its work
  simt::launch(merge, reduction_merge<RowReduction>, a, tiles,
               static_cast<const typename RowReduction::partial*>(partials.data()));
}

// For aligned rows of any length.
template <class RowReduction>
void launch_reduction_ahead(const reduction_arguments<RowReduction>& a, simt::stream_t stream) {
  constexpr int k_chunk = k_reduction_ahead_threads * k_reduction_tile_values;
  // The work of the busiest block on 132 multiprocessors, in eighths of a chunk: a tile costs one eighth beside its
  // chunks, the launch that merges tiles eight. The number is fixed, so that the bits of a result do not depend on the
  // GPU.
  constexpr int64_t k_blocks = 132 * k_reduction_ahead_blocks;
  int tile_size = 0;
  int64_t least = INT64_MAX;
  for (int chunks = k_reduction_ahead_groups * k_reduction_expensive_chunks; chunks > 0; chunks /= 2) {
    const int64_t tiles = ceil_div(a.cols, chunks * k_chunk);
    const int64_t chunks_of_tile = std::min<int64_t>(chunks, ceil_div(a.cols, k_chunk));
    const int64_t cost = ceil_div(a.rows * tiles, k_blocks) * (8 * chunks_of_tile + 1) + (tiles > 1 ? 8 : 0);
    if (cost >= least) continue;
    least = cost;
    tile_size = chunks * k_chunk;
  }
  const int64_t tiles = ceil_div(a.cols, tile_size);
  const int64_t staying = int64_t{k_reduction_ahead_blocks} * simt::device_properties(stream).sm_count;
  const simt::launch_config config{static_cast<unsigned>(std::min(a.rows * tiles, staying)), k_reduction_ahead_threads,
                                   0, stream};
  launch_and_merge(a, tiles, stream, [&](typename RowReduction::partial* partials) {
    simt::launch(config, reduction_ahead<RowReduction>, a, tiles, tile_size, partials);
  });
}

// For rows of any length: in blocks of `Threads`, in tiles that give the device about 2^17 threads; if reduction_ahead
// takes the rows, in its own tiles.
template <class RowReduction, int Threads>
void launch_reduction_tiles(const reduction_arguments<RowReduction>& a, simt::stream_t stream) {
  if constexpr (RowReduction::k_expensive && std::is_same_v<typename RowReduction::element, float>)
    if (has_aligned_rows(a) && a.cols > k_reduction_ahead_threads * k_reduction_tile_values)
      return launch_reduction_ahead(a, stream);
  // A grid has a block for each tile, and fewer than 2^31 blocks; this many rows have one tile each.
  constexpr int64_t k_most_rows = int64_t{1} << 30;
  if (a.rows > k_most_rows) {
    const int64_t half = a.rows / 2;
    launch_reduction_tiles<RowReduction, Threads>({a.x, a.ldx, a.y, half, a.cols}, stream);
    return launch_reduction_tiles<RowReduction, Threads>({a.x + half * a.ldx, a.ldx, a.y + half, a.rows - half, a.cols},
                                                         stream);
  }
  constexpr int64_t k_blocks = (1 << 17) / Threads;
  const auto tiles_of = [&](int tile_size) { return tiles_of_rows(a.x, a.ldx, a.rows, a.cols, tile_size); };
  int tile_size = (RowReduction::k_expensive ? k_reduction_expensive_chunks : k_reduction_chunks) * Threads *
                  k_reduction_tile_values;
  while (tile_size > Threads * k_reduction_tile_values && a.rows * tiles_of(tile_size) < k_blocks) tile_size /= 2;
  const int64_t tiles = tiles_of(tile_size);
  const simt::launch_config config{static_cast<unsigned>(a.rows * tiles), Threads, 0, stream};
  launch_and_merge(a, tiles, stream, [&](typename RowReduction::partial* partials) {
    const auto of_row = static_cast<unsigned>(tiles);
    if (has_aligned_rows(a))
      simt::launch(config, reduction_tiles<RowReduction, row_access::aligned, Threads>, a, of_row, tile_size, partials);
    else
      simt::launch(config, reduction_tiles<RowReduction, row_access::peeled, Threads>, a, of_row, tile_size, partials);
  });
}

// Small blocks with much work spend the least time on merging. If merging is cheap, large blocks that start all reads
// of a row at once are as fast, and for a few rows faster on some GPUs.
template <class RowReduction>
void reduce_by_tiles(const reduction_arguments<RowReduction>& a, simt::stream_t stream) {
  if (reduction_is_16_bit<RowReduction> && a.cols > k_reduction_warp_cols && a.cols <= 2 * k_reduction_warp_cols)
    return reduce_by_warp(a, stream);
  if (!reduction_is_16_bit<RowReduction> && !RowReduction::k_expensive && a.cols > k_reduction_tiles_cols / 2 &&
      a.cols <= k_reduction_tiles_cols)
    return launch_reduction_tiles<RowReduction, k_reduction_large_tiles_threads>(a, stream);
  launch_reduction_tiles<RowReduction, k_reduction_tiles_threads>(a, stream);
}

// Large blocks hold a longer row in one tile, which saves the second launch. For expensive reductions of 16-bit
// elements small blocks are as fast. They are also as fast for the sum of 1024 rows that are one tile of a small block
// each, because all their reads start at once (64.2 to 63.4 us at 65536 columns on an H200).
template <class RowReduction>
void reduce_by_large_tiles(const reduction_arguments<RowReduction>& a, simt::stream_t stream) {
  constexpr int k_small_tile = k_reduction_chunks * k_reduction_tiles_threads * k_reduction_tile_values;
  constexpr int64_t k_least_blocks = (1 << 17) / k_reduction_tiles_threads, k_most_blocks = 8 * 132;
  if (!RowReduction::k_expensive && sizeof(typename RowReduction::element) == 4 && a.rows >= k_least_blocks &&
      a.rows <= k_most_blocks && tiles_of_rows(a.x, a.ldx, a.rows, a.cols, k_small_tile) == 1)
    return launch_reduction_tiles<RowReduction, k_reduction_tiles_threads>(a, stream);
  constexpr int k_threads = reduction_is_16_bit<RowReduction> && RowReduction::k_expensive
                                ? k_reduction_tiles_threads
                                : k_reduction_large_tiles_threads;
  if (reduction_is_16_bit<RowReduction> && a.cols > k_reduction_tiles_cols && a.cols <= 2 * k_reduction_tiles_cols)
    return launch_reduction_tiles<RowReduction, k_reduction_tiles_threads>(a, stream);
  launch_reduction_tiles<RowReduction, k_threads>(a, stream);
}

// Row lengths at which lanes, vectors, chunks or tiles change.
constexpr int64_t k_reduction_boundaries[] = {1,    2,    4,    8,    16,    32,    64,    128,    256,   512,
                                              1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 135168};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
