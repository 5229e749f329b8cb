// Distribution of one row over the lanes of a warp, a block or several blocks: 16-byte vectors, lane by lane, and up to
// one single element per lane for the rest at both ends.
//
// The split of a row depends on the address of its *input* alone. The output follows it, with vector stores where its
// own misalignment allows, so a result has the same bits wherever it is written, in place included.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

enum class row_access {
  whole,    // every row starts on a 16-byte boundary, and every lane has all of its vectors
  aligned,  // every row starts on a 16-byte boundary and is a whole number of
            // vectors
  peeled,   // any start and length: what lies outside whole vectors goes by
            // single elements
  scalar,   // single elements: for rows so short that they are mostly ends
};

// Elements that one access moves.
template <class T, row_access Access>
constexpr int access_width = Access == row_access::scalar ? 1 : 16 / static_cast<int>(sizeof(T));

// Values that a lane with `Vectors` vectors holds.
template <class T, row_access Access, int Vectors>
constexpr int slice_values = Vectors* access_width<T, Access> + (Access == row_access::peeled ? 1 : 0);

// Elements between p and the 16-byte boundary at or before it.
template <class T>
__device__ __host__ inline int misalignment_of(const T* p) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(p) % 16 / sizeof(T));
}

// The type of arithmetic for an element, and the element in this type.
template <class T>
using wide_type = std::conditional_t<std::is_same_v<T, double>, double, float>;
__device__ inline double widen(double x) { return x; }
template <class T>
__device__ inline float widen(T x) {
  return simt::to_float(x);
}

// Sixteen bytes of a row. Loads and stores bypass the read-only cache (the row may be overwritten in place) and are
// marked as streaming unless the row is needed twice.
template <class T>
struct alignas(16) row_vector {
  static constexpr int k_width = 16 / static_cast<int>(sizeof(T));
  T element[k_width];
};

// True if the rows of a matrix can be read as row_access::aligned. `a`: arguments of a kernel with x, ldx, rows, cols.
template <class Arguments>
bool has_aligned_rows(const Arguments& a) {
  constexpr int64_t k_width = row_vector<std::decay_t<decltype(*a.x)>>::k_width;
  return misalignment_of(a.x) == 0 && a.cols % k_width == 0 && (a.ldx % k_width == 0 || a.rows == 1);
}

// Cache hint: keep the row in L2 because another pass reads it, or evict it first.
enum class cache_hint { evict_first, keep_in_l2 };

// Cache hint for a row whose results are written at once: the hint of a row that is read again. The lines that are kept
// then leave the cache after the written ones, which saves 1 to 4 % of the time of f32 rows on an H200, and as much for
// a plain copy, although the memory moves the same bytes. Rows of 16-bit types, which instructions limit, lose up to 1
// % by it, and up to 9 % if registers are few.
template <class T>
constexpr cache_hint load_policy = sizeof(T) < 4 ? cache_hint::evict_first : cache_hint::keep_in_l2;

template <cache_hint Hint = cache_hint::evict_first, class T>
__device__ inline row_vector<T> load_vector(const T* p) {
  const uint4* const address = reinterpret_cast<const uint4*>(p);
  const uint4 bits = Hint == cache_hint::keep_in_l2 ? simt::load_keep_in_l2(address) : __ldcs(address);
  row_vector<T> vector;
  memcpy(&vector, &bits, sizeof bits);
  return vector;
}

// Single elements use the same hints: two kinds of hints within one line, where rows meet, slow the cache down (by 5-10
// % of a misaligned softmax on an H200).
template <cache_hint Hint = cache_hint::evict_first, class T>
__device__ inline T load_element(const T* p) {
  if constexpr (Hint == cache_hint::keep_in_l2)
    return simt::load_keep_in_l2(p);
  else
    return __ldcs(p);
}
template <class T>
__device__ inline void store_element(T* p, T value) {
  __stcs(p, value);
}

template <class T>
__device__ inline void store_vector(T* p, const row_vector<T>& vector) {
  uint4 bits;
  memcpy(&bits, &vector, sizeof bits);
  __stcs(reinterpret_cast<uint4*>(p), bits);
}

// Whole vectors begin and end on boundaries of this many elements, a power of two. The boundaries are lines of 128
// bytes, so that the lanes together touch no more lines than necessary, or the part of a line that the lanes' single
// elements can cover at both ends.
template <class T>
__device__ __host__ constexpr int edge_of(int lanes) {
  const int line = 128 / static_cast<int>(sizeof(T));
  const int fits = lanes >= 128 ? 64 : lanes >= 64 ? 32 : lanes >= 32 ? 16 : lanes / 2;
  return line < fits ? line : fits;
}

// The widest of these boundaries.
constexpr int k_edge = 64;

// Elements between the boundary at or before p and p.
template <class T>
__device__ __host__ inline int edge_misalignment(const T* p, int edge) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(p) / sizeof(T)) & (edge - 1);
}

// One lane's part of a row of `cols` elements (< 2^31), or of nothing if cols = 0. The lanes of `part` together take
// vectors [part, part + 1) * lanes * Vectors of the row; part 0 also takes the ends. Values are in the order: vector by
// vector, then the lane's single element.
template <class T, row_access Access, int Vectors>
class row_slice {
 public:
  static constexpr int k_width = access_width<T, Access>;
  static constexpr int k_values = slice_values<T, Access, Vectors>;
  static constexpr int k_ordered_values = Vectors * k_width;  // these come in the order of the row

