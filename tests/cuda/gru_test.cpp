// Gated recurrent units on a GPU: what no property says of a case.
#include "tests/cuda/gru.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "reference/gru/gru_backward.hpp"
#include "reference/gru/gru_bound.hpp"

namespace warpcheck::self {
namespace {

std::vector<double> widened(const std::vector<float>& v) { return {v.begin(), v.end()}; }
reference::gru_accuracy accuracy_of(const gru_depths& d) {
  return {reference::dot_arithmetic::ieee, {d.i, d.steps_i}, {d.h, d.steps_h}, {d.tb, d.steps_tb}};
}

// No plan has more blocks wait for each other than are resident, and no cluster is larger than the device's.
TEST(gru_on_a_gpu, plans_fit_the_device) {
  for (const int64_t hidden : {1, 128, 129, 256, 257, 512, 513, 777, 1024, 1025, 5000})
    for (const int64_t batch : {0, 1, 64, 5000})
      for (const int directions : {1, 2}) {
        const gru_residency r = gru_residency_of(batch, hidden, directions);
        EXPECT_LE(r.coresident, r.multiprocessors) << hidden;
        EXPECT_LE(r.cluster, 16) << hidden;
      }
}

// More than 2^31 states, of which the last steps of the last rows lie beyond an offset of 32 bits.
TEST(gru_on_a_gpu, more_than_2_to_the_31_states) {
  constexpr int64_t k_time = 4096, k_batch = 2048, k_input = 1, k_hidden = 257;
  static_assert(k_time * k_batch * k_hidden > int64_t{1} << 31);
  const int64_t needed = long_gru_bytes(k_time, k_batch, k_input, k_hidden), there = free_device_bytes();
  if (there < needed)
    GTEST_SKIP() << "it takes " << needed / 1000000 << " MB of the GPU's memory, " << there / 1000000 << " are free";
  const gru_sampled_call call = run_long_gru(
      k_time, k_batch, k_input, k_hidden,
      {{k_time - 1, k_batch - 1}, {k_time - 2, k_batch - 1}, {k_time - 1, 0}, {k_time / 2, 1000}, {0, k_batch - 1}});
  for (const gru_sampled_step& step : call.steps) {
    reference::gru_problem<double> p;
    p.shape = {1, 1, k_input, k_hidden, 1};
    p.x = widened(step.x), p.h0 = widened(step.entered);
    p.w_ih = widened(call.w_ih), p.w_hh = widened(call.w_hh);
    p.b_ih = widened(call.b_ih), p.b_hh = widened(call.b_hh);
    const reference::gru_states<double> states{widened(step.y), {}, widened(step.history)};
    reference::gru_gradients<double> gradients;
    gradients.trace_e = widened(step.e), gradients.dx = widened(step.dx);
    const auto forward = judge_gru_steps(p, states, accuracy_of(call.forward));
    const auto backward =
        judge_gru_gradient_steps(p, states, {}, gradients.trace_e, gradients, accuracy_of(call.backward));
    EXPECT_TRUE(forward.accepted()) << "step " << step.time << ", row " << step.row << ": " << forward.where;
    EXPECT_TRUE(backward.accepted()) << "step " << step.time << ", row " << step.row << ": " << backward.where;
    EXPECT_NE(step.e[0], 0.0f);
  }
}

}  // namespace
}  // namespace warpcheck::self
