// ln sum e^x with one maximal element held out of the sum, so that log1p keeps the relative accuracy of a small tail:
// ln s = m + log1p(r), r the sum of e^(x - m) over all elements but one of value m. Ties need no count, and no element
// is taken twice.
#pragma once

#include <cmath>

#include "kernels/primitives/reduce.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// The state of some elements. `rest` is relative to the maximum. Where NaN is among the elements, `rest` is NaN and the
// maximum may be. Without any finite element: -Inf (nothing, or only -Inf) with any finite rest, or +Inf with any rest
// but NaN.
struct alignas(8) log_sum {
  float maximum;
  float rest;
};

// Returns the reference of the exponentials: the maximum if it is finite.
__device__ inline float log_sum_reference(float maximum) { return fabsf(maximum) == INFINITY ? 0.0f : maximum; }

// e^(from - to), the factor of a sum whose reference rises; 1 if it stays, infinite or not.
__device__ inline float rescale(float from, float to) { return from == to ? 1.0f : expf(from - to); }

// The sum over values that the lane holds, without the lane's own held-out maximum: each element meets the held-out
// maximum so far, and the other is exponentiated relative to the `maximum` of these and maybe more elements, NaN passed
// on in it.
template <int Count>
__device__ inline float sum_of_remaining(const float (&value)[Count], float held_out_max, float maximum) {
  const float reference = log_sum_reference(maximum);
  return chained_sum<Count>([&](int i) {
    const float remaining = fminf(held_out_max, value[i]);
    held_out_max = fmaxf(held_out_max, value[i]);
    return expf(remaining - reference);
  });
}

// Likewise, but the pass that finds the maximum also finds the remaining ones; NaN is passed on.
template <int Count>
struct remaining_values {
  float held_out_max;
  float remaining[Count];

  __device__ remaining_values(const float (&value)[Count], float before) : held_out_max(before) {
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      remaining[i] = fminf(held_out_max, value[i]);
      held_out_max = max_of()(held_out_max, value[i]);
    }
  }
  __device__ float sum(float maximum) const {
    const float reference = log_sum_reference(maximum);
    return chained_sum<Count>([&](int i) { return expf(remaining[i] - reference); });
  }
};

// Adds the lane's values to the state of the elements before them. One rescale.
template <int Count>
__device__ inline void take_in(log_sum& all, const float (&value)[Count]) {
  const remaining_values<Count> of_values(value, all.maximum);
  const float maximum = of_values.held_out_max, rest = of_values.sum(maximum);
  // Known at compile time for the first values of a row, which saves an exponential.
  const bool nothing_before = all.maximum == -INFINITY;
  all.rest = (nothing_before ? all.rest : all.rest * rescale(all.maximum, maximum)) + rest;
  all.maximum = maximum;
}

// Combines sums of `Lanes` neighbouring lanes that are relative to the same `maximum`, the largest of these lanes and
// maybe of others. All held-out maxima join the sum, except one that equals the maximum. If there is no such one, the
// maximum of the result is -Inf.
template <int Lanes>
__device__ inline log_sum join_lanes(log_sum mine, float maximum) {
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
  const unsigned held_out_maxima = __ballot_sync(k_all_lanes, mine.maximum == maximum);
  const unsigned of_group = held_out_maxima >> (lane / Lanes * Lanes) & (k_all_lanes >> (k_warp_size - Lanes));
  const bool held_out = mine.maximum == maximum && (of_group & ((1u << lane % Lanes) - 1)) == 0;
  if (!held_out) mine.rest += expf(mine.maximum - log_sum_reference(maximum));
  return {of_group != 0 ? maximum : -INFINITY, lane_reduce<Lanes>(mine.rest, sum_of())};
}

// Combines all values of `Lanes` neighbouring lanes, whose maximum is found first: no rescale.
template <int Lanes, int Count>
__device__ inline log_sum log_sum_over_lanes(const float (&value)[Count]) {
  const remaining_values<Count> mine(value, -INFINITY);
  const float maximum = lane_reduce<Lanes>(mine.held_out_max, max_of());
  return join_lanes<Lanes>({mine.held_out_max, mine.sum(maximum)}, maximum);
}

// Combines sums that are each relative to their own maximum: one rescale.
template <int Lanes>
__device__ inline log_sum merge_lanes(log_sum mine) {
  const float maximum = lane_reduce<Lanes>(mine.maximum, max_of());
  mine.rest *= rescale(mine.maximum, maximum);
  return join_lanes<Lanes>(mine, maximum);
}

// True if the lane is the first one of its group of `Lanes` for which `holds` is true.
template <int Lanes>
__device__ inline bool is_first_holder(bool holds) {
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
  const unsigned before = __ballot_sync(k_all_lanes, holds) >> (lane / Lanes * Lanes) & ((1u << lane % Lanes) - 1);
  return holds && before == 0;
}

// Sums all values of a warp by quick exponentials (reduce.hpp). No element is held out; instead 1 is subtracted from
// the sum, which is accurate enough for a rest of at least 1 (docs/numerics.md). Returns true in every lane if it is.
template <int Count>
__device__ inline bool quick_log_sum(const float (&value)[Count], log_sum& all) {
  const float maximum = warp_maximum(max_of_values(value)), reference = log_sum_reference(maximum);
  const float terms = chained_sum<Count>([&](int i) { return quick_exp(value[i] - reference); });
  all = {maximum, lane_reduce<k_warp_size>(terms, sum_of()) - 1.0f};
  return all.rest >= 1.0f;
}

// Combines all values of `Lanes` neighbouring lanes. For few values per lane it takes fewer steps than
// log_sum_over_lanes: only the first lane with the maximum holds one out. No rescale. For many values it uses the quick
// sum if that is accurate enough.
template <int Lanes, int Count>
__device__ inline log_sum log_sum_of_small_row(const float (&value)[Count]) {
  if constexpr (Lanes == k_warp_size && Count >= 16)
    if (log_sum all; quick_log_sum(value, all)) return all;
  const remaining_values<Count> mine(value, -INFINITY);
  const float maximum = lanes_maximum<Lanes>(mine.held_out_max);
  const bool held_out = is_first_holder<Lanes>(mine.held_out_max == maximum);
  // Written without a choice of results, for which the compiler would make one branch after another.
  const float term = expf(held_out ? -INFINITY : mine.held_out_max - log_sum_reference(maximum));
  return {maximum, lane_reduce<Lanes>(mine.sum(maximum) + term, sum_of())};
}

// Combines sums of `Lanes` neighbouring lanes, `Each` of every lane, that are each relative to their own maximum; a
// warp has the same sums several times. One rescale, one exponential each.
template <int Lanes, int Each>
__device__ inline log_sum merge_small_row(const log_sum (&mine)[Each]) {
  const float own = max_of_partials(mine), maximum = warp_maximum(own);
  bool holds_out = is_first_holder<Lanes>(own == maximum);
  float rest = 0.0f;
#pragma unroll
  for (int i = 0; i < Each; ++i) {
    const bool maximal = mine[i].maximum == maximum, held_out = maximal && holds_out;
    const float term = expf(maximal ? 0.0f : mine[i].maximum - maximum);
    const float all = fmaf(mine[i].rest, term, held_out ? 0.0f : term);
    rest = i == 0 ? all : rest + all;
    holds_out = holds_out && !maximal;
  }
  return {maximum, lane_reduce<Lanes>(rest, sum_of())};
}

__device__ inline float value_of(const log_sum& all) { return all.maximum + log1pf(all.rest); }

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
