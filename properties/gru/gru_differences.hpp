// Slopes of gated recurrent units by central differences of the reference's forward pass.
#pragma once

#include <cstddef>
#include <vector>

#include "reference/gru/gru.hpp"
#include "reference/gru/gru_backward.hpp"

namespace warpcheck {

// A problem with the gradients that come from above; empty ones are zeros.
template <class S>
struct gru_case {
  reference::gru_problem<S> problem;
  std::vector<S> dy, dhn;
};

using reference::gru_tensor, reference::gru_tensors;

template <class S>
S dot(const std::vector<S>& a, const std::vector<S>& b) {
  S sum(0);
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// <dy, y> + <dhn, hn>.
template <class S>
S gru_objective(const gru_case<S>& c) {
  const auto states = reference::gru_forward(c.problem);
  return dot(c.dy, states.y) + dot(c.dhn, states.hn);
}

// The slope of the objective along a direction of one tensor, by a central difference of width 2 `step`.
template <class S>
S gru_difference(const gru_case<S>& c, const gru_tensor<S>& tensor, const std::vector<S>& direction, const S& step) {
  const auto moved = [&](const S& by) {
    gru_case<S> copy = c;
    std::vector<S>& values = copy.problem.*tensor.value;
    for (size_t i = 0; i < values.size(); ++i) values[i] += by * direction[i];
    return gru_objective(copy);
  };
  return (moved(step) - moved(S(-step))) / (2 * step);
}

}  // namespace warpcheck
