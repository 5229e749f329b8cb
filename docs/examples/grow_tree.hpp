// What the two learners of grow_tree.cpp share: the data, the settings, the tree. Neither knows the other.
#pragma once

#include <cstdint>
#include <vector>

namespace grow_tree {

// Columns of values, NaN where a value is missing, and of each row the first and second derivative of the loss.
struct dataset {
  int64_t rows, features;
  std::vector<float> x;     // [features][rows]
  std::vector<float> g, h;  // [rows]
};

struct settings {
  int depth;                 // of the deepest leaf
  int bins;                  // most of a feature, without that of missing values; 1 to 255
  double lambda_l2;          // added to hessians
  double min_sum_hessian;    // of a leaf; positive
  double min_gain_to_split;  // beyond which a split gains
};

// Rows whose value is at most `threshold` go left, and those without a value where default_left says.
struct tree_node {
  int left = -1, right = -1;  // -1: a leaf
  int32_t feature = -1;
  float threshold = 0;
  bool default_left = false;
  double gain = 0;   // of the split
  double value = 0;  // what the node predicts
  int64_t rows = 0;
};

// Level by level, a left child before its right sibling; [0] is the root.
using tree = std::vector<tree_node>;

}  // namespace grow_tree
