// The arithmetic of a split: gates, gains and values of its two sides, in the order of operations that the contract
// states, and the order of records.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/best_split/best_split.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// Keeps h = 0 from a division by zero. From h = 16 on it changes nothing.
constexpr double k_split_epsilon = static_cast<double>(1e-15f);
constexpr uint32_t k_no_threshold = 0xffffffffu;

__host__ __device__ inline double soft_threshold(double s, double l1) {
  return fabs(s) <= l1 ? 0.0 : s - copysign(l1, s);
}

// Without smoothing.
__host__ __device__ inline double unsmoothed_gain(double g, double h, double l1, double l2) {
  const double t = soft_threshold(g, l1);
  return (t * t) / ((h + k_split_epsilon) + l2);
}

__host__ __device__ inline int64_t effective_min_data(const split_config& c) {
  if (c.path_smooth > 0 && c.min_data_in_leaf < 2) return 2;
  return c.min_data_in_leaf == 0 && c.min_sum_hessian_in_leaf == 0 ? 1 : c.min_data_in_leaf;
}

// Terms that all candidates of a task share.
template <split_compat Compat>
struct split_terms {
  double sum_g, sum_h;
  int64_t count;
  double rows_per_hessian;
  bool exact_counts;
  double l1, l2, path_smooth, parent_output, min_hessian, shift;
  int64_t min_data;
  double total_rows, least_rows;  // counts are at most 2^53
  bool is_open;                   // the leaf passes its own gate and is finite

  __device__ split_terms(const split_leaf& leaf, const split_config& c, bool exact, bool sorted)
      : sum_g(leaf.sum_g),
        sum_h(leaf.sum_h),
        count(leaf.count),
        rows_per_hessian(static_cast<double>(leaf.count) / (leaf.sum_h + 2 * k_split_epsilon)),
        exact_counts(exact),
        l1(c.lambda_l1),
        l2(sorted ? c.lambda_l2 + c.cat_l2 : c.lambda_l2),
        path_smooth(c.path_smooth),
        parent_output(leaf.parent_output),
        min_hessian(c.min_sum_hessian_in_leaf),
        shift(leaf.parent_gain + c.min_gain_to_split),
        min_data(effective_min_data(c)),
        total_rows(static_cast<double>(count)),
        least_rows(static_cast<double>(min_data)),
        is_open(leaf.count > min_data && leaf.sum_h > min_hessian && std::isfinite(leaf.sum_g) &&
                std::isfinite(leaf.sum_h) && std::isfinite(leaf.parent_gain) &&
                (!(c.path_smooth > 0) || std::isfinite(leaf.parent_output))) {}

  // Rows that a sum of hessians corresponds to; may exceed any count.
  __device__ double rows_of(double h) const { return rint(h * rows_per_hessian); }
};

// Sums and rows of some bins.
struct split_mass {
  double g, h;
  double n;
};

// The side of a division that the sums belong to, and how they were formed.
enum class split_scan : uint8_t {
  left,
  left_unstored,  // the same, beginning with a bin 0 that is not stored
  right,
  category,   // one, on the left side
  categories  // several, on the left side
};

// A side in the making: its sums and rows, then its gain and value.
struct split_half {
  double g, h, rows;
  double gain, value;
};

__device__ inline split_side side_of(const split_half& s) {
  return {s.g, s.h, s.gain, s.value, static_cast<int64_t>(s.rows)};
}

// Gains, and if requested values, of the halves of a division whose hessians in the maths are `d` minus l2; D > 0.
// Infinities and NaN make the gain of the division NaN or infinite: an infinite hessian of one side is -Inf on the
// other; an infinite or NaN gradient makes T T/D infinite or NaN; and because D is at least 2^-103 (h + eps is exact if
// it cancels), T/D overflows only if T T does.
template <bool WithValue, class Terms>
__device__ inline void weigh(const Terms& t, double d, split_half& s) {
  const double soft = t.l1 > 0 ? soft_threshold(s.g, t.l1) : s.g;
  if (WithValue) s.value = -soft / d;
  s.gain = (soft * soft) / d;
}

