// A lane's part of a row that is visited several times, k_chunk_values values at a time, so that they fit into
// registers beside the other values of a kernel.
#pragma once

#include <cmath>

#include "kernels/primitives/reduce.hpp"
#include "kernels/rows/argmax_key.hpp"
#include "kernels/rows/row_access.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_chunk_values = 16;

template <class T>
constexpr int chunk_vectors = k_chunk_values / row_vector<T>::k_width;

template <class T>
__device__ inline row_vector<T> padding_vector() {
  row_vector<T> vector;
#pragma unroll
  for (int c = 0; c < row_vector<T>::k_width; ++c) vector.element[c] = simt::from_float<T>(-INFINITY);
  return vector;
}

// The chunk that starts with vector `first`.
template <class T, int Vectors>
__device__ inline void widen_chunk(const row_vector<T> (&vectors)[Vectors], int first, float (&value)[k_chunk_values]) {
  constexpr int k_width = row_vector<T>::k_width;
#pragma unroll
  for (int i = 0; i < k_chunk_values; ++i) value[i] = widen(vectors[first + i / k_width].element[i % k_width]);
}

// Copies a slice of the row at `row` to shared memory in the caller's open group of asynchronous copies. Each thread
// has its own places, so no barrier is needed.
template <cache_hint Hint, class Slice, class T, int Vectors, int Threads>
__device__ inline void copy_slice(const Slice& slice, const T* row, row_vector<T> (&to)[Vectors][Threads]) {
#pragma unroll
  for (int k = 0; k < Vectors; ++k) {
    if (!slice.has(k)) continue;
    if (Hint == cache_hint::keep_in_l2)
      simt::cp_async_keep_in_l2(&to[k][threadIdx.x], row + slice.start(k));
    else
      simt::cp_async_evict_first(&to[k][threadIdx.x], row + slice.start(k));
  }
}

// A chunk of the data that copy_slice has copied.
template <class Slice, class T, int Vectors, int Threads>
__device__ inline void read_chunk(const Slice& slice, const row_vector<T> (&from)[Vectors][Threads], int first,
                                  float (&value)[k_chunk_values]) {
  row_vector<T> vectors[chunk_vectors<T>];
#pragma unroll
  for (int k = 0; k < chunk_vectors<T>; ++k)
    vectors[k] = slice.has(first + k) ? from[first + k][threadIdx.x] : padding_vector<T>();
  widen_chunk(vectors, 0, value);
}

// Writes result(value) to the places of the chunk in the row at `y`; `by_vector` if they are aligned as vectors.
template <class Slice, class Result, class T>
__device__ inline void write_chunk(const Slice& slice, int first, const Result& result,
                                   const float (&value)[k_chunk_values], T* y, bool by_vector) {
  constexpr int k_width = row_vector<T>::k_width;
#pragma unroll
  for (int k = 0; k < chunk_vectors<T>; ++k) {
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

// The best argmax key (argmax_key.hpp) of the chunk.
template <class Slice>
__device__ inline int argmax_key_of_chunk(const Slice& slice, int first, const float (&value)[k_chunk_values],
                                          float maximum) {
  int best = k_no_argmax_key<int>;
#pragma unroll
  for (int i = 0; i < k_chunk_values; ++i) {
    const int index = slice.start(first + i / Slice::k_width) + i % Slice::k_width;
    best = min_of<int>()(best, argmax_key_of(value[i], index, maximum));
  }
  return best;
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
