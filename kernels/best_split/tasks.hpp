// Host side of best_split: checks of arguments, and the tasks of a feature.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "kernels/best_split/best_split.hpp"
#include "kernels/primitives/arguments.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

inline int32_t list_length(int32_t max_cat) { return max_cat < 1 ? 1 : max_cat; }

inline std::string allowed(const std::string& name, double value, const char* what) {
  return name + " is " + std::to_string(value) + ", must be " + what;
}

inline void check_not_negative(const char* name, double value) {
  if (!(value >= 0) || !std::isfinite(value)) throw std::invalid_argument(allowed(name, value, "finite and >= 0"));
}

inline void check_config(const split_config& c) {
  check_not_negative("lambda_l1", c.lambda_l1);
  check_not_negative("lambda_l2", c.lambda_l2);
  check_not_negative("path_smooth", c.path_smooth);
  check_not_negative("min_sum_hessian_in_leaf", c.min_sum_hessian_in_leaf);
  check_not_negative("min_gain_to_split", c.min_gain_to_split);
  check_not_negative("min_data_in_leaf", static_cast<double>(c.min_data_in_leaf));
  check_not_negative("min_data_per_group", static_cast<double>(c.min_data_per_group));
  check_not_negative("cat_smooth", c.cat_smooth);
  check_not_negative("cat_l2", c.cat_l2);
  check_not_negative("max_cat_threshold", c.max_cat_threshold);
  check_not_negative("max_cat_to_onehot", c.max_cat_to_onehot);
  if (c.compat != split_compat::strict && c.compat != split_compat::lightgbm_cuda)
    throw std::invalid_argument(allowed("compat", static_cast<int>(c.compat), "0 (strict) or 1 (lightgbm_cuda)"));
  if (c.compat == split_compat::lightgbm_cuda && c.extra_trees)
    throw std::invalid_argument("extra_trees is 1, must be 0 where compat is lightgbm_cuda");
  if (c.path > split_path::mixed)
    throw std::invalid_argument(
        allowed("path", static_cast<int>(c.path), "0 (automatic), 1 (block), 2 (cluster) or 3 (mixed)"));
  check_not_negative("known.most_bins", c.known.most_bins);
  check_not_negative("known.long_tasks", static_cast<double>(c.known.long_tasks));
}

inline int64_t checked_product(const char* name, int64_t a, int64_t b) {
  if (a < 0) throw std::invalid_argument(std::string(name) + " is " + std::to_string(a) + ", must be >= 0");
  if (a > 0 && b > std::numeric_limits<int64_t>::max() / 1024 / a)
    throw std::invalid_argument(std::string(name) + " is " + std::to_string(a) +
                                ", must be small enough for a product with " + std::to_string(b) + " in 64 bits");
  return a * b;
}

inline row_block vector_of(const char* name, const void* data, size_t element, int64_t count) {
  return {name, data, element, 1, count, count, nullptr};
}

inline size_t split_workspace_bytes(int64_t num_tasks, int64_t num_leaves, const split_config& c) {
  check_config(c);
  const int64_t items = checked_product("num_tasks", num_tasks, checked_product("num_leaves", num_leaves, 1));
  if (c.known.long_tasks > num_tasks)
    throw std::invalid_argument(allowed("known.long_tasks", static_cast<double>(c.known.long_tasks),
                                        ("at most num_tasks, " + std::to_string(num_tasks)).c_str()));
  const auto list = static_cast<size_t>(list_length(c.max_cat_threshold));
  return static_cast<size_t>(items) * (sizeof(split_record) + 3 * list * sizeof(uint32_t));
}

// The tasks of a feature; returns how many there are.
__host__ __device__ inline int tasks_of_feature(const feature_meta& f, const split_config& c, split_task (&tasks)[2]) {
  split_task t{f.feature,
               f.num_bin,
               f.default_bin,
               f.hist_offset,
               f.mfb_offset,
               false,
               false,
               false,
               false,
               f.categorical,
               f.categorical && f.num_bin <= c.max_cat_to_onehot};
  tasks[0] = tasks[1] = t;
  if (f.categorical) return 1;
  tasks[0].reverse = true;
  if (f.num_bin <= 2 || f.missing == missing_kind::none) {
    tasks[0].default_left =
        f.missing == missing_kind::none ||
        (f.missing == missing_kind::zero && (f.default_bin == 0 || c.compat == split_compat::lightgbm_cuda));
    return 1;
  }
  tasks[0].default_left = true;
  for (split_task& each : tasks) {
    each.skip_default_bin = f.missing == missing_kind::zero;
    each.na_as_missing = f.missing == missing_kind::nan;
  }
  return 2;
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
