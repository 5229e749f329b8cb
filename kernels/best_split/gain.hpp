// The arithmetic of a split: gates, gains and values of its two sides, in the order of operations that the contract
// states, and the order of records.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/best_split.hpp"

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

// What all candidates of a task share.
struct split_terms {
  double sum_g, sum_h;
  int64_t count;
  double rows_per_hessian;
  bool exact_counts;
  double l1, l2, path_smooth, parent_output, min_hessian, shift;
  int64_t min_data;
  bool is_open;  // the leaf passes its own gate and is finite

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
        is_open(leaf.count > min_data && leaf.sum_h > min_hessian && std::isfinite(leaf.sum_g) &&
                std::isfinite(leaf.sum_h) && std::isfinite(leaf.parent_gain) &&
                (!(c.path_smooth > 0) || std::isfinite(leaf.parent_output))) {}

  // Rows that a sum of hessians stands for; may be beyond any count.
  __device__ double rows_of(double h) const { return rint(h * rows_per_hessian); }
};

// Sums and rows of some bins.
struct split_mass {
  double g, h;
  int64_t n;
};

// The right side is what is left of the total; false where a count is impossible. `scanned_right`: the rows in `n` are
// those of the right side.
__device__ inline bool divide(const split_terms& t, const split_mass& left_sums, bool scanned_right, split_side& left,
                              split_side& right) {
  left.sum_g = left_sums.g;
  left.sum_h = left_sums.h;
  right.sum_g = t.sum_g - left.sum_g;
  right.sum_h = t.sum_h - left.sum_h;
  int64_t scanned = left_sums.n;
  if (!t.exact_counts) {
    const double rows = t.rows_of(scanned_right ? right.sum_h : left.sum_h);
    if (!(rows >= 0 && rows <= static_cast<double>(t.count))) return false;
    scanned = static_cast<int64_t>(rows);
  }
  if (scanned < 0 || scanned > t.count) return false;
  left.count = scanned_right ? t.count - scanned : scanned;
  right.count = t.count - left.count;
  return true;
}

__device__ inline bool passes_gates(const split_terms& t, const split_side& s) {
  return s.sum_h + k_split_epsilon >= t.min_hessian && s.count >= t.min_data;
}

// Gain and value of a side; false where they are not defined or not finite.
__device__ inline bool weigh(const split_terms& t, split_side& s) {
  const double d = (s.sum_h + k_split_epsilon) + t.l2;
  if (!(d > 0)) return false;
  const double soft = soft_threshold(s.sum_g, t.l1);
  const double ratio = t.path_smooth > 0 ? static_cast<double>(s.count) / t.path_smooth : INFINITY;
  if (std::isinf(ratio)) {
    s.value = -soft / d;
    s.gain = (soft * soft) / d;
  } else {
    s.value = ((-soft / d) * ratio) / (ratio + 1) + t.parent_output / (ratio + 1);
    s.gain = -((2 * soft) * s.value + (d * s.value) * s.value);
  }
  return std::isfinite(s.sum_g) && std::isfinite(s.sum_h) && std::isfinite(s.gain) && std::isfinite(s.value);
}

// The gain of a division; false where it is none or not above the leaf's shift.
__device__ inline bool gain_of(const split_terms& t, split_side& left, split_side& right, double& gain) {
  if (!weigh(t, left) || !weigh(t, right)) return false;
  const double sum = left.gain + right.gain;
  gain = sum - t.shift;
  return sum > t.shift && std::isfinite(gain);
}

// A candidate of one task.
struct split_candidate {
  double gain;
  uint32_t threshold;
  bool is_valid;
  split_mass left;

  __device__ static split_candidate none() { return {-INFINITY, k_no_threshold, false, {0, 0, 0}}; }
  // Of one task, in which no two candidates have one threshold.
  __device__ bool is_better_than(const split_candidate& o) const {
    if (is_valid != o.is_valid) return is_valid;
    return gain > o.gain || (gain == o.gain && threshold < o.threshold);
  }
};

// Takes the candidate if it passes everything and is better.
__device__ inline void offer(const split_terms& t, const split_mass& left_sums, bool scanned_right, uint32_t threshold,
                             split_candidate& best) {
  split_side left, right;
  if (!divide(t, left_sums, scanned_right, left, right)) return;
  if (!passes_gates(t, left) || !passes_gates(t, right)) return;
  split_candidate found{0, threshold, true, left_sums};
  if (gain_of(t, left, right, found.gain) && found.is_better_than(best)) best = found;
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

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
