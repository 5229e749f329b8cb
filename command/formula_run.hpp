// `warpcheck run`: the exact value and the bound of a formula for given arrays.
#pragma once

#include <string>
#include <vector>

namespace warpcheck::cli {

struct run_formula_options {
  std::string formula;
  std::vector<std::string> inputs;   // NAME=FILE.npy
  std::vector<std::string> values;   // NAME=NUMBER: a scalar, or an extent that no input has
  std::vector<std::string> outputs;  // NAME=FILE.npy, or FILE.npy if there is one output: the exact values
  std::vector<std::string> bounds;   // the same for the bounds
};
int run_formula(const run_formula_options& o);

}  // namespace warpcheck::cli
