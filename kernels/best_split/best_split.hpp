// Best split of the leaves of a histogram tree.
//
// Contract (the reference, properties and golden data refer to this comment)
//   A feature has bins 0..nb-1; bin b lies in slot hist_base + hist_offset + b - o of the histogram, o = mfb_offset.
//   With o = 1 bin 0 is not stored: its mass is total - sum of the stored slots, and it counts like any other bin.
//   Routing: the missing bin is nb-1 (nan), default_bin (zero) or none. A row goes left iff (its bin is the missing bin
//   ? default_left : bin <= threshold); of a categorical feature iff its bin is listed, and bin 0 never is. Thresholds
//   (nb <= 2 counts as missing none; d = default_bin):
//     none 0..nb-2 · nan 0..nb-2 to the right, 0..nb-3 to the left · zero 0..nb-2, to the right except d (d not on the
//     left), to the left except d-1 (d on the left).
//   extra_trees: only the threshold drawn for (leaf seed, feature), shared by both directions.
//   Sums: left as accumulated, or total - right if the right side was; then right = fl(total - left).
//   Counts: from bin_count, or rint(h n/(H + 2 eps)) of the accumulated side (categorical and missing to the right:
//   left; else right) and n - that. eps = (double)1e-15f is in no reported sum. A count outside [0, n] is inadmissible.
//   Gates, both sides: h + eps >= min_sum_hessian_in_leaf, count >= min_data_in_leaf (at least 1 if both are zero,
//   at least 2 with smoothing). Leaf: count > min data, sum_h > min hessian, else no split. Maths: T(s) = sign(s)
//   max(|s| - lambda_l1, 0), D = (h + eps) + l2 > 0, value w = -T/D, gain_s = T T/D; with smoothing r =
//   count/path_smooth, w = ((-T/D) r)/(r+1) + parent_output/(r+1), gain_s = -((2T) w + (D w) w). A ratio r that
//   overflows means no smoothing. gain = (gain_L + gain_R) - (parent_gain + min_gain_to_split), which must be positive
//   before the subtraction. The order of operations is part of the contract: no contraction, no fast-math.
//   Categorical: one-hot (nb <= max_cat_to_onehot) tries {b}, b in 1..nb-1. Otherwise the usable bins (count >=
//   cat_smooth, finite key g/(h + cat_smooth)) are sorted by (key, bin) and the prefixes of length 1..K from either end
//   are walked, K = min(max_cat_threshold, (usable + 1)/2), with l2 = lambda_l2 + cat_l2: left gates fail: next; right
//   hessian gate fails or right count < max(min data, min_data_per_group): stop; fewer than min_data_per_group rows
//   since the last tested prefix: next; else it is tested. The list is in the order of the keys. Order: larger gain,
//   then lower feature, default_left first, lower threshold (one-hot: the bin; sorted: k-1 from the low end, K+k-1 from
//   the high end). Non-finite: sum_g, sum_h or parent_gain (parent_output with smoothing): no split of the leaf; a
//   stored slot: no split of the feature; a sum, gain or value of a candidate: inadmissible. No split: is_valid =
//   default_left = false, feature = -1, threshold = 0xffffffff, num_cat = 0, gain = -Inf, the sides' doubles NaN
//   (0x7ff8000000000000), counts -1. No double is -0, padding is zero: records compare with memcmp.
//
//   Compatible with LightGBM's learner on CUDA (config.compat = lightgbm_cuda; without extra_trees, without bin_count):
//   H2 = sum_h + 2 eps. A scan of hessians h decides by h + eps (h + 3 eps if it begins with a bin 0 that is not
//   stored) and H2 - that, without another eps in gates and D; rows follow from the first. It reports (h + eps) - eps
//   and (H2 - that) - eps, so that left + right = sum_h + eps, and the rows of the first of these. One category decides
//   by h in its gate and its count, by h + eps in D, by (H2 - h) - eps on the other side, and reports h and H2 - h;
//   sorted categories report h + eps and H2 - that; both count each side. Reported values and gains come from reported
//   hessians and rows, D = h + l2, gain_s = -((2T) w + (D w) w). Every prefix of sorted categories is tested. With o =
//   1, missing zero to the right: no scanned side contains bin 0, and thresholds begin at 1. nb <= 2 and missing zero:
//   default_left. Values that are not finite stay inadmissible, and the order of records stays the same.
//
// Arguments
//   hist        f64 [slots][2]: sum of gradients, sum of hessians; device memory, aligned to 8 bytes. Only read.
//   bin_count   i64 [slots], device memory, or null: rows of each slot. Rows are at most 2^53, as in leaves.
//   tasks       num_tasks, leaves num_leaves: device memory. num_bin in 1..65536, default_bin in 0..num_bin-1.
//   used        u8 [num_leaves][num_tasks], device memory, or null: 0 leaves the task out.
//   out         num_leaves records, device memory; every byte is written.
//   cat_bins    u32 [num_leaves][max(1, max_cat_threshold)], device memory: bins that go left, then 0xffffffff. May be
//               null if no task is categorical.
//   ws          device memory, aligned to 16 bytes, of at least best_split_workspace_bytes(...); any contents.
//   config      host memory. Features, configurations: numbers are finite and not negative.
//   Outputs and workspace overlap nothing.
//
// Error. A side's sum lies within gamma_64 (|total| + sum of |slots|) of the exact one (u = 2^-53; docs/numerics.md);
// everything else is the stated sequence of IEEE operations on the sums. Same bits on every launch, stream and
// schedule; on data whose sums are exact, on both paths and devices.
//
// Source: Ke et al., LightGBM, NeurIPS 2017; Fisher, On grouping for maximum homogeneity, JASA 53, 1958 (sorted
// categories); Steele, Lea, Flood, Fast splittable pseudorandom number generators, OOPSLA 2014 (the draw).
//
// Throws std::invalid_argument and simt::device_error (failed launch).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

