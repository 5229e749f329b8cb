// How the lanes of a warp or a block share one row: 16-byte vectors with a scalar peel at both ends, or single
// elements.
//
// The split of a row depends on the address of its *input* alone. The output follows it, with vector stores where its
// own phase allows, so a result has the same bits wherever it is written, in place included.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

enum class row_access {
  aligned,  // every row starts on a 16-byte boundary and is a whole number of vectors
  peeled,   // any start and length: partial vectors at both ends go by single elements
  scalar,   // single elements: for rows so short that the peel would be most of the row
};

// Elements that one access moves.
template <class T, row_access Access>
constexpr int access_width = Access == row_access::scalar ? 1 : 16 / static_cast<int>(sizeof(T));

// Elements between the preceding 16-byte boundary and p.
template <class T>
__device__ __host__ inline int phase_of(const T* p) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(p) % 16 / sizeof(T));
}

// Sixteen bytes of a row. Loads and stores bypass the read-only cache (the row may be overwritten in place) and are
// marked as streaming: no row is needed twice.
template <class T>
struct alignas(16) row_vector {
  static constexpr int k_width = 16 / static_cast<int>(sizeof(T));
  T element[k_width];
};

template <class T>
__device__ inline row_vector<T> load_vector(const T* p) {
  const uint4 bits = __ldcs(reinterpret_cast<const uint4*>(p));
  row_vector<T> vector;
  memcpy(&vector, &bits, sizeof bits);
  return vector;
}

template <class T>
__device__ inline void store_vector(T* p, const row_vector<T>& vector) {
  uint4 bits;
  memcpy(&bits, &vector, sizeof bits);
  __stcs(reinterpret_cast<uint4*>(p), bits);
}

// Index in the row of the first element of vector `k` of `lane` among `lanes`; negative in the head of a peeled row.
template <class T, row_access Access>
__device__ inline int slice_start(int k, int lane, int lanes, int phase) {
  return (k * lanes + lane) * access_width<T, Access> - phase;
}

// Reads a lane's part of a row of `cols` elements into registers, as f32; places beyond the row hold -Inf. `Count`:
// vectors of the lane times their width.
template <class T, row_access Access, int Count>
__device__ inline void load_slice(float (&value)[Count], const T* row, int cols, int phase, int lane, int lanes) {
  constexpr int k_width = access_width<T, Access>;
#pragma unroll
  for (int k = 0; k < Count / k_width; ++k) {
    const int start = slice_start<T, Access>(k, lane, lanes, phase);
    const bool whole = Access == row_access::peeled ? start >= 0 && start + k_width <= cols : start < cols;
    if (k_width > 1 && whole) {
      const row_vector<T> vector = load_vector(row + start);
#pragma unroll
      for (int c = 0; c < k_width; ++c) value[k * k_width + c] = simt::to_float(vector.element[c]);
    } else {
#pragma unroll
      for (int c = 0; c < k_width; ++c) {
        const bool inside = Access != row_access::aligned && start + c >= 0 && start + c < cols;
        value[k * k_width + c] = inside ? simt::to_float(row[start + c]) : -INFINITY;
      }
    }
  }
}

// Writes what load_slice read, rounded to T. `by_vector`: the output row has the phase of the input row.
template <class T, row_access Access, int Count>
__device__ inline void store_slice(const float (&value)[Count], T* row, int cols, int phase, bool by_vector, int lane,
                                   int lanes) {
  constexpr int k_width = access_width<T, Access>;
#pragma unroll
  for (int k = 0; k < Count / k_width; ++k) {
    const int start = slice_start<T, Access>(k, lane, lanes, phase);
    if (k_width > 1 && by_vector && start >= 0 && start + k_width <= cols) {
      row_vector<T> vector;
#pragma unroll
      for (int c = 0; c < k_width; ++c) vector.element[c] = simt::from_float<T>(value[k * k_width + c]);
      store_vector(row + start, vector);
    } else {
#pragma unroll
      for (int c = 0; c < k_width; ++c)
        if (start + c >= 0 && start + c < cols) row[start + c] = simt::from_float<T>(value[k * k_width + c]);
    }
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
