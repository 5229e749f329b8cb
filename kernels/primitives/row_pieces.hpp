// A lane's part of a row that is looked at several times, k_piece_values values at a time, which fit registers beside
// whatever else a kernel keeps there.
#pragma once

#include <cmath>

#include "kernels/primitives/reduce.hpp"
#include "kernels/primitives/row_access.hpp"
#include "kernels/primitives/winner.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_piece_values = 16;

template <class T>
constexpr int piece_vectors = k_piece_values / row_vector<T>::k_width;

template <class T>
__device__ inline row_vector<T> padding_vector() {
  row_vector<T> vector;
#pragma unroll
  for (int c = 0; c < row_vector<T>::k_width; ++c) vector.element[c] = simt::from_float<T>(-INFINITY);
  return vector;
}

// The piece that starts with vector `first`.
template <class T, int Vectors>
__device__ inline void widen_piece(const row_vector<T> (&vectors)[Vectors], int first, float (&value)[k_piece_values]) {
  constexpr int k_width = row_vector<T>::k_width;
#pragma unroll
  for (int i = 0; i < k_piece_values; ++i) value[i] = widen(vectors[first + i / k_width].element[i % k_width]);
}

// Copies a slice of the row at `row` to shared memory in the caller's open group of asynchronous copies. Each thread
// has its own places, so there is no need of a barrier.
template <row_reuse Reuse, class Slice, class T, int Vectors, int Threads>
__device__ inline void copy_slice(const Slice& slice, const T* row, row_vector<T> (&to)[Vectors][Threads]) {
#pragma unroll
  for (int k = 0; k < Vectors; ++k) {
    if (!slice.has(k)) continue;
    if (Reuse == row_reuse::again)
      simt::cp_async_again(&to[k][threadIdx.x], row + slice.start(k));
    else
      simt::cp_async_once(&to[k][threadIdx.x], row + slice.start(k));
  }
}

// A piece of what copy_slice has copied.
template <class Slice, class T, int Vectors, int Threads>
__device__ inline void read_piece(const Slice& slice, const row_vector<T> (&from)[Vectors][Threads], int first,
                                  float (&value)[k_piece_values]) {
  row_vector<T> vectors[piece_vectors<T>];
#pragma unroll
  for (int k = 0; k < piece_vectors<T>; ++k)
    vectors[k] = slice.has(first + k) ? from[first + k][threadIdx.x] : padding_vector<T>();
  widen_piece(vectors, 0, value);
}

// Writes result(value) to the places of the piece in the row at `y`; `by_vector` where they are aligned as vectors.
template <class Slice, class Result, class T>
__device__ inline void write_piece(const Slice& slice, int first, const Result& result,
                                   const float (&value)[k_piece_values], T* y, bool by_vector) {
  constexpr int k_width = row_vector<T>::k_width;
#pragma unroll
  for (int k = 0; k < piece_vectors<T>; ++k) {
    if (!slice.has(first + k)) continue;
    row_vector<T> vector;
#pragma unroll
    for (int c = 0; c < k_width; ++c) vector.element[c] = simt::from_float<T>(result(value[k * k_width + c]));
    T* const to = y + slice.start(first + k);
    if (by_vector) {
      store_vector(to, vector);
    } else {
#pragma unroll
      for (int c = 0; c < k_width; ++c) store_element(to + c, vector.element[c]);
    }
  }
}

// The best claim (winner.hpp) of the piece.
template <class Slice>
__device__ inline int claim_of_piece(const Slice& slice, int first, const float (&value)[k_piece_values],
                                     float maximum) {
  int best = k_no_claim<int>;
#pragma unroll
  for (int i = 0; i < k_piece_values; ++i) {
    const int index = slice.start(first + i / Slice::k_width) + i % Slice::k_width;
    best = min_of<int>()(best, claim_of(value[i], index, maximum));
  }
  return best;
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