  __device__ row_slice(const T* row, int cols, int lane, int lanes, int part = 0) : row_(row), lanes_(lanes) {
    const int edge = edge_of<T>(lanes);
    int head = 0;
    if (Access == row_access::peeled) {
      head = -edge_misalignment(row, edge) & (edge - 1);
      if (head > cols) head = cols;
    }
    const int tail = Access == row_access::peeled ? (cols - head) & (edge - 1) : 0;
    const int vectors = (cols - head - tail) / k_width;
    const int before = part * lanes * Vectors + lane;
    first_ = head + before * k_width;
    vectors_ = vectors - before;
    if (Access == row_access::peeled && part == 0) {
      if (lane < head) single_ = lane;
      if (lane >= edge && lane < edge + tail) single_ = cols - tail + lane - edge;
    }
  }

  // Returns the index in the row of value i: negative if there is none; for padding, at or past the end of the row's
  // vectors.
  __device__ int index(int i) const {
    return i < Vectors * k_width ? first_ + i / k_width * lanes_ * k_width + i % k_width : single_;
  }

  // Index in the row of the first element of vector k, and whether the row has that vector.
  __device__ int start(int k) const { return first_ + k * lanes_ * k_width; }
  __device__ bool has(int k) const { return Access == row_access::whole || k * lanes_ < vectors_; }
  // Index in the row of the single element; negative if there is none.
  __device__ int single() const { return single_; }

  // True if the row has an element for value i.
  __device__ bool exists(int i) const { return i < Vectors * k_width ? has(i / k_width) : single_ >= 0; }

  // Reads the values; places beyond the row get -Inf.
  template <cache_hint Hint = cache_hint::evict_first>
  __device__ void load(wide_type<T> (&value)[k_values]) const {
    if (k_certain > 0 && has(k_certain - 1))
      load_vectors<Hint, k_certain>(value);
    else
      load_vectors<Hint, 0>(value);
    if constexpr (Access == row_access::peeled)
      value[k_values - 1] = single_ >= 0 ? widen(load_element<Hint>(row_ + single_)) : -INFINITY;
  }

  // Writes the values, rounded to T, to the same places of `row`.
  __device__ void store(const float (&value)[k_values], T* row) const {
    const bool by_vector = k_width > 1 && misalignment_of(row + first_) == 0;
    if (!by_vector)
      store_vectors<false, 0>(value, row);
    else if (k_certain > 0 && has(k_certain - 1))
      store_vectors<true, k_certain>(value, row);
    else
      store_vectors<true, 0>(value, row);
    if constexpr (Access == row_access::peeled)
      if (single_ >= 0) store_element(row + single_, simt::from_float<T>(value[k_values - 1]));
  }
  // The same for vector k alone, which the row must have. Aligned: `row` begins on a 16-byte boundary.
  template <bool Aligned>
  __device__ void store_vector_at(int k, const float (&value)[k_values], T* row) const {
    if (Aligned || misalignment_of(row + first_) == 0)
      store_one<true>(k, value, row + first_);
    else
      store_one<false>(k, value, row + first_);
  }

 private:
  // The lanes of a warp mostly agree that they have all vectors but the last, so one test covers all of these.
  static constexpr int k_certain = k_width > 1 && Vectors >= 4 ? Vectors - 1 : 0;

  // `Certain`: the row has this many of the lane's vectors.
  template <cache_hint Hint, int Certain>
  __device__ void load_vectors(wide_type<T> (&value)[k_values]) const {
    const T* const row = row_ + first_;
#pragma unroll
    for (int k = 0; k < Vectors; ++k) {
      if (k >= Certain && !has(k)) {
#pragma unroll
        for (int c = 0; c < k_width; ++c) value[k * k_width + c] = -INFINITY;
      } else if constexpr (k_width == 1) {
        value[k] = widen(load_element<Hint>(row + k * lanes_));
      } else {
        const row_vector<T> vector = load_vector<Hint>(row + k * lanes_ * k_width);
#pragma unroll
        for (int c = 0; c < k_width; ++c) value[k * k_width + c] = widen(vector.element[c]);
      }
    }
  }

  template <bool ByVector, int Certain>
  __device__ void store_vectors(const float (&value)[k_values], T* row) const {
#pragma unroll
    for (int k = 0; k < Vectors; ++k)
      if (k < Certain || has(k)) store_one<ByVector>(k, value, row + first_);
  }

  // `first`: the place of the row's first_.
  template <bool ByVector>
  __device__ void store_one(int k, const float (&value)[k_values], T* first) const {
    row_vector<T> vector;
#pragma unroll
    for (int c = 0; c < k_width; ++c) vector.element[c] = simt::from_float<T>(value[k * k_width + c]);
    if constexpr (ByVector) {
      store_vector(first + k * lanes_ * k_width, vector);
    } else {
#pragma unroll
      for (int c = 0; c < k_width; ++c) store_element(first + k * lanes_ * k_width + c, vector.element[c]);
    }
  }

  const T* row_;
  int lanes_;
  int first_;        // index of the first element of vector 0
  int vectors_;      // vectors of the row from vector 0 on, those of other lanes
                     // included
  int single_ = -1;  // index of the single element, or -1
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
