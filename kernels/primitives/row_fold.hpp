// One value per row, in one pass over it, for rows of any length and number.
//
// A Fold says what is computed:
//   element, partial, result          types; partial is trivially copyable, its size a multiple of 4
//   none()                            the partial of no element
//   absorb(partial, slice, value, begin)  takes in a lane's values (row_access.hpp) of a row that starts at `begin`
//   over_lanes<Lanes>(partial)        the partial of `Lanes` neighbouring lanes, in each of them, with the same bits
//   collect(partials, first, last, step)  that of every step-th of an array of partials
//   finish(partial)                   the result
//   k_dear                            whether taking in values and merging partials cost so much that they show beside
//                                     the time of reading; if so, absorb looks at the values alone, and there is
//   over_row<Lanes>(value)            the partial of a row whose values `Lanes` neighbouring lanes hold, as over_lanes
//   of_warp(value, partial)           likewise of a warp, by a short cut; false where that is not accurate enough
// A fold of two partials, merge(a, b), gets over_lanes and collect from merging_fold.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/primitives/grid.hpp"
#include "kernels/primitives/reduce.hpp"
#include "kernels/primitives/row_access.hpp"
#include "kernels/primitives/row_tile.hpp"
#include "kernels/primitives/shuffle.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

template <class Fold>
struct fold_arguments {
  const typename Fold::element* x;
  int64_t ldx;
  typename Fold::result* y;  // one per row
  int64_t rows;
  int64_t cols;
};

// For folds whose partials merge two by two. `merge` is commutative, so that a butterfly gives every lane the same
// bits.
template <class Fold, class Partial>
struct merging_fold {
  template <int Lanes>
  __device__ static Partial over_lanes(Partial mine) {
#pragma unroll
    for (int offset = Lanes / 2; offset > 0; offset /= 2) mine = Fold::merge(mine, shuffle_xor(mine, offset));
    return mine;
  }
  __device__ static Partial collect(const Partial* partials, int64_t first, int64_t last, int64_t step) {
    Partial all = Fold::none();
    for (int64_t i = first; i < last; i += step) all = Fold::merge(all, partials[i]);
    return all;
  }
};

// The result in thread 0 is that of the block. `scratch` holds k_max_warps partials; another barrier must pass before
// it is used again.
template <class Fold>
__device__ inline typename Fold::partial merge_block(typename Fold::partial mine, typename Fold::partial* scratch) {
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
  const int warps = static_cast<int>(blockDim.x) / k_warp_size;
  mine = Fold::template over_lanes<k_warp_size>(mine);
  if (warps == 1) return mine;
  if (lane == 0) scratch[threadIdx.x / k_warp_size] = mine;
  __syncthreads();
  mine = Fold::none();
  if (lane < warps) mine = scratch[lane];
  return Fold::template over_lanes<k_warp_size>(mine);
}

constexpr int k_fold_lanes_threads = 128;
constexpr int k_fold_lanes_values = 32;  // of a lane at a time

constexpr int k_fold_tile_values = 32;  // of a thread at a time
constexpr int k_fold_parts = 16;        // of the largest tile: bounds the chain of merges
constexpr int k_fold_dear_parts = 8;    // the same where merging loses accuracy
constexpr int k_fold_tiles_threads = 128;
constexpr int k_fold_wide_threads = 512;

constexpr int k_fold_ahead_threads = 128;
constexpr int k_fold_ahead_blocks = 4;  // of a multiprocessor: all that the registers of two parts leave room for
constexpr int k_fold_ahead_groups = 4;  // of the largest tile, of k_fold_dear_parts parts: bounds the chain of merges

// A part of such elements has half the bytes, so that merging counts twice.
template <class Fold>
constexpr bool fold_is_16_bit = sizeof(typename Fold::element) == 2;

template <class Fold, int Values>
constexpr int fold_vectors = Values / row_vector<typename Fold::element>::k_width;

