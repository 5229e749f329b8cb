// The numbers of a record in the order in which a plain implementation makes them, for explanations; no verdict uses
// them.
#pragma once

#include <vector>

#include "reference/best_split/best_split.hpp"
#include "reference/numerics/model_step.hpp"

namespace warpcheck::reference {

// Places of sums and of the gain among the steps.
constexpr size_t k_left_g = 3, k_left_h = 4, k_gain = 13;

inline std::vector<model_step> split_steps(const split_result& r) {
  std::vector<model_step> steps;
  const auto add = [&](const char* what, auto value) {
    const auto number = static_cast<double>(value);
    steps.push_back({what, number, number});
  };
  add("feature", r.feature);
  add("threshold", r.threshold);
  add("default left", r.default_left);
  add("left sum of g", r.left.g);
  add("left sum of h", r.left.h);
  add("left rows", r.left.n);
  add("right sum of g", r.right.g);
  add("right sum of h", r.right.h);
  add("right rows", r.right.n);
  add("left gain", r.left.gain);
  add("right gain", r.right.gain);
  add("left value", r.left.value);
  add("right value", r.right.value);
  add("gain", r.gain);
  return steps;
}

}  // namespace warpcheck::reference
