// The calls of best_split (see the contract in best_split.hpp) as data. Structures travel as plain tensors.
#pragma once

#include "abi/contract.hpp"

namespace warpcheck {

// "split": feature holds feature_meta, leaf split_leaf, both in the order of their members; count has an element per
// slot or none, used one per leaf and feature or none. "reduction": records of best_split, per_leaf for each leaf.
// Outputs of both: value {gain, then sum_g, sum_h, gain, value of the left and of the right side}; field {the first
// four bytes of the record (is_valid, default_left, padding) as a number, feature, threshold, num_cat, rows of the left
// and of the right side}; cat has max(1, max_cat) columns.
inline const contract& best_split_contract() {
  static const contract described = [] {
    constexpr double k_most_whole = 0x1p53, k_most_small = 0x1p31 - 1;
    const auto in = [](const char* name, const char* shape, uint32_t type) {
      return tensor_rule{name, true, shape, type};
    };
    const auto with_records = [](std::vector<tensor_rule> tensors) {
      tensors.push_back({"value", false, "leaves, 9", WARPCHECK_F64});
      tensors.push_back({"field", false, "leaves, 6", WARPCHECK_I64});
      tensors.push_back({"cat", false, "leaves, list", WARPCHECK_U32});
      return tensors;
    };
    contract c;
    c.op = "best_split";
    c.extents = {"slots", "features", "leaves", "counts", "masked_leaves", "masked_features", "list"};
    c.forms = {
        {"split",
         with_records({in("hist", "slots, 2", WARPCHECK_F64), in("count", "counts", WARPCHECK_I64),
                       in("feature", "features, 7", WARPCHECK_I64),
                       in("used", "masked_leaves, masked_features", WARPCHECK_U8),
                       in("leaf", "leaves, 7", WARPCHECK_F64)}),
         {{"lambda_l1", 0, "the soft threshold"},
          {"lambda_l2", 0, "added to hessians"},
          {"path_smooth", 0, "smoothing towards the parent's output"},
          {"min_hessian", 0.001, "the least sum of hessians of a side"},
          {"min_gain", 0, "what a split must gain besides"},
          {"min_data", 1, "the fewest rows of a side", 0, k_most_whole, true},
          {"min_group", 1, "the fewest rows between tested prefixes of categories", 0, k_most_whole, true},
          {"extra_trees", 0, "1: one threshold is drawn", 0, 1, true},
          {"cat_smooth", 1, "added to a category's hessian, and its fewest rows"},
          {"cat_l2", 1, "added to lambda_l2 of sorted categories"},
          {"max_cat", 32, "the longest list of categories", 0, k_most_small, true},
          {"max_onehot", 4, "up to so many bins one category goes left", 0, k_most_small, true},
          {"lightgbm_cuda", 0, "1: the conventions of LightGBM's learner on CUDA", 0, 1, true},
          {"long_features", 0, "a hint: so many at the end have many bins; 0: not known", 0, k_most_whole, true}}},
        {"reduction",
         with_records({in("in_value", "per_leaf*leaves, 9", WARPCHECK_F64),
                       in("in_field", "per_leaf*leaves, 6", WARPCHECK_I64),
                       in("in_cat", "per_leaf*leaves, list", WARPCHECK_U32)}),
         {{"per_leaf", 1, "records of each leaf", 0, k_most_whole, true},
          {"max_cat", 4, "the longest list of categories", 0, k_most_small, true}}}};
    return c;
  }();
  return described;
}

}  // namespace warpcheck
