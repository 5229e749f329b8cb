// The lowest index whose element wins a row of which the maximum is known: the first NaN, or else the first element
// equal to the maximum (which ignores NaN; -0 equals +0).
//
// An element's claim to be the winner is one integer, so that a minimum over claims, in any order, decides: NaN below
// everything else, then by index.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/primitives/reduce.hpp"
#include "kernels/primitives/row_access.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

template <class Index>
constexpr Index k_no_claim = std::numeric_limits<Index>::max();
template <class Index>
constexpr Index k_nan_claim = std::numeric_limits<Index>::min();  // of a NaN at index 0

// A place without an index claims nothing; padding after the row holds -Inf and loses against the row's own elements.
template <class Index>
__device__ inline Index claim_of(float value, Index index, float maximum) {
  if (index < 0) return k_no_claim<Index>;
  if (value != value) return k_nan_claim<Index> + index;
  return value == maximum ? index : k_no_claim<Index>;
}

// The claim of the same element in a row that starts `offset` elements before.
__device__ inline int64_t shift_claim(int claim, int64_t offset) {
  if (claim == k_no_claim<int>) return k_no_claim<int64_t>;
  if (claim < 0) return k_nan_claim<int64_t> + (static_cast<int64_t>(claim) - k_nan_claim<int> + offset);
  return claim + offset;
}

template <class Index>
__device__ inline int64_t claimed_index(Index claim) {
  return claim < 0 ? static_cast<int64_t>(claim - k_nan_claim<Index>) : static_cast<int64_t>(claim);
}

// The best claim of a lane's slice of a row.
template <class Slice>
__device__ inline int claim_of_slice(const Slice& slice, const float (&value)[Slice::k_values], float maximum) {
  int best = k_no_claim<int>;
#pragma unroll
  for (int i = 0; i < Slice::k_values; ++i) best = min_of<int>()(best, claim_of(value[i], slice.index(i), maximum));
  return best;
}

// The same for a maximum that NaN is passed on in: without NaN there is less to look at.
template <class Slice>
__device__ inline int winner_of_slice(const Slice& slice, const float (&value)[Slice::k_values], float maximum) {
  if (maximum != maximum) return claim_of_slice(slice, value, maximum);
  constexpr int k_ordered = Slice::k_ordered_values;
  int first = Slice::k_values;
#pragma unroll
  for (int i = k_ordered - 1; i >= 0; --i)
    if (value[i] == maximum) first = i;
  const int best = first == Slice::k_values ? k_no_claim<int> : slice.index(first);
  if (k_ordered == Slice::k_values) return best;
  constexpr int k_single = Slice::k_values - 1;
  return min_of<int>()(best, claim_of(value[k_single], slice.index(k_single), maximum));
}

// Whether a part of which the maximum is `own`, NaN passed on, can hold the winner of a row of which it is `maximum`.
__device__ inline bool may_win(float own, float maximum) { return own == maximum || own != own; }

// Lowers `best`, in memory that the block shares, to the claim of the slice. Of the lanes with the maximum `own`, only
// those have one for whose row it is the maximum, NaN passed on in both: mostly a single one.
template <class Slice>
__device__ inline void offer_claim(const Slice& slice, const float (&value)[Slice::k_values], float own, float maximum,
                                   int* best) {
  if (may_win(own, maximum)) atomicMin(best, winner_of_slice(slice, value, maximum));
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
