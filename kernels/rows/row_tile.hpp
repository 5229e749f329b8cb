// A thread's work on a tile of a row that its block keeps, with k_tile_vectors vectors per thread: it copies the tile
// to a slot of shared memory, sums it up there, and writes the results. A thread accesses only its own elements, so
// tiles need no barrier. RowOp: see row_tile_pair.hpp.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/primitives/reduce.hpp"
#include "kernels/rows/argmax_key.hpp"
#include "kernels/rows/row_access.hpp"
#include "kernels/rows/row_chunk.hpp"
#include "kernels/rows/row_team.hpp"
#include "kernels/rows/row_tiling.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_tile_vectors = 4;  // of a thread, in a tile

template <class T, int Threads>
using tile_slot = row_vector<T>[k_tile_vectors][Threads];

template <class T, int Threads>
constexpr int tile_elements = k_tile_vectors* Threads* row_vector<T>::k_width;  // elements

// The place of a tile of a row.
template <class T>
struct tile_place {
  const T* x;
  T* y;
  int64_t begin;  // index in the row
  int cols;
  int offset = 0;  // of a whole tile: elements between x or y and the place of the tile
};

// A slice of which every vector exists, and nothing else.
template <class T, int Threads>
struct whole_slice {
  static constexpr int k_width = row_vector<T>::k_width;
  int offset;
  // Written in this order, because ptxas 13.0 then keeps less in registers than with the thread's first place as a sum.
  __device__ int start(int k) const { return offset + (k * Threads + static_cast<int>(threadIdx.x)) * k_width; }
  __device__ bool has(int) const { return true; }
};

// Kinds of tiles: whole, with an alignment that permits vector stores; the first or the last of a row whose other tiles
// are whole; or any tile, possibly with an argmax.
enum class tile_kind { whole, end, any };

template <class RowOp, class T, int Threads, tile_kind Kind>
class tile_ops {
 public:
  using arguments = typename RowOp::template arguments<T>;
  using partial = typename RowOp::partial;
  using result = typename RowOp::template result<T>;
  using slot = tile_slot<T, Threads>;
  using vectors = row_vector<T>[k_tile_vectors];

  // Copies in the caller's open group of asynchronous copies. `keep_in_l2`: the tile is read once more soon, or see
  // load_policy.
  __device__ static void copy(const tile_place<T>& at, slot& to, bool keep_in_l2) {
    // Single elements are read when they are needed, and the team would then wait for them.
    if constexpr (k_has_single)
      if (const int index = slice_of(at).single(); index >= 0) simt::prefetch(at.x + index);
    if (keep_in_l2)
      copy_slice<cache_hint::keep_in_l2>(slice_of(at), at.x, to);
    else
      copy_slice<cache_hint::evict_first>(slice_of(at), at.x, to);
  }

  // The warp's partial, in every lane. `argmax_key`, if an argmax is requested, gets the tile's key.
  __device__ static partial sum_up(const tile_place<T>& at, const slot& from, bool argmax,
                                   tile_argmax_key& argmax_key) {
    const auto slice = slice_of(at);
    const float single = single_of(at);
    float value[k_steps][k_chunk_values], own = single;
#pragma unroll
    for (int i = 0; i < k_steps; ++i) {
      read_chunk(slice, from, i * k_step, value[i]);
      const float of_step = max_of_values(value[i]);
      own = i == 0 && !k_has_single ? of_step : max_of()(own, of_step);
    }
    const float maximum = k_whole ? warp_maximum(own) : lane_reduce<k_warp_size>(own, max_of());
    const float alone[1] = {single};
    float terms = k_has_single ? RowOp::terms(alone, -INFINITY, maximum) : 0.0f;
    float held_out_max = single;
#pragma unroll
    for (int i = 0; i < k_steps; ++i) {
      const float of_step = RowOp::terms(value[i], held_out_max, maximum);
      terms = i == 0 && !k_has_single ? of_step : terms + of_step;
      if (i + 1 < k_steps) held_out_max = RowOp::held_out_max(held_out_max, value[i]);
    }
    if constexpr (Kind == tile_kind::any) {
      if (argmax) {
        int best = argmax_key_of(single, slice.single(), maximum);
#pragma unroll
        for (int i = 0; i < k_steps; ++i)
          best = min_of<int>()(best, argmax_key_of_chunk(slice, i * k_step, value[i], maximum));
        argmax_key.offer({maximum, shift_argmax_key(lane_reduce<k_warp_size>(best, min_of<int>()), at.begin)});
      }
    }
    return RowOp::over_warp(own, terms, maximum);
  }

