// ln sum e^x with one maximal element held out of the sum, so that log1p keeps the relative accuracy of a small tail:
// ln s = m + log1p(r), r the sum of e^(x - m) over all elements but one of value m. Ties need no count, and no element
// is taken twice.
#pragma once

#include <cmath>

#include "kernels/primitives/reduce.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// The state of some elements. `rest` is relative to the maximum; a NaN among the elements makes it NaN. Without any
// finite element: -Inf (nothing, or only -Inf) with rest 0, or +Inf with any rest but NaN.
struct log_sum {
  float maximum;
  float rest;
};

// What elements are exponentiated relative to: the maximum where it is finite.
__device__ inline float log_sum_reference(float maximum) { return fabsf(maximum) == INFINITY ? 0.0f : maximum; }

// e^(from - to), the factor of a sum whose reference rises; 1 where it stays, infinite or not.
__device__ inline float rescale(float from, float to) { return from == to ? 1.0f : expf(from - to); }

// The sum over values that the lane holds, without the lane's own champion, which is returned as the maximum: each
// element meets the champion so far, and the loser is exponentiated relative to `reference`. A comparison with NaN is
// false: a NaN always loses, and so reaches the sum.
template <int Count>
__device__ inline float sum_of_losers(const float (&value)[Count], float champion, float reference) {
  return chained_sum<Count>([&](int i) {
    const bool wins = champion < value[i];
    const float loser = wins ? champion : value[i];
    champion = wins ? value[i] : champion;
    return expf(loser - reference);
  });
}

// The largest of the values; NaN is passed over.
template <int Count>
__device__ inline float maximum_of(const float (&value)[Count]) {
  float maximum = value[0];
#pragma unroll
  for (int i = 1; i < Count; ++i) maximum = fmaxf(maximum, value[i]);
  return maximum == maximum ? maximum : -INFINITY;
}

// Over `Lanes` neighbouring lanes, of sums that are relative to the same reference: the champions of all lanes but the
// first that holds the maximum join the sum.
template <int Lanes>
__device__ inline log_sum join_lanes(log_sum mine, float reference) {
  const float maximum = lane_reduce<Lanes>(mine.maximum, max_of());
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const int champion = lane_reduce<Lanes>(mine.maximum == maximum ? lane : Lanes, min_of<int>());
  if (lane != champion) mine.rest += expf(mine.maximum - reference);
  return {maximum, lane_reduce<Lanes>(mine.rest, sum_of())};
}

// The same of sums that are each relative to their own maximum: one rescale.
template <int Lanes>
__device__ inline log_sum merge_lanes(log_sum mine) {
  const float maximum = lane_reduce<Lanes>(mine.maximum, max_of());
  mine.rest *= rescale(mine.maximum, maximum);
  return join_lanes<Lanes>(mine, log_sum_reference(maximum));
}

__device__ inline float value_of(const log_sum& all) { return all.maximum + log1pf(all.rest); }

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
