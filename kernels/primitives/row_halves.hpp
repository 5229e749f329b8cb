// A row that several blocks keep, each the half of its part in registers and the other half in shared memory: so more
// of them fit a multiprocessor, and some load or write while others compute or wait.
//
// A Rule says what is computed:
//   arguments<T>, partial             types; a partial is what word_of takes
//   terms(value, champion, maximum)   the sum of a lane's terms relative to `maximum`, the warp's; `champion` is the
//                                     largest of the lane's values before these
//   over_warp(own, terms, maximum)    the warp's partial, of lanes with the maxima `own`, in every lane
//   champion(champion, value)         `champion` with the largest of `value`, where terms looks at it
//   combine(partials, count)          that of several, by a warp; one rescale per term
//   result<T>                         made of a row's partial: the function of a value that is written
//   argmax(arguments)                 where the index of each row's maximum goes, or nullptr
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/primitives/reduce.hpp"
#include "kernels/primitives/row_access.hpp"
#include "kernels/primitives/row_pieces.hpp"
#include "kernels/primitives/winner.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_half_values = 32;  // of a thread in registers, and as many in shared memory, of each row

template <class T>
constexpr int half_vectors = k_half_values / row_vector<T>::k_width;

template <class T, int Threads>
using stored_half = row_vector<T>[half_vectors<T>][Threads];

// What a thread holds of a row in registers.
template <class T>
struct held_half {
  row_vector<T> vector[half_vectors<T>];
  float single;

  // To be called between two looks at the vectors: 16-bit values are to be widened again, for which there are registers
  // where there are none to keep them all.
  __device__ void forget_widened() {
    if constexpr (sizeof(T) < sizeof(float))
#pragma unroll
      for (int k = 0; k < half_vectors<T>; ++k) simt::forget(vector[k]);
  }
};

// A thread's part of a row: the half that is held, and the half that is stored.
template <class Rule, class T, row_access Access, int Threads>
class row_halves {
 public:
  using slice_type = row_slice<T, Access, half_vectors<T>>;
  using arguments = typename Rule::template arguments<T>;
  static constexpr int k_piece = piece_vectors<T>;

  __device__ row_halves(const arguments& a, int rank, stored_half<T, Threads>& stored)
      : a_(a), rank_(rank), stored_(stored) {}

  __device__ void load_stored(int64_t r) const {
    copy_slice<written_row<T>>(slice_of(r, 1), a_.x + r * a_.ldx, stored_);
    simt::cp_async_commit();
  }
  __device__ void load_held(int64_t r, held_half<T>& held) const {
    const T* const row = a_.x + r * a_.ldx;
    const slice_type slice = slice_of(r, 0);
    if (slice.has(half_vectors<T> - 1)) {
#pragma unroll
      for (int k = 0; k < half_vectors<T>; ++k) held.vector[k] = load_vector<written_row<T>>(row + slice.start(k));
    } else {
#pragma unroll
      for (int k = 0; k < half_vectors<T>; ++k)
        held.vector[k] = slice.has(k) ? load_vector<written_row<T>>(row + slice.start(k)) : padding_vector<T>();
    }
    held.single = slice.single() >= 0 ? widen(load_element<written_row<T>>(row + slice.single())) : -INFINITY;
  }

  // The warp's partial, in every lane.
  __device__ typename Rule::partial sum_up(int64_t r, held_half<T>& held) const {
    const slice_type of_stored = slice_of(r, 1);
    float value[k_piece_values], own = held.single;
#pragma unroll
    for (int k = 0; k < half_vectors<T>; k += k_piece) {
      read_piece(of_stored, stored_, k, value);
      own = max_of()(own, max_of_values(value));
    }
#pragma unroll
    for (int k = 0; k < half_vectors<T>; k += k_piece) {
      widen_piece(held.vector, k, value);
      own = max_of()(own, max_of_values(value));
    }
    const float maximum = lane_reduce<k_warp_size>(own, max_of());
    held.forget_widened();
    const float single[1] = {held.single};
    float terms = Access == row_access::peeled ? Rule::terms(single, -INFINITY, maximum) : 0.0f;
    float champion = held.single;
#pragma unroll
    for (int k = 0; k < half_vectors<T>; k += k_piece) {
      read_piece(of_stored, stored_, k, value);
      terms += Rule::terms(value, champion, maximum);
      champion = Rule::champion(champion, value);
    }
#pragma unroll
    for (int k = 0; k < half_vectors<T>; k += k_piece) {
      widen_piece(held.vector, k, value);
      terms += Rule::terms(value, champion, maximum);
      champion = Rule::champion(champion, value);
    }
    held.forget_widened();
    return Rule::over_warp(own, terms, maximum);
  }

  // The thread's best claim (winner.hpp); `maximum` is the warp's.
  __device__ int claim(int64_t r, const held_half<T>& held, float maximum) const {
    const slice_type of_held = slice_of(r, 0), of_stored = slice_of(r, 1);
    int best = claim_of(held.single, of_held.single(), maximum);
    float value[k_piece_values];
#pragma unroll
    for (int k = 0; k < half_vectors<T>; k += k_piece) {
      widen_piece(held.vector, k, value);
      best = min_of<int>()(best, claim_of_piece(of_held, k, value, maximum));
      read_piece(of_stored, stored_, k, value);
      best = min_of<int>()(best, claim_of_piece(of_stored, k, value, maximum));
    }
    return best;
  }

  __device__ void write_stored(int64_t r, const typename Rule::template result<T>& result) const {
    T* const y = a_.y + r * a_.ldy;
    const slice_type slice = slice_of(r, 1);
    const bool by_vector = phase_of(y + slice.start(0)) == 0;
    float value[k_piece_values];
#pragma unroll
    for (int k = 0; k < half_vectors<T>; k += k_piece) {
      read_piece(slice, stored_, k, value);
      write_piece(slice, k, result, value, y, by_vector);
    }
  }
  __device__ void write_held(int64_t r, const typename Rule::template result<T>& result,
                             const held_half<T>& held) const {
    T* const y = a_.y + r * a_.ldy;
    const slice_type slice = slice_of(r, 0);
    const bool by_vector = phase_of(y + slice.start(0)) == 0;
    float value[k_piece_values];
#pragma unroll
    for (int k = 0; k < half_vectors<T>; k += k_piece) {
      widen_piece(held.vector, k, value);
      write_piece(slice, k, result, value, y, by_vector);
    }
    if (slice.single() >= 0) store_element(y + slice.single(), simt::from_float<T>(result(held.single)));
  }

 private:
  // half: 0 is held, 1 is stored
  __device__ slice_type slice_of(int64_t r, int half) const {
    return slice_type(a_.x + r * a_.ldx, static_cast<int>(a_.cols), static_cast<int>(threadIdx.x), Threads,
                      2 * rank_ + half);
  }

  const arguments& a_;
  int rank_;
  stored_half<T, Threads>& stored_;
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
