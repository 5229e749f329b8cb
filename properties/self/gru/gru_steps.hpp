// Cases of gated recurrent units for the kernels' tests: rows of every kind, a size of each regime, and the verdict by
// steps with the chains that a plan declares.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "kernels/gru/gru.hpp"
#include "properties/self/gru/gru_problems.hpp"
#include "properties/self/gru/gru_run.hpp"
#include "reference/gru_bound.hpp"
#include "simt/emulation.hpp"

namespace warpcheck::self {

inline reference::dot_arithmetic arithmetic_of(gru_precision p) {
  using reference::dot_arithmetic;
  return p == gru_precision::ieee     ? dot_arithmetic::ieee
         : p == gru_precision::tf32x3 ? dot_arithmetic::tf32x3
         : p == gru_precision::tf32   ? dot_arithmetic::tf32x1
                                      : dot_arithmetic::bf16x1;
}
inline reference::gru_accuracy accuracy_of(const gru_plan& plan, gru_precision precision = gru_precision::ieee) {
  return {arithmetic_of(precision),
          {plan.depth_i, plan.steps_i},
          {plan.depth_h, plan.steps_h},
          {plan.depth_tb, plan.steps_tb}};
}

// The largest parts of their bounds that errors take, forwards and backwards.
inline std::pair<double, double> expect_steps(const gru_case<double>& c, const gru_result& r, gru_way way,
                                              int64_t limit, const std::string& what) {
  const gru_config config = config_of(c.problem.shape, way, limit);
  const auto states = states_of(r);
  const auto forward = judge_gru_steps(c.problem, states, accuracy_of(gru_forward_plan(config), way.precision));
  EXPECT_TRUE(forward.accepted()) << what << ": " << forward.where;
  const auto backward = judge_gru_gradient_steps(c.problem, states, c.dy, c.dhn, gradients_of(r),
                                                 accuracy_of(gru_backward_plan(config), way.precision));
  EXPECT_TRUE(backward.accepted()) << what << ": " << backward.where;
  return {forward.worst, backward.worst};
}

inline std::vector<uint8_t> marks_at(const gru_shape& s, std::initializer_list<std::pair<int64_t, int64_t>> places) {
  std::vector<uint8_t> marks(static_cast<size_t>(s.time * s.batch));
  for (const auto& [t, b] : places) marks[static_cast<size_t>(t * s.batch + b)] = 1;
  return marks;
}

// Rows of every kind: full, empty, of one step, ragged, longer than there are steps; marks at 0, in the middle, at the
// last step, beyond the row.
inline gru_case<double> all_kinds(int64_t time, int64_t input, int64_t hidden, int directions, uint64_t seed) {
  const gru_shape s{time, 5, input, hidden, directions};
  return random_gru<double>(s, {time, 0, 1, time - 1, time + 3},
                            marks_at(s, {{0, 0}, {2, 0}, {1, 2}, {time - 2, 3}, {time - 1, 3}, {time - 1, 4}}), seed);
}

class gru_kernels : public testing::Test {
 protected:
  ~gru_kernels() override {
    for (const simt::finding& f : stream.findings) ADD_FAILURE() << f.kind << ": " << f.text;
  }
  simt::emulation stream;
};

#if defined(GRU_TEST_PLAIN)
inline constexpr bool k_is_plain = true;
#else
inline constexpr bool k_is_plain = false;
#endif

// A size of each regime, with more than one block where blocks exchange something.
struct gru_size {
  int64_t hidden;
  gru_regime regime = gru_regime::automatic;
  std::string name() const {
    return "H " + std::to_string(hidden) + ", regime " + std::to_string(static_cast<int>(regime));
  }
};
inline const std::vector<gru_size> k_regimes =
    k_is_plain
        ? std::vector<gru_size>{{6}, {130}, {18, gru_regime::grid}, {9, gru_regime::product}}
        : std::vector<gru_size>{{6}, {36, gru_regime::cluster}, {12, gru_regime::grid}, {6, gru_regime::product}};

}  // namespace warpcheck::self
