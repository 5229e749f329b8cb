// A row that several blocks keep, each with a tile in registers and another one in shared memory. So more blocks fit on
// a multiprocessor, and some load or write while others compute or wait.
//
// A RowOp defines the computation:
//   arguments<T>, partial             types; a partial is what pack_partial takes
//   terms(value, held_out_max, maximum)
//                                     the sum of a lane's terms relative to `maximum`, the warp's; `held_out_max` is
//                                     the largest of the lane's values before these
//   over_warp(own, terms, maximum)    the warp's partial, of lanes with the maxima `own`, in every lane
//   held_out_max(held_out_max, value) the larger of it and the largest of `value`, where terms looks at it
//   combine(partials, count)          that of several, by a warp; one rescale per term
//   result<T>                         made of a row's partial: the function of a value that is written
//   argmax(arguments)                 where the index of each row's maximum goes, or nullptr
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/primitives/reduce.hpp"
#include "kernels/rows/argmax_key.hpp"
#include "kernels/rows/row_access.hpp"
#include "kernels/rows/row_chunk.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_tile_pair_values = 32;  // of a thread in registers, and as many in shared memory, of each row

template <class T>
constexpr int tile_pair_vectors = k_tile_pair_values / row_vector<T>::k_width;

template <class T, int Threads>
using stored_tile = row_vector<T>[tile_pair_vectors<T>][Threads];

// The part of a row that a thread keeps in registers.
template <class T>
struct register_tile {
  row_vector<T> vector[tile_pair_vectors<T>];
  float single;

  // Called between two passes over the vectors. It makes the compiler widen 16-bit values again, because there are not
  // enough registers to keep all of them.
  __device__ void discard_widened() {
    if constexpr (sizeof(T) < sizeof(float))
#pragma unroll
      for (int k = 0; k < tile_pair_vectors<T>; ++k) simt::compiler_barrier(vector[k]);
  }
};

// A thread's part of a row: a tile in registers and a tile in shared memory.
template <class RowOp, class T, row_access Access, int Threads>
class tile_pair {
 public:
  using slice_type = row_slice<T, Access, tile_pair_vectors<T>>;
  using arguments = typename RowOp::template arguments<T>;
  static constexpr int k_chunk = chunk_vectors<T>;

  __device__ tile_pair(const arguments& a, int rank, stored_tile<T, Threads>& stored)
      : a_(a), rank_(rank), stored_(stored) {}

  __device__ void load_stored(int64_t r) const {
    copy_slice<load_policy<T>>(slice_of(r, 1), a_.x + r * a_.ldx, stored_);
    simt::cp_async_commit();
  }
  __device__ void load_registers(int64_t r, register_tile<T>& tile) const {
    const T* const row = a_.x + r * a_.ldx;
    const slice_type slice = slice_of(r, 0);
    if (slice.has(tile_pair_vectors<T> - 1)) {
#pragma unroll
      for (int k = 0; k < tile_pair_vectors<T>; ++k) tile.vector[k] = load_vector<load_policy<T>>(row + slice.start(k));
    } else {
#pragma unroll
      for (int k = 0; k < tile_pair_vectors<T>; ++k)
        tile.vector[k] = slice.has(k) ? load_vector<load_policy<T>>(row + slice.start(k)) : padding_vector<T>();
    }
    tile.single = slice.single() >= 0 ? widen(load_element<load_policy<T>>(row + slice.single())) : -INFINITY;
  }

  // The warp's partial, in every lane.
  __device__ typename RowOp::partial sum_up(int64_t r, register_tile<T>& tile) const {
    const slice_type of_stored = slice_of(r, 1);
    float value[k_chunk_values], own = tile.single;
#pragma unroll
    for (int k = 0; k < tile_pair_vectors<T>; k += k_chunk) {
      read_chunk(of_stored, stored_, k, value);
      own = max_of()(own, max_of_values(value));
    }
#pragma unroll
    for (int k = 0; k < tile_pair_vectors<T>; k += k_chunk) {
      widen_chunk(tile.vector, k, value);
      own = max_of()(own, max_of_values(value));
    }
    const float maximum = lane_reduce<k_warp_size>(own, max_of());
    tile.discard_widened();
    const float single[1] = {tile.single};
    float terms = Access == row_access::peeled ? RowOp::terms(single, -INFINITY, maximum) : 0.0f;
    float held_out_max = tile.single;
#pragma unroll
    for (int k = 0; k < tile_pair_vectors<T>; k += k_chunk) {
      read_chunk(of_stored, stored_, k, value);
      terms += RowOp::terms(value, held_out_max, maximum);
      held_out_max = RowOp::held_out_max(held_out_max, value);
    }
#pragma unroll
    for (int k = 0; k < tile_pair_vectors<T>; k += k_chunk) {
      widen_chunk(tile.vector, k, value);
      terms += RowOp::terms(value, held_out_max, maximum);
      held_out_max = RowOp::held_out_max(held_out_max, value);
    }
    tile.discard_widened();
    return RowOp::over_warp(own, terms, maximum);
  }

  // The thread's best argmax key (argmax_key.hpp); `maximum` is the warp's.
  __device__ int argmax_key(int64_t r, const register_tile<T>& tile, float maximum) const {
    const slice_type of_registers = slice_of(r, 0), of_stored = slice_of(r, 1);
    int best = argmax_key_of(tile.single, of_registers.single(), maximum);
    float value[k_chunk_values];
#pragma unroll
    for (int k = 0; k < tile_pair_vectors<T>; k += k_chunk) {
      widen_chunk(tile.vector, k, value);
      best = min_of<int>()(best, argmax_key_of_chunk(of_registers, k, value, maximum));
      read_chunk(of_stored, stored_, k, value);
      best = min_of<int>()(best, argmax_key_of_chunk(of_stored, k, value, maximum));
    }
    return best;
  }

  __device__ void write_stored(int64_t r, const typename RowOp::template result<T>& result) const {
    T* const y = a_.y + r * a_.ldy;
    const slice_type slice = slice_of(r, 1);
    const bool by_vector = misalignment_of(y + slice.start(0)) == 0;
    float value[k_chunk_values];
#pragma unroll
    for (int k = 0; k < tile_pair_vectors<T>; k += k_chunk) {
      read_chunk(slice, stored_, k, value);
      write_chunk(slice, k, result, value, y, by_vector);
    }
  }
  __device__ void write_registers(int64_t r, const typename RowOp::template result<T>& result,
                                  const register_tile<T>& tile) const {
    T* const y = a_.y + r * a_.ldy;
    const slice_type slice = slice_of(r, 0);
    const bool by_vector = misalignment_of(y + slice.start(0)) == 0;
    float value[k_chunk_values];
#pragma unroll
    for (int k = 0; k < tile_pair_vectors<T>; k += k_chunk) {
      widen_chunk(tile.vector, k, value);
      write_chunk(slice, k, result, value, y, by_vector);
    }
    if (slice.single() >= 0) store_element(y + slice.single(), simt::from_float<T>(result(tile.single)));
  }

 private:
  // tile: 0 is in registers, 1 in shared memory
  __device__ slice_type slice_of(int64_t r, int tile) const {
    return slice_type(a_.x + r * a_.ldx, static_cast<int>(a_.cols), static_cast<int>(threadIdx.x), Threads,
                      2 * rank_ + tile);
  }

  const arguments& a_;
  int rank_;
  stored_tile<T, Threads>& stored_;
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