enum class missing_kind : uint8_t { none, zero, nan };

// block: a warp for each task of up to 256 bins, a block for each other. cluster: a cluster of blocks per task, for few
// tasks with many bins. mixed: clusters for the last config.known.long_tasks tasks, blocks for the others. `automatic`
// picks by the number of tasks and leaves, and by config.known.
enum class split_path : uint8_t { automatic, block, cluster, mixed };

// strict: the contract above. lightgbm_cuda: the contract with the changes that it lists for LightGBM.
enum class split_compat : uint8_t { strict, lightgbm_cuda };

struct feature_meta {
  int32_t feature;
  int32_t num_bin;
  int32_t default_bin;
  int64_t hist_offset;
  uint8_t mfb_offset;
  missing_kind missing;
  bool categorical;
};

// A feature in one direction. `reverse`: the right side is accumulated, from the last bin down.
struct split_task {
  int32_t feature;
  int32_t num_bin;
  int32_t default_bin;
  int64_t hist_offset;
  uint8_t mfb_offset;
  bool reverse;
  bool skip_default_bin;
  bool na_as_missing;
  bool default_left;
  bool categorical;
  bool one_hot;
};

// Facts about the tasks that the host cannot see, because they are in device memory. They change the time of a call,
// never its result.
struct split_knowledge {
  int32_t most_bins = 0;   // of a task; 0: not known
  int64_t long_tasks = 0;  // number of last tasks, in [0, num_tasks], with more bins than a block takes at a time
};

struct split_config {
  double lambda_l1 = 0;
  double lambda_l2 = 0;
  double path_smooth = 0;
  double min_sum_hessian_in_leaf = 1e-3;
  double min_gain_to_split = 0;
  int64_t min_data_in_leaf = 20;
  int64_t min_data_per_group = 100;
  bool extra_trees = false;
  double cat_smooth = 10;
  double cat_l2 = 10;
  int32_t max_cat_threshold = 32;
  int32_t max_cat_to_onehot = 4;
  split_path path = split_path::automatic;
  split_compat compat = split_compat::strict;
  split_knowledge known;
};

struct split_leaf {
  int64_t hist_base;
  double sum_g;
  double sum_h;
  int64_t count;
  double parent_gain;
  double parent_output;
  uint64_t seed;
};

struct split_side {
  double sum_g;
  double sum_h;
  double gain;
  double value;
  int64_t count;
};

struct split_record {
  bool is_valid;
  bool default_left;
  int32_t feature;
  uint32_t threshold;
  int32_t num_cat;
  double gain;
  split_side left;
  split_side right;
};

// Host. One or two tasks per feature. Throws std::invalid_argument: num_bin, default_bin, mfb_offset or missing out of
// range, hist_offset negative, null with num_features > 0.
std::vector<split_task> make_split_tasks(const feature_meta* features, int64_t num_features,
                                         const split_config& config);

// Host. Moves long tasks after the others, keeps the order of each kind, and returns the facts about them, which are
// config.known of calls on these tasks. `used` of such a call must have the new order.
split_knowledge long_tasks_last(std::vector<split_task>& tasks);

size_t best_split_workspace_bytes(int64_t num_tasks, int64_t num_leaves, const split_config& config);

// Returns the path that was used.
split_path best_split(const double* hist, const int64_t* bin_count, const split_task* tasks, int64_t num_tasks,
                      const split_leaf* leaves, int64_t num_leaves, const uint8_t* used, const split_config& config,
                      split_record* out, uint32_t* cat_bins, void* ws, size_t ws_bytes, simt::stream_t stream);

// The second stage: the best record of each of `num_leaves` groups of `per_leaf`, by the order above, on any records;
// those that are invalid or whose gain is NaN are passed over whatever else they hold, and every field of the best is
// copied to the bit. cat_in [num_leaves][per_leaf]
// [max(1, max_cat)] and cat_out [num_leaves][max(1, max_cat)] may both be null.
void split_reduce(const split_record* in, const uint32_t* cat_in, int64_t per_leaf, int64_t num_leaves, int32_t max_cat,
                  split_record* out, uint32_t* cat_out, simt::stream_t stream);

// (T T)/((h + eps) + lambda_l2): parent_gain of a root.
double leaf_gain(double g, double h, const split_config& config);

// -T/((h + eps) + lambda_l2): the value of a root, parent_output of its own split.
double leaf_value(double g, double h, const split_config& config);

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
