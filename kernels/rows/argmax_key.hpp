// The argmax of a row whose maximum is known: the index of the first NaN, or else of the first element equal to the
// maximum (which ignores NaN; -0 equals +0).
//
// The argmax key of an element is one integer, so a minimum over keys in any order decides: NaN is below everything
// else, then the index counts.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/primitives/reduce.hpp"
#include "kernels/rows/row_access.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

template <class Index>
constexpr Index k_no_argmax_key = std::numeric_limits<Index>::max();
template <class Index>
constexpr Index k_nan_argmax_key = std::numeric_limits<Index>::min();  // of a NaN at index 0

// A place without an index has no key; padding after the row is -Inf, below the row's own elements.
template <class Index>
__device__ inline Index argmax_key_of(float value, Index index, float maximum) {
  if (index < 0) return k_no_argmax_key<Index>;
  if (value != value) return k_nan_argmax_key<Index> + index;
  return value == maximum ? index : k_no_argmax_key<Index>;
}

// The argmax key of the same element in a row that starts `offset` elements before.
__device__ inline int64_t shift_argmax_key(int argmax_key, int64_t offset) {
  if (argmax_key == k_no_argmax_key<int>) return k_no_argmax_key<int64_t>;
  if (argmax_key < 0)
    return k_nan_argmax_key<int64_t> + (static_cast<int64_t>(argmax_key) - k_nan_argmax_key<int> + offset);
  return argmax_key + offset;
}

template <class Index>
__device__ inline int64_t index_of_argmax_key(Index argmax_key) {
  return argmax_key < 0 ? static_cast<int64_t>(argmax_key - k_nan_argmax_key<Index>) : static_cast<int64_t>(argmax_key);
}

// Returns the best argmax key of a lane's slice of a row.
template <class Slice>
__device__ inline int argmax_key_of_slice(const Slice& slice, const float (&value)[Slice::k_values], float maximum) {
  int best = k_no_argmax_key<int>;
#pragma unroll
  for (int i = 0; i < Slice::k_values; ++i)
    best = min_of<int>()(best, argmax_key_of(value[i], slice.index(i), maximum));
  return best;
}

// The same for a maximum that passes NaN on: without NaN there is less to compare.
template <class Slice>
__device__ inline int argmax_key_of_maximum(const Slice& slice, const float (&value)[Slice::k_values], float maximum) {
  if (maximum != maximum) return argmax_key_of_slice(slice, value, maximum);
  constexpr int k_ordered = Slice::k_ordered_values;
  int first = Slice::k_values;
#pragma unroll
  for (int i = k_ordered - 1; i >= 0; --i)
    if (value[i] == maximum) first = i;
  const int best = first == Slice::k_values ? k_no_argmax_key<int> : slice.index(first);
  if (k_ordered == Slice::k_values) return best;
  constexpr int k_single = Slice::k_values - 1;
  return min_of<int>()(best, argmax_key_of(value[k_single], slice.index(k_single), maximum));
}

// True if a part with the maximum `own` may contain the argmax of a row with the maximum `maximum`; both pass NaN on.
__device__ inline bool is_maximal(float own, float maximum) { return own == maximum || own != own; }

// Lowers `best`, in memory that the block shares, to the argmax key of the slice. Only lanes whose maximum `own` is the
// maximum of the row (NaN passed on in both) have such a key, mostly a single lane.
template <class Slice>
__device__ inline void offer_argmax_key(const Slice& slice, const float (&value)[Slice::k_values], float own,
                                        float maximum, int* best) {
  if (is_maximal(own, maximum)) atomicMin(best, argmax_key_of_maximum(slice, value, maximum));
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
