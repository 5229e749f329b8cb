// The best split of one leaf, by the definition in kernels/best_split/best_split.hpp: every candidate in turn, sums by
// compensated additions, then the stated sequence of IEEE operations. Where every sum is exact (dyadic data) the record
// is the only right one; for other data, what a record must satisfy. docs/numerics.md derives both.
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
  bool lightgbm_cuda = false;  // that learner's conventions; without extra_trees and without rows per slot
};

struct split_leaf_values {
  int64_t hist_base = 0;
  double g = 0, h = 0;
  int64_t n = 0;
  double parent_gain = 0, parent_output = 0;
  uint64_t seed = 0;
};

// A leaf and its histogram: slots of two doubles; rows per slot, or none.
struct split_problem {
  std::span<const double> slots;
  std::span<const int64_t> counts;
  std::vector<split_feature> features;
  std::vector<bool> used;  // per feature
  split_leaf_values leaf;
  split_settings settings;
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
// At least 1 where both gates are zero, at least 2 with smoothing.
int64_t least_rows(const split_settings& s);
// The threshold that extra_trees allows, of `size`.
uint32_t drawn_threshold(uint64_t seed, int64_t feature, uint64_t size);

// True if a row of the bin goes left.
bool goes_left(const split_feature& f, const split_result& r, int64_t bin);
// The mass of a bin and its rows (0 without counts); bin 0 is what the slots leave of the total where it is not stored.
struct bin_mass {
  double g = 0, h = 0;
  int64_t n = 0;
};
std::vector<bin_mass> bins_of(const split_problem& p, const split_feature& f);

// Every candidate of the leaf's features, in no order that matters; none where the leaf is closed.
void for_each_candidate(const split_problem& p, const std::function<void(const split_candidate_sums&)>& see);

// Gates, gains, values; nothing where the candidate is inadmissible.
std::optional<split_result> evaluate(const split_problem& p, const split_candidate_sums& c);
// a before b: larger gain, lower feature, default_left, lower threshold. Both valid.
bool is_better(const split_result& a, const split_result& b);
// The record that dyadic data must give.
split_result best_split(const split_problem& p);

// Why a record cannot be right, on data whose sums round; empty if it can. Its sides' sums must lie within the bound,
// all else must follow from them to the bit, and no candidate that is certainly admissible may certainly have more
// gain.
std::string refute(const split_problem& p, const split_result& r);
// Recomputes everything that follows from the record's left sums and left count; returns an empty text if the record
// agrees.
std::string inconsistency(const split_problem& p, const split_result& r);

// The largest gain of a leaf of numerical features, by routing every bin for every threshold and direction, in rational
// numbers: a second algorithm, for small leaves. Nothing where no candidate is admissible. Rounded to double once.
std::optional<double> rational_gain(const split_problem& p);

}  // namespace warpcheck::reference