// `Lanes` lanes take a row, a warp 32/Lanes * Rows neighbouring rows at a time, `Rows` of them in flight per lane.
// Reads a row once; no barrier. With Rows > 1 the lanes hold a whole row.
template <class Fold, row_access Access, int Lanes, int Vectors, int Rows>
__global__ void __launch_bounds__(k_fold_lanes_threads) fold_lanes(fold_arguments<Fold> a) {
  using slice_type = row_slice<typename Fold::element, Access, Vectors>;
  constexpr int k_groups = k_warp_size / Lanes;
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const int group = static_cast<int>(threadIdx.x) % k_warp_size / Lanes;
  const int64_t warp = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / k_warp_size;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * blockDim.x / k_warp_size;
  const int cols = static_cast<int>(a.cols);
  // A row past the last is empty: its lanes stay alive for the shuffles and touch nothing.
  const auto slice_of = [&](int64_t r, int part) {
    const bool exists = r < a.rows;
    return slice_type(a.x + (exists ? r * a.ldx : 0), exists ? cols : 0, lane, Lanes, part);
  };
  for (int64_t base = warp * k_groups * Rows; base < a.rows; base += warps * k_groups * Rows) {
    const int64_t first = base + group;
    wide_type<typename Fold::element> value[Rows][slice_type::k_values];
#pragma unroll
    for (int j = 0; j < Rows; ++j) slice_of(first + j * k_groups, 0).load(value[j]);
    typename Fold::partial of_row[Rows];
#pragma unroll
    for (int j = 0; j < Rows; ++j) {
      if constexpr (Rows > 1 && Fold::k_dear) {
        of_row[j] = Fold::template over_row<Lanes>(value[j]);
      } else {
        // Worth asking where instructions limit.
        if constexpr (Lanes == k_warp_size && fold_is_16_bit<Fold> && Fold::k_dear)
          if (cols / slice_type::k_width <= Lanes * Vectors && Fold::of_warp(value[j], of_row[j])) continue;
        const int64_t r = first + j * k_groups;
        of_row[j] = Fold::none();
        Fold::absorb(of_row[j], slice_of(r, 0), value[j], 0);
        if constexpr (Rows == 1) {
          for (int part = 1; part * Lanes * Vectors < cols / slice_type::k_width; ++part) {
            const slice_type slice = slice_of(r, part);
            slice.load(value[j]);
            Fold::absorb(of_row[j], slice, value[j], 0);
          }
        }
        of_row[j] = Fold::template over_lanes<Lanes>(of_row[j]);
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
      if (k + lane < Rows && r < a.rows) store_element(a.y + r, Fold::finish(mine));
    }
  }
}

// Takes in the values that a thread has in a part of a tile, which starts at `begin` of its row.
template <class Fold, row_access Access, int Threads>
__device__ inline void absorb_part(typename Fold::partial& all, const typename Fold::element* tile, int cols, int part,
                                   int64_t begin) {
  using slice_type = row_slice<typename Fold::element, Access, fold_vectors<Fold, k_fold_tile_values>>;
  const slice_type slice(tile, cols, static_cast<int>(threadIdx.x), Threads, part);
  wide_type<typename Fold::element> value[slice_type::k_values];
  slice.load(value);
  Fold::absorb(all, slice, value, begin);
}

// A block takes a tile of a row, k_fold_tile_values elements a thread at a time; `partials` (rows x tiles) is nullptr
// where a row is one tile. A block for each tile. One barrier.
template <class Fold, row_access Access, int Threads>
__global__ void __launch_bounds__(Threads)
    fold_tiles(fold_arguments<Fold> a, unsigned tiles, int tile_size, typename Fold::partial* partials) {
  constexpr int k_part = Threads * k_fold_tile_values;
  SIMT_SHARED(scratch, typename Fold::partial[k_max_warps]);
  // A row of one tile needs no division before its first read.
  const auto* row = a.x + blockIdx.x * a.ldx;
  int64_t begin = 0;
  int cols = static_cast<int>(a.cols);
  if (partials != nullptr) {
    simt::let_next_start();
    row = a.x + blockIdx.x / tiles * a.ldx;
    const row_tile<typename Fold::element> tile(row, a.cols, blockIdx.x % tiles, tile_size);
    begin = tile.begin;
    cols = tile.cols;
  }
  auto partial = Fold::none();
  int part = 0;
  if constexpr (Access == row_access::aligned && !Fold::k_dear)  // where looking for each vector shows
    for (; (part + 1) * k_part <= cols; ++part)
      absorb_part<Fold, row_access::whole, Threads>(partial, row + begin, cols, part, begin);
  // Of a misaligned row the first and the last tile alone have ends, whose single elements cost as much as a vector's.
  if constexpr (Access == row_access::peeled && Fold::k_dear)
    if (cols == tile_size && edge_phase(row + begin, edge_of<typename Fold::element>(Threads)) == 0)
      for (; part < cols / k_part; ++part)
        absorb_part<Fold, row_access::whole, Threads>(partial, row + begin, cols, part, begin);
  for (; part * k_part < cols; ++part) absorb_part<Fold, Access, Threads>(partial, row + begin, cols, part, begin);
  partial = merge_block<Fold>(partial, scratch);
  if (threadIdx.x != 0) return;
  if (partials != nullptr)
    partials[blockIdx.x] = partial;
  else
    a.y[blockIdx.x] = Fold::finish(partial);
}

// The same for aligned rows and dear folds, with blocks that stay: the next part, of this tile or another, is on its
// way while one is taken in. tile_size: at most k_fold_ahead_groups groups of k_fold_dear_parts parts.
template <class Fold>
__global__ void __launch_bounds__(k_fold_ahead_threads, k_fold_ahead_blocks)
    fold_ahead(fold_arguments<Fold> a, int64_t tiles, int tile_size, typename Fold::partial* partials) {
  using element = typename Fold::element;
  using slice_type = row_slice<element, row_access::aligned, fold_vectors<Fold, k_fold_tile_values>>;
  constexpr int k_part = k_fold_ahead_threads * slice_type::k_values;
  static_assert(std::is_same_v<element, wide_type<element>>, "a conversion would wait for what is on its way");
  SIMT_SHARED(scratch, typename Fold::partial[2][k_max_warps]);
  if (partials != nullptr) simt::let_next_start();
  const bool grouped = tile_size > k_fold_dear_parts * k_part && a.cols > k_fold_dear_parts * k_part;
  // What is read next.
  int64_t i = blockIdx.x;
  const element* tile = nullptr;
  int cols = 0, part = 0;
  const auto enter = [&] {
    int64_t row = i, begin = 0;
    if (tiles > 1) {
      row = i / tiles;
      begin = i % tiles * tile_size;
    }
    tile = a.x + row * a.ldx + begin;
    cols = static_cast<int>(tile_size < a.cols - begin ? tile_size : a.cols - begin);
  };
  const auto slice_of = [&] {
    return slice_type(tile, cols, static_cast<int>(threadIdx.x), k_fold_ahead_threads, part);
  };
  enter();
  element next[slice_type::k_values];
  slice_of().load(next);
  auto of_groups = Fold::none(), partial = Fold::none();
  int turn = 0;
  for (bool more = true; more;) {
    element value[slice_type::k_values];
#pragma unroll
    for (int k = 0; k < slice_type::k_values; ++k) value[k] = next[k];
    const slice_type slice = slice_of();
    const int64_t of_value = i;
    const bool ends = (part + 1) * k_part >= cols;
    if (ends) {
      i += gridDim.x;
      part = 0;
      more = i < a.rows * tiles;
      if (more) enter();
    } else {
      ++part;
    }
    if (more) slice_of().load(next);
    Fold::absorb(partial, slice, value, 0);
    if (grouped && part % k_fold_dear_parts == 0) {
      const typename Fold::partial both[2] = {of_groups, partial};
      of_groups = Fold::collect(both, 0, 2, 1);
      partial = ends ? of_groups : Fold::none();
    }
    if (ends) {
      partial = merge_block<Fold>(partial, scratch[turn]);
      turn ^= 1;
      if (threadIdx.x == 0) {
        if (partials != nullptr)
          partials[of_value] = partial;
        else
          a.y[of_value] = Fold::finish(partial);
      }
      partial = of_groups = Fold::none();
    }
  }
}

constexpr int k_fold_merge_threads = 256;

// Merges the tiles of the row of each block, in an order that depends on their number alone. So long are rows of
// several tiles that the grid holds a block for each that fits a memory.
template <class Fold>
__global__ void __launch_bounds__(k_fold_merge_threads)
    fold_merge(fold_arguments<Fold> a, int64_t tiles, const typename Fold::partial* partials) {
  SIMT_SHARED(scratch, typename Fold::partial[k_max_warps]);
  const int64_t r = blockIdx.x;
  simt::wait_for_previous();
  const auto partial = merge_block<Fold>(Fold::collect(partials + r * tiles, threadIdx.x, tiles, blockDim.x), scratch);
  if (threadIdx.x == 0) a.y[r] = Fold::finish(partial);
}

// Rows up to this long are folded by lanes of one warp, by tiles, and longer ones by wide tiles.
// Those of 16 bits change over at twice these lengths, within the calls of the next.
constexpr int64_t k_fold_lanes_cols = 2048;
constexpr int64_t k_fold_tiles_cols = 16384;

template <class Fold, row_access Access, int Lanes, int Vectors>
void launch_fold_lanes(const fold_arguments<Fold>& a, simt::stream_t stream) {
  // Enough elements in flight per lane to cover the latency of memory.
  constexpr int k_in_flight = k_fold_lanes_values / (Vectors * access_width<typename Fold::element, Access>);
  // Measured on an H200: with three rows, registers leave room for more blocks where that counts.
  constexpr int k_most_rows = Access == row_access::aligned && Lanes == 8  ? 8
                              : Fold::k_dear && Lanes == 4 && Vectors == 2 ? 3
                                                                           : 4;
  constexpr int k_rows = Lanes == k_warp_size ? 1 : k_in_flight < k_most_rows ? k_in_flight : k_most_rows;
  // Rows that would leave multiprocessors idle go in blocks of one warp and not eight at a time. The bits of a result
  // depend on neither.
  constexpr int k_few_rows = k_rows == 8 ? 2 : k_rows;
  const auto blocks_of = [&](int threads, int rows) { return ceil_div(a.rows, int64_t{threads} / Lanes * rows); };
  const int64_t blocks = blocks_of(k_fold_lanes_threads, k_rows);
  if (blocks < 2 * simt::device_properties(stream).sm_count)
    simt::launch({grid_size(blocks_of(k_warp_size, k_few_rows), stream), k_warp_size, 0, stream},
                 fold_lanes<Fold, Access, Lanes, Vectors, k_few_rows>, a);
  else
    simt::launch({grid_size(blocks, stream), k_fold_lanes_threads, 0, stream},
                 fold_lanes<Fold, Access, Lanes, Vectors, k_rows>, a);
}

// For rows of any length, meant for up to k_fold_lanes_cols elements.
template <class Fold>
void fold_by_lanes(const fold_arguments<Fold>& a, simt::stream_t stream) {
  constexpr auto k_aligned = row_access::aligned;
  constexpr auto k_scalar = row_access::scalar;
  constexpr int k_most = fold_vectors<Fold, k_fold_lanes_values>;
  const int64_t vectors = a.cols / row_vector<typename Fold::element>::k_width;
  if (has_aligned_rows(a)) {
    if (vectors <= 1) return launch_fold_lanes<Fold, k_aligned, 1, 1>(a, stream);
    // Lanes side by side read whole lines; where merging is dear, few lanes with many values each come out ahead.
    constexpr bool k_dear = Fold::k_dear;
    if (vectors <= 4) return launch_fold_lanes < Fold, k_aligned, k_dear ? 1 : 4, k_dear ? 4 : 1 > (a, stream);
    if (vectors <= 8) return launch_fold_lanes < Fold, k_aligned, k_dear ? 4 : 8, k_dear ? 2 : 1 > (a, stream);
    if (vectors <= 16) return launch_fold_lanes<Fold, k_aligned, 4, 4>(a, stream);
    if (vectors <= 32) return launch_fold_lanes<Fold, k_aligned, 8, 4>(a, stream);
    if (vectors <= 64) return launch_fold_lanes<Fold, k_aligned, 8, k_most>(a, stream);
    return launch_fold_lanes<Fold, k_aligned, k_warp_size, k_most>(a, stream);
  }
  if (a.cols <= 4) return launch_fold_lanes<Fold, k_scalar, 1, 4>(a, stream);
  if (a.cols <= 16) return launch_fold_lanes<Fold, k_scalar, 4, 4>(a, stream);
  if (a.cols <= 64) return launch_fold_lanes<Fold, k_scalar, 16, 4>(a, stream);
  // So few lanes that each end of a row, of less than a vector, finds a lane for each of its elements.
  constexpr int k_few = 2 * row_vector<typename Fold::element>::k_width;
  if (vectors <= 32) return launch_fold_lanes<Fold, row_access::peeled, k_few, 32 / k_few>(a, stream);
  if (vectors <= 64) return launch_fold_lanes<Fold, row_access::peeled, k_few, 64 / k_few>(a, stream);
  launch_fold_lanes<Fold, row_access::peeled, k_warp_size, k_most>(a, stream);
}

// `launch` gets the partials of all tiles, rows x tiles, or nullptr where a row is one tile.
template <class Fold, class Launch>
void launch_and_merge(const fold_arguments<Fold>& a, int64_t tiles, simt::stream_t stream, const Launch& launch) {
  if (tiles == 1) return launch(nullptr);
  const simt::small_buffer<typename Fold::partial> partials(static_cast<size_t>(a.rows * tiles), stream);
  launch(partials.data());
  const int64_t mergers = std::min<int64_t>(ceil_div(tiles, k_warp_size) * k_warp_size, k_fold_merge_threads);
  simt::launch_config merge{static_cast<unsigned>(a.rows), static_cast<unsigned>(mergers), 0, stream};
  merge.overlaps = true;  // its start costs as much as its work
  simt::launch(merge, fold_merge<Fold>, a, tiles, static_cast<const typename Fold::partial*>(partials.data()));
}

// For aligned rows of any length.
template <class Fold>
void launch_fold_ahead(const fold_arguments<Fold>& a, simt::stream_t stream) {
  constexpr int k_part = k_fold_ahead_threads * k_fold_tile_values;
  // What the block with the most to do has to do on 132 multiprocessors, in eighths of a part: a tile costs one of
  // these beside its parts, the launch that merges tiles 8. Not by the number of multiprocessors here, so that the bits
  // of a result do not depend on it.
  constexpr int64_t k_blocks = 132 * k_fold_ahead_blocks;
  int tile_size = 0;
  int64_t least = INT64_MAX;
  for (int parts = k_fold_ahead_groups * k_fold_dear_parts; parts > 0; parts /= 2) {
    const int64_t tiles = ceil_div(a.cols, parts * k_part);
    const int64_t parts_of_tile = std::min<int64_t>(parts, ceil_div(a.cols, k_part));
    const int64_t cost = ceil_div(a.rows * tiles, k_blocks) * (8 * parts_of_tile + 1) + (tiles > 1 ? 8 : 0);
    if (cost >= least) continue;
    least = cost;
    tile_size = parts * k_part;
  }
  const int64_t tiles = ceil_div(a.cols, tile_size);
  const int64_t staying = int64_t{k_fold_ahead_blocks} * simt::device_properties(stream).sm_count;
  const simt::launch_config config{static_cast<unsigned>(std::min(a.rows * tiles, staying)), k_fold_ahead_threads, 0,
                                   stream};
  launch_and_merge(a, tiles, stream, [&](typename Fold::partial* partials) {
    simt::launch(config, fold_ahead<Fold>, a, tiles, tile_size, partials);
  });
}

// For rows of any length: in blocks of `Threads`, in tiles that give the device about 2^17 threads; where fold_ahead
// takes the rows, as it wants them.
template <class Fold, int Threads>
void launch_fold_tiles(const fold_arguments<Fold>& a, simt::stream_t stream) {
  if constexpr (Fold::k_dear && std::is_same_v<typename Fold::element, float>)
    if (has_aligned_rows(a) && a.cols > k_fold_ahead_threads * k_fold_tile_values) return launch_fold_ahead(a, stream);
  // A grid has a block for each tile, and fewer than 2^31 of them; so many rows are of one tile each.
  constexpr int64_t k_most_rows = int64_t{1} << 30;
  if (a.rows > k_most_rows) {
    const int64_t half = a.rows / 2;
    launch_fold_tiles<Fold, Threads>({a.x, a.ldx, a.y, half, a.cols}, stream);
    return launch_fold_tiles<Fold, Threads>({a.x + half * a.ldx, a.ldx, a.y + half, a.rows - half, a.cols}, stream);
  }
  constexpr int64_t k_blocks = (1 << 17) / Threads;
  const auto tiles_of = [&](int tile_size) { return tiles_of_rows(a.x, a.ldx, a.rows, a.cols, tile_size); };
  int tile_size = (Fold::k_dear ? k_fold_dear_parts : k_fold_parts) * Threads * k_fold_tile_values;
  while (tile_size > Threads * k_fold_tile_values && a.rows * tiles_of(tile_size) < k_blocks) tile_size /= 2;
  const int64_t tiles = tiles_of(tile_size);
  const simt::launch_config config{static_cast<unsigned>(a.rows * tiles), Threads, 0, stream};
  launch_and_merge(a, tiles, stream, [&](typename Fold::partial* partials) {
    const auto of_row = static_cast<unsigned>(tiles);
    if (has_aligned_rows(a))
      simt::launch(config, fold_tiles<Fold, row_access::aligned, Threads>, a, of_row, tile_size, partials);
    else
      simt::launch(config, fold_tiles<Fold, row_access::peeled, Threads>, a, of_row, tile_size, partials);
  });
}

// Small blocks with much to do spend least on merging. Where that is cheap, large ones that have all of a row on its
// way at once are as fast, faster on some GPUs, and much so for a few rows.
template <class Fold>
void fold_by_tiles(const fold_arguments<Fold>& a, simt::stream_t stream) {
  if (fold_is_16_bit<Fold> && a.cols > k_fold_lanes_cols && a.cols <= 2 * k_fold_lanes_cols)
    return fold_by_lanes(a, stream);
  if (!fold_is_16_bit<Fold> && !Fold::k_dear && a.cols > k_fold_tiles_cols / 2 && a.cols <= k_fold_tiles_cols)
    return launch_fold_tiles<Fold, k_fold_wide_threads>(a, stream);
  launch_fold_tiles<Fold, k_fold_tiles_threads>(a, stream);
}

// Large blocks hold a longer row in one tile, which spares the second launch. Dear folds of 16-bit elements are as fast
// in small ones. So is the sum of 1024 rows that are one tile of a small block each: all of them are on their way from
// the start (64.2 to 63.4 us at 65536 columns on an H200).
template <class Fold>
void fold_by_wide_tiles(const fold_arguments<Fold>& a, simt::stream_t stream) {
  constexpr int k_small_tile = k_fold_parts * k_fold_tiles_threads * k_fold_tile_values;
  constexpr int64_t k_least_blocks = (1 << 17) / k_fold_tiles_threads, k_most_blocks = 8 * 132;
  if (!Fold::k_dear && sizeof(typename Fold::element) == 4 && a.rows >= k_least_blocks && a.rows <= k_most_blocks &&
      tiles_of_rows(a.x, a.ldx, a.rows, a.cols, k_small_tile) == 1)
    return launch_fold_tiles<Fold, k_fold_tiles_threads>(a, stream);
  constexpr int k_threads = fold_is_16_bit<Fold> && Fold::k_dear ? k_fold_tiles_threads : k_fold_wide_threads;
  if (fold_is_16_bit<Fold> && a.cols > k_fold_tiles_cols && a.cols <= 2 * k_fold_tiles_cols)
    return launch_fold_tiles<Fold, k_fold_tiles_threads>(a, stream);
  launch_fold_tiles<Fold, k_threads>(a, stream);
}

// Row lengths at which lanes, vectors, parts or tiles change.
constexpr int64_t k_fold_boundaries[] = {1,    2,    4,    8,    16,    32,    64,    128,    256,   512,
                                         1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 135168};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
