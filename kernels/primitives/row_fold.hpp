// One value per row, in one pass over it, for rows of any length and number.
//
// A Fold says what is computed:
//   element, partial, result          types; partial is trivially copyable, its size a multiple of 4
//   none()                            the partial of no element
//   absorb(partial, slice, value, begin)  takes in a lane's values (row_access.hpp) of a row that starts at `begin`
//   over_lanes<Lanes>(partial)        the partial of `Lanes` neighbouring lanes, in each of them, with the same bits
//   collect(partials, first, last, step)  that of every step-th of an array of partials
//   finish(partial)                   the result
// A fold of two partials, merge(a, b), gets over_lanes and collect from merging_fold.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/primitives/grid.hpp"
#include "kernels/primitives/reduce.hpp"
#include "kernels/primitives/row_access.hpp"
#include "kernels/primitives/row_tile.hpp"

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

template <class V>
__device__ inline V shuffle_words(V value, int offset) {
  constexpr int k_words = static_cast<int>(sizeof(V) / sizeof(unsigned));
  static_assert(k_words * sizeof(unsigned) == sizeof(V), "whole words");
  unsigned words[k_words];
  memcpy(words, &value, sizeof value);
#pragma unroll
  for (int i = 0; i < k_words; ++i) words[i] = __shfl_xor_sync(k_all_lanes, words[i], offset);
  memcpy(&value, words, sizeof value);
  return value;
}