// The same with smoothing. GainOfValue: the gain at the value, even if nothing is smoothed.
template <bool GainOfValue, class Terms>
__device__ inline void weigh_smoothed(const Terms& t, double d, split_half& s) {
  const double ratio = t.path_smooth > 0 ? s.rows / t.path_smooth : INFINITY;
  if (!GainOfValue && std::isinf(ratio)) return weigh<true>(t, d, s);
  const double soft = soft_threshold(s.g, t.l1);
  s.value = -soft / d;
  if (!std::isinf(ratio)) s.value = (s.value * ratio) / (ratio + 1) + t.parent_output / (ratio + 1);
  s.gain = -((2 * soft) * s.value + (d * s.value) * s.value);
}

template <bool WithValues, bool GainOfValue, class Terms>
__device__ inline void weigh_halves(const Terms& t, double left_d, double right_d, split_half& left,
                                    split_half& right) {
  if (!GainOfValue && !(t.path_smooth > 0)) {
    weigh<WithValues>(t, left_d, left);
    weigh<WithValues>(t, right_d, right);
    return;
  }
  // A single copy in the code, because it is long and rarely runs.
#pragma unroll 1
  for (int i = 0; i < 2; ++i) {
    weigh_smoothed<GainOfValue>(t, i == 0 ? left_d : right_d, left);
    const split_half weighed = left;
    left = right;
    right = weighed;
  }
}

// The gain of a division; false if it is not above the leaf's shift.
template <class Terms>
__device__ inline bool net_gain(const Terms& t, const split_half& left, const split_half& right, double& gain) {
  const double sum = left.gain + right.gain;
  gain = sum - t.shift;
  return sum > t.shift && std::isfinite(gain);
}

// `h`: the hessian that decides. Rows that are not a count fail on one side or the other. Returns an integer, so that
// `&` joins these without a branch.
template <class Terms>
__device__ inline int passes_gates(const Terms& t, double h, const split_half& s) {
  return (h >= t.min_hessian) & (s.rows >= t.least_rows);
}

// The right side is the total minus the left one.
__device__ inline void divide(const split_terms<split_compat::strict>& t, const split_mass& sums, split_scan scan,
                              split_half& left, split_half& right) {
  const bool scanned_right = scan == split_scan::right;
  left.g = scanned_right ? t.sum_g - sums.g : sums.g;
  left.h = scanned_right ? t.sum_h - sums.h : sums.h;
  right.g = t.sum_g - left.g;
  right.h = t.sum_h - left.h;
  const double scanned = t.exact_counts ? sums.n : t.rows_of(scanned_right ? right.h : left.h);
  left.rows = scanned_right ? t.total_rows - scanned : scanned;
  right.rows = t.total_rows - left.rows;
}

// Judges a division; false if it is inadmissible. Computes the values if requested.
template <bool WithValues>
__device__ inline bool judge(const split_terms<split_compat::strict>& t, const split_mass& sums, split_scan scan,
                             split_half& left, split_half& right, double& gain) {
  divide(t, sums, scan, left, right);
  const double left_h = left.h + k_split_epsilon, right_h = right.h + k_split_epsilon;
  const double left_d = left_h + t.l2, right_d = right_h + t.l2;
  const int is_open = passes_gates(t, left_h, left) & passes_gates(t, right_h, right);
  if (!(is_open & (left_d > 0) & (right_d > 0))) return false;
  weigh_halves<WithValues, false>(t, left_d, right_d, left, right);
  return net_gain(t, left, right, gain);
}