  // Takes padding where the row has no vector.
  __device__ static void take(const tile_place<T>& at, const slot& from, vectors& to) {
    const auto slice = slice_of(at);
#pragma unroll
    for (int k = 0; k < k_tile_vectors; ++k) to[k] = slice.has(k) ? from[k][threadIdx.x] : padding_vector<T>();
  }

  __device__ static void write(const tile_place<T>& at, const vectors& from, const result& of_row) {
    const auto slice = slice_of(at);
    const bool by_vector = Kind != tile_kind::any || misalignment_of(at.y + slice.start(0)) == 0;
#pragma unroll
    for (int i = 0; i < k_steps; ++i) {
      float value[k_chunk_values];
      widen_chunk(from, i * k_step, value);
      write_chunk(slice, i * k_step, of_row, value, at.y, by_vector);
    }
    if constexpr (k_has_single)
      if (slice.single() >= 0) store_element(at.y + slice.single(), simt::from_float<T>(of_row(single_of(at))));
  }

 private:
  static constexpr int k_step = chunk_vectors<T>;  // vectors that are looked at at a time
  static constexpr int k_steps = k_tile_vectors / k_step;
  static constexpr bool k_whole = Kind == tile_kind::whole;
  static constexpr bool k_has_single = !k_whole;

  __device__ static auto slice_of(const tile_place<T>& at) {
    if constexpr (k_whole)
      return whole_slice<T, Threads>{at.offset};
    else
      return row_slice<T, row_access::peeled, k_tile_vectors>(at.x, at.cols, static_cast<int>(threadIdx.x), Threads);
  }

  // The lane's single element at an end of the row; -Inf if there is none.
  __device__ static float single_of(const tile_place<T>& at) {
    if constexpr (!k_has_single) {
      return -INFINITY;
    } else {
      const int index = slice_of(at).single();
      return index >= 0 ? widen(load_element<load_policy<T>>(at.x + index)) : -INFINITY;
    }
  }
};

// Tile t, of `tile_size` elements, of row r.
template <class T, class Arguments>
__device__ inline tile_place<T> place_of(const Arguments& a, int64_t r, int64_t t, int tile_size) {
  const T* const x = a.x + r * a.ldx;
  const row_tile<T> tile(x, a.cols, t, tile_size);
  return {x + tile.begin, a.y + r * a.ldy + tile.begin, tile.begin, tile.cols > 0 ? tile.cols : 0};
}

// Tiles [begin, end) of every row are whole, and every row of y is aligned there, so that vectors can be written.
struct whole_tiles {
  int64_t begin, end;
  __host__ __device__ bool has(int64_t t) const { return t >= begin && t < end; }
  __host__ __device__ int64_t count() const { return end - begin; }
  // The i-th tile that is not among them.
  __host__ __device__ int64_t other(int64_t i) const { return i < begin ? i : i + count(); }
};
template <class T, class Arguments>
__host__ __device__ inline whole_tiles whole_tiles_of(const Arguments& a, int tile_size) {
  const bool alike = a.rows == 1 || (a.ldx % k_edge == 0 && a.ldy % row_vector<T>::k_width == 0);
  const int64_t begin = row_tile<T>(a.x, a.cols, 0, tile_size).cols == tile_size ? 0 : 1;
  const row_tile<T> tile(a.x, a.cols, begin, tile_size);
  if (!alike || tile.cols < tile_size || misalignment_of(a.y + tile.begin) != 0) return {0, 0};
  return {begin, begin + (a.cols - tile.begin) / tile_size};
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