// For folds whose partials merge two by two. `merge` is commutative, so that a butterfly gives every lane the same
// bits.
template <class Fold, class Partial>
struct merging_fold {
  template <int Lanes>
  __device__ static Partial over_lanes(Partial mine) {
#pragma unroll
    for (int offset = Lanes / 2; offset > 0; offset /= 2) mine = Fold::merge(mine, shuffle_words(mine, offset));
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
  if (lane == 0) scratch[threadIdx.x / k_warp_size] = mine;
  __syncthreads();
  mine = Fold::none();
  if (lane < warps) mine = scratch[lane];
  return Fold::template over_lanes<k_warp_size>(mine);
}

constexpr int k_fold_threads = 256;
constexpr int k_fold_values = 16;                            // of a thread at a time
constexpr int k_fold_part = k_fold_threads * k_fold_values;  // elements that a block takes at a time
constexpr int k_fold_parts = 8;                              // of the largest tile: bounds the chain of merges
constexpr int64_t k_fold_blocks = 1024;                      // a row is split until there are about this many tiles

template <class Fold>
constexpr int fold_vectors = k_fold_values / row_vector<typename Fold::element>::k_width;

// `Lanes` lanes take a row. Reads the row once; no barrier.
template <class Fold, row_access Access, int Lanes, int Vectors>
__global__ void __launch_bounds__(k_fold_threads) fold_lanes(fold_arguments<Fold> a) {
  using slice_type = row_slice<typename Fold::element, Access, Vectors>;
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const int64_t group = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / Lanes;
  const int64_t groups = static_cast<int64_t>(gridDim.x) * blockDim.x / Lanes;
  const int cols = static_cast<int>(a.cols);
  // All lanes of a warp stay together: the loop runs for the warp's first group, rows beyond the last are empty.
  const int64_t first = threadIdx.x % k_warp_size / Lanes;
  for (int64_t base = group - first; base < a.rows; base += groups) {
    const int64_t r = base + first;
    const bool exists = r < a.rows;
    const auto* const row = a.x + (exists ? r * a.ldx : 0);
    auto partial = Fold::none();
    for (int part = 0; part * Lanes * Vectors * slice_type::k_width < cols; ++part) {
      const slice_type slice(row, exists ? cols : 0, lane, Lanes, part);
      wide_type<typename Fold::element> value[slice_type::k_values];
      slice.load(value);
      Fold::absorb(partial, slice, value, 0);
    }
    partial = Fold::template over_lanes<Lanes>(partial);
    if (lane == 0 && exists) a.y[r] = Fold::finish(partial);
  }
}

// A block takes a tile of a row; `partials` (rows x tiles) is nullptr where a row is one tile. One barrier per tile.
template <class Fold, row_access Access>
__global__ void __launch_bounds__(k_fold_threads)
    fold_tiles(fold_arguments<Fold> a, int64_t tiles, int tile_size, typename Fold::partial* partials) {
  using slice_type = row_slice<typename Fold::element, Access, fold_vectors<Fold>>;
  SIMT_SHARED(scratch, typename Fold::partial[2][k_max_warps]);
  int turn = 0;
  for (int64_t i = blockIdx.x; i < a.rows * tiles; i += gridDim.x, turn ^= 1) {
    const auto* const row = a.x + i / tiles * a.ldx;
    const row_tile<typename Fold::element> tile(row, a.cols, i % tiles, tile_size);
    auto partial = Fold::none();
    for (int part = 0; part * k_fold_part < tile.cols; ++part) {
      const slice_type slice(row + tile.begin, tile.cols, static_cast<int>(threadIdx.x), k_fold_threads, part);
      wide_type<typename Fold::element> value[slice_type::k_values];
      slice.load(value);
      Fold::absorb(partial, slice, value, tile.begin);
    }
    partial = merge_block<Fold>(partial, scratch[turn]);
    if (threadIdx.x == 0) {
      if (partials != nullptr)
        partials[i] = partial;
      else
        a.y[i] = Fold::finish(partial);
    }
  }
}

// Merges the tiles of the row of each block, in an order that depends on their number alone. So long are rows of
// several tiles that the grid holds a block for each that fits a memory.
template <class Fold>
__global__ void __launch_bounds__(k_fold_threads)
    fold_merge(fold_arguments<Fold> a, int64_t tiles, const typename Fold::partial* partials) {
  SIMT_SHARED(scratch, typename Fold::partial[k_max_warps]);
  const int64_t r = blockIdx.x;
  const auto partial = merge_block<Fold>(Fold::collect(partials + r * tiles, threadIdx.x, tiles, blockDim.x), scratch);
  if (threadIdx.x == 0) a.y[r] = Fold::finish(partial);
}

// Rows up to this long are folded by lanes of one warp.
constexpr int64_t k_fold_lanes_cols = 2048;

template <class Fold, row_access Access, int Lanes, int Vectors>
void launch_fold_lanes(const fold_arguments<Fold>& a, simt::stream_t stream) {
  simt::launch({grid_size(ceil_div(a.rows, k_fold_threads / Lanes), stream), k_fold_threads, 0, stream},
               fold_lanes<Fold, Access, Lanes, Vectors>, a);
}

template <class Fold>
bool fold_is_aligned(const fold_arguments<Fold>& a) {
  constexpr int64_t k_width = row_vector<typename Fold::element>::k_width;
  return phase_of(a.x) == 0 && a.cols % k_width == 0 && (a.ldx % k_width == 0 || a.rows == 1);
}

// For rows of any length, meant for up to k_fold_lanes_cols elements.
template <class Fold>
void fold_by_lanes(const fold_arguments<Fold>& a, simt::stream_t stream) {
  constexpr auto k_aligned = row_access::aligned;
  constexpr auto k_scalar = row_access::scalar;
  if (fold_is_aligned(a)) {
    const int64_t vectors = a.cols / row_vector<typename Fold::element>::k_width;
    if (vectors <= 1) return launch_fold_lanes<Fold, k_aligned, 1, 1>(a, stream);
    if (vectors <= 4) return launch_fold_lanes<Fold, k_aligned, 4, 1>(a, stream);
    if (vectors <= 8) return launch_fold_lanes<Fold, k_aligned, 4, 2>(a, stream);
    if (vectors <= 16) return launch_fold_lanes<Fold, k_aligned, 8, 2>(a, stream);
    if (vectors <= 64) return launch_fold_lanes<Fold, k_aligned, k_warp_size, 2>(a, stream);
    return launch_fold_lanes<Fold, k_aligned, k_warp_size, fold_vectors<Fold>>(a, stream);
  }
  if (a.cols <= 4) return launch_fold_lanes<Fold, k_scalar, 1, 4>(a, stream);
  if (a.cols <= 16) return launch_fold_lanes<Fold, k_scalar, 4, 4>(a, stream);
  if (a.cols <= 64) return launch_fold_lanes<Fold, k_scalar, 16, 4>(a, stream);
  launch_fold_lanes<Fold, row_access::peeled, k_warp_size, fold_vectors<Fold>>(a, stream);
}

// For rows of any length.
template <class Fold>
void fold_by_tiles(const fold_arguments<Fold>& a, simt::stream_t stream) {
  int parts = k_fold_parts;
  while (parts > 1 && a.rows * tiles_of_row(a.cols, parts * k_fold_part) < k_fold_blocks) parts /= 2;
  const int tile_size = parts * k_fold_part;
  const int64_t tiles = tiles_of_row(a.cols, tile_size);
  const simt::launch_config config{grid_size(a.rows * tiles, stream), k_fold_threads, 0, stream};
  const auto run = [&](typename Fold::partial* partials) {
    if (fold_is_aligned(a))
      simt::launch(config, fold_tiles<Fold, row_access::aligned>, a, tiles, tile_size, partials);
    else
      simt::launch(config, fold_tiles<Fold, row_access::peeled>, a, tiles, tile_size, partials);
  };
  if (tiles == 1) return run(nullptr);
  const simt::buffer<typename Fold::partial> partials(static_cast<size_t>(a.rows * tiles), stream);
  run(partials.data());
  simt::launch({static_cast<unsigned>(a.rows), k_fold_threads, 0, stream}, fold_merge<Fold>, a, tiles,
               static_cast<const typename Fold::partial*>(partials.data()));
}

// Row lengths at which lanes, vectors, parts or tiles change.
constexpr int64_t k_fold_boundaries[] = {1,   2,    4,    8,    16,   32,    64,    128,   256,
                                         512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072};
constexpr int32_t k_num_fold_boundaries = static_cast<int32_t>(sizeof k_fold_boundaries / sizeof k_fold_boundaries[0]);

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