// The conventions of LightGBM's learner on CUDA: eps is in the sums that decide and stays in some reported sums, and
// rows follow from both kinds (microsoft/LightGBM, src/treelearner/cuda/cuda_best_split_finder.cu).
template <bool WithValues>
__device__ inline bool judge(const split_terms<split_compat::lightgbm_cuda>& t, const split_mass& sums, split_scan scan,
                             split_half& left, split_half& right, double& gain) {
  split_half mine, rest;
  const bool is_category = scan == split_scan::category, is_list = scan == split_scan::categories;
  const double total = t.sum_h + 2 * k_split_epsilon;
  const double scanned = sums.h + (scan == split_scan::left_unstored ? 3 : 1) * k_split_epsilon;
  const double counted = is_category ? sums.h : scanned;
  const double other = is_category ? (total - sums.h) - k_split_epsilon : total - scanned;
  mine.g = sums.g;
  rest.g = t.sum_g - sums.g;
  mine.rows = t.rows_of(counted);
  rest.rows = t.total_rows - mine.rows;
  const double mine_d = scanned + t.l2, rest_d = other + t.l2;
  if (!passes_gates(t, counted, mine) || !passes_gates(t, other, rest) || !(mine_d > 0) || !(rest_d > 0)) return false;
  weigh_halves<false, false>(t, mine_d, rest_d, mine, rest);
  const bool scans_right = scan == split_scan::right;
  if (!net_gain(t, scans_right ? rest : mine, scans_right ? mine : rest, gain)) return false;
  mine.h = is_category ? sums.h : is_list ? scanned : scanned - k_split_epsilon;
  rest.h = is_category || is_list ? total - mine.h : (total - mine.h) - k_split_epsilon;
  mine.rows = t.rows_of(mine.h);
  rest.rows = is_category || is_list ? t.rows_of(rest.h) : t.total_rows - mine.rows;
  const double reported_d = mine.h + t.l2, rest_reported_d = rest.h + t.l2;
  const auto is_count = [&](double rows) { return rows >= 0 && rows <= t.total_rows; };
  if (!is_count(mine.rows) || !is_count(rest.rows) || !(reported_d > 0) || !(rest_reported_d > 0)) return false;
  weigh_halves<true, true>(t, reported_d, rest_reported_d, mine, rest);
  left = scans_right ? rest : mine;
  right = scans_right ? mine : rest;
  return std::isfinite(mine.gain) && std::isfinite(mine.value) && std::isfinite(rest.gain) && std::isfinite(rest.value);
}

// A candidate of one task. Only the candidate without a split has the gain -Inf.
struct split_candidate {
  double gain;
  uint32_t threshold;
  split_mass sums;  // of the scanned side

  __device__ static split_candidate none() { return {-INFINITY, k_no_threshold, {0, 0, 0}}; }
  __device__ bool is_valid() const { return threshold != k_no_threshold; }
  // Compares candidates of one task; their thresholds differ.
  __device__ bool is_better_than(const split_candidate& o) const {
    return gain > o.gain || (gain == o.gain && threshold < o.threshold);
  }
};

// Takes the candidate if it passes all gates and is better.
template <class Terms>
__device__ inline void offer(const Terms& t, const split_mass& sums, split_scan scan, uint32_t threshold,
                             split_candidate& best) {
  split_half left{}, right{};
  split_candidate found{0, threshold, sums};
  if (judge<false>(t, sums, scan, left, right, found.gain) && found.is_better_than(best)) best = found;
}

// SplitMix64's finaliser; a number below `size`.
__host__ __device__ inline uint32_t drawn_threshold(uint64_t seed, int32_t feature, uint32_t size) {
  uint64_t z = seed + (static_cast<uint64_t>(feature) + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  z ^= z >> 31;
  return static_cast<uint32_t>(((z >> 32) * size) >> 32);
}

__host__ __device__ inline split_record no_split() {
  const double nan = NAN;
  const split_side none{nan, nan, nan, nan, -1};
  return {false, false, -1, k_no_threshold, 0, -INFINITY, none, none};
}

// Writes every byte of a record; -0 becomes +0.
__device__ inline void store_record(split_record* to, const split_record& r) {
  auto* const words = reinterpret_cast<uint32_t*>(to);
  words[0] = (r.is_valid ? 1u : 0u) | (r.default_left ? 0x100u : 0u);
  to->feature = r.feature;
  to->threshold = r.threshold;
  to->num_cat = r.num_cat;
  const auto number = [&](double* place, double v) {
    if (v != v)
      *reinterpret_cast<uint64_t*>(place) = 0x7ff8000000000000ull;
    else
      *place = v + 0.0;
  };
  number(&to->gain, r.gain);
  const auto side = [&](split_side* place, const split_side& s) {
    number(&place->sum_g, s.sum_g);
    number(&place->sum_h, s.sum_h);
    number(&place->gain, s.gain);
    number(&place->value, s.value);
    place->count = s.count;
  };
  side(&to->left, r.left);
  side(&to->right, r.right);
}
static_assert(sizeof(split_record) == 104 && offsetof(split_record, feature) == 4, "store_record writes every byte");

// Copies every field to the bit, whatever NaN it holds; padding becomes zero.
__device__ inline void copy_record(split_record* to, const split_record& r) {
  constexpr size_t k_flags = sizeof(uint32_t);  // and padding
  *reinterpret_cast<uint32_t*>(to) = (r.is_valid ? 1u : 0u) | (r.default_left ? 0x100u : 0u);
  memcpy(reinterpret_cast<char*>(to) + k_flags, reinterpret_cast<const char*>(&r) + k_flags, sizeof r - k_flags);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
