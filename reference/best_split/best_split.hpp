// The best split of one leaf, by the definition in kernels/best_split/best_split.hpp: it tries every candidate in turn,
// with compensated sums and then the stated sequence of IEEE operations. If every sum is exact (dyadic data), this
// record is the only correct one; for other data refute() checks what a record must satisfy. docs/numerics.md derives
// both.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace warpcheck::reference {

constexpr uint32_t k_no_split_threshold = 0xffffffffu;
// Added to h, so that h = 0 does not divide by 0.
constexpr double k_split_eps = static_cast<double>(1e-15f);

enum class split_missing : uint8_t { none, zero, nan };

struct split_feature {
  int64_t id = 0;
  int64_t num_bin = 1;
  int64_t default_bin = 0;
  int64_t hist_offset = 0;
  int64_t mfb_offset = 0;
  split_missing missing = split_missing::none;
  bool categorical = false;
};

struct split_settings {
  double lambda_l1 = 0, lambda_l2 = 0, path_smooth = 0, min_hessian = 1e-3, min_gain = 0;
  int64_t min_data = 20, min_group = 100;
  bool extra_trees = false;
  double cat_smooth = 10, cat_l2 = 10;
  int64_t max_cat = 32, max_onehot = 4;
  bool lightgbm_cuda = false;  // LightGBM's conventions on CUDA; without extra_trees and without rows per slot
};

struct split_leaf_values {
  int64_t hist_base = 0;
  double g = 0, h = 0;
  int64_t n = 0;
  double parent_gain = 0, parent_output = 0;
  uint64_t seed = 0;
};

// A leaf and its histogram: slots of two doubles, and optionally the rows of each slot.
struct split_problem {
  std::span<const double> slots = {};
  std::span<const int64_t> counts = {};
  std::vector<split_feature> features = {};
  std::vector<bool> used = {};  // per feature
  split_leaf_values leaf = {};
  split_settings settings = {};
};

struct split_part {
  double g = 0, h = 0, gain = 0, value = 0;
  int64_t n = -1;
};

struct split_result {
  bool is_valid = false;
  bool default_left = false;
  int64_t feature = -1;
  uint32_t threshold = k_no_split_threshold;
  double gain = 0;
  split_part left, right;
  std::vector<uint32_t> categories = {};
};

// One way to divide the leaf.
struct split_candidate_sums {
  size_t feature;  // its place in the problem's list
  bool default_left = false;
  uint32_t threshold = 0;
  bool scans_right = false;  // counts are derived from the right side
  bool is_sorted = false;
  double g = 0, h = 0;                  // left
  double scanned_g = 0, scanned_h = 0;  // of the accumulated side, before anything is taken from the total
  double radius_g = 0, radius_h = 0;
  int64_t scanned_rows = 0;   // exact counts only
  bool has_unstored = false;  // lightgbm_cuda: the scan began with a bin 0 that is not stored
  std::vector<uint32_t> categories = {};
};

// (T T)/((h + eps) + lambda_l2).
double leaf_gain(double g, double h, const split_settings& s);
// At least 1 if both gates are zero, at least 2 with smoothing.
int64_t least_rows(const split_settings& s);
// The threshold that extra_trees allows, of `size`.
uint32_t drawn_threshold(uint64_t seed, int64_t feature, uint64_t size);

// True if a row of the bin goes left.
bool goes_left(const split_feature& f, const split_result& r, int64_t bin);
// The mass of a bin and its rows (0 without counts). An unstored bin 0 is the total minus the slots.
struct bin_mass {
  double g = 0, h = 0;
  int64_t n = 0;
};
std::vector<bin_mass> bins_of(const split_problem& p, const split_feature& f);

// Visits every candidate of the leaf's features, in an unspecified order; none if the leaf is closed.
void for_each_candidate(const split_problem& p, const std::function<void(const split_candidate_sums&)>& see);

// Returns gates, gains and values, or nothing if the candidate is inadmissible.
std::optional<split_result> evaluate(const split_problem& p, const split_candidate_sums& c);
// True if a is preferred to b: larger gain, lower feature, default_left, lower threshold. Both must be valid.
bool is_better(const split_result& a, const split_result& b);
// Returns the record that is correct for dyadic data.
split_result best_split(const split_problem& p);

// Returns why a record cannot be right, on data whose sums round; empty if it can. The sums of its sides must lie
// within the bound, all other numbers must follow from them to the bit, and no candidate that is certainly admissible
// may certainly have more gain.
std::string refute(const split_problem& p, const split_result& r);
// Recomputes everything that follows from the record's left sums and left count; returns an empty text if the record
// agrees.
std::string inconsistency(const split_problem& p, const split_result& r);

// Returns the largest gain of a leaf of numerical features, rounded to double once: a second algorithm, for small
// leaves, that routes every bin for every threshold and direction in rational numbers. Nothing if no candidate is
// admissible.
std::optional<double> rational_gain(const split_problem& p);

}  // namespace warpcheck::reference
