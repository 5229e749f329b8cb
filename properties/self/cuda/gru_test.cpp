// Gated recurrent units on a GPU, step by step against the reference, margins round everything, twice the same bits.
// With --time it measures instead.
#include "properties/self/cuda/gru.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "properties/self/gru/gru_problems.hpp"
#include "reference/gru_bound.hpp"

namespace warpcheck::self {
namespace {

std::vector<double> widened(const std::vector<float>& v) { return {v.begin(), v.end()}; }
std::vector<float> narrowed(const std::vector<double>& v) { return {v.begin(), v.end()}; }

reference::gru_accuracy accuracy_of(const gru_depths& d) {
  return {reference::dot_arithmetic::ieee, {d.i, 0}, {d.h, 0}, {d.tb, 0}};
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

// Rows of every kind, marks at several steps.
void check(int64_t time, int64_t batch, int64_t input, int64_t hidden, int directions, bool recompute, int64_t limit) {
  const std::string what = std::to_string(time) + " x " + std::to_string(batch) + " x " + std::to_string(input) +
                           " x " + std::to_string(hidden) + ", D " + std::to_string(directions) +
                           (recompute ? ", recompute" : ", save") + ", limit " + std::to_string(limit);
  std::vector<int64_t> lengths;
  std::vector<uint8_t> marks(static_cast<size_t>(time * batch));
  for (int64_t b = 0; b < batch; ++b) lengths.push_back(b % 5 == 1 ? 0 : b % 5 == 2 ? 1 : time - b % 3);
  for (size_t i = 0; i < marks.size(); ++i) marks[i] = i % 11 == 3;
  const auto c = random_gru<double>({time, batch, input, hidden, directions}, lengths, marks, 1000 + hidden);
  gru_call call;
  call.time = time, call.batch = batch, call.input = input, call.hidden = hidden;
  call.directions = directions, call.recompute = recompute, call.workspace_limit = limit;
  const auto& p = c.problem;
  call.x = narrowed(p.x), call.w_ih = narrowed(p.w_ih), call.w_hh = narrowed(p.w_hh);
  call.b_ih = narrowed(p.b_ih), call.b_hh = narrowed(p.b_hh);
  call.h0 = narrowed(p.h0), call.h_reset = narrowed(p.h_reset), call.dy = narrowed(c.dy), call.dhn = narrowed(c.dhn);
  call.lengths = p.lengths, call.reset = p.reset;
  const gru_answer a = run_gru(call);
  ASSERT_EQ(a.damaged, 0) << what;
  const reference::gru_states<double> states{widened(a.y), widened(a.hn), widened(a.history)};
  const auto forward = judge_gru_steps(p, states, accuracy_of(a.forward));
  EXPECT_TRUE(forward.accepted()) << what << ": " << forward.where;
  const reference::gru_gradients<double> gradients{widened(a.dx),    widened(a.dh0),    widened(a.dh_reset),
                                                   widened(a.dw_ih), widened(a.dw_hh),  widened(a.db_ih),
                                                   widened(a.db_hh), widened(a.trace_e)};
  const auto backward = judge_gru_gradient_steps(p, states, c.dy, c.dhn, gradients, accuracy_of(a.backward));
  EXPECT_TRUE(backward.accepted()) << what << ": " << backward.where;
  const gru_answer again = run_gru(call);
  EXPECT_TRUE(same_bits(a.y, again.y) && same_bits(a.hn, again.hn) && same_bits(a.history, again.history)) << what;
  EXPECT_TRUE(same_bits(a.dx, again.dx) && same_bits(a.dh0, again.dh0) && same_bits(a.dh_reset, again.dh_reset) &&
              same_bits(a.trace_e, again.trace_e))
      << what;
  EXPECT_TRUE(same_bits(a.dw_ih, again.dw_ih) && same_bits(a.dw_hh, again.dw_hh) && same_bits(a.db_ih, again.db_ih) &&
              same_bits(a.db_hh, again.db_hh))
      << what;
}

TEST(gru_on_a_gpu, every_step_follows_from_the_step_before) {
  for (const int64_t hidden : {1, 7, 31, 32, 33, 63, 64, 65, 127, 128, 129, 257})
    for (const int directions : {1, 2})
      for (const bool recompute : {false, true}) check(7, 5, hidden == 7 ? 130 : 6, hidden, directions, recompute, 0);
}

TEST(gru_on_a_gpu, many_rows_and_steps_in_chunks) {
  check(40, 300, 5, 24, 2, true, 1 << 20);
  check(300, 9, 3, 16, 2, false, 1 << 18);
  check(3, 1200, 3, 20, 1, false, 0);
}

void measure() {
  struct shape {
    int64_t time, batch, input, hidden;
  };
  for (const shape& s : {shape{1000, 8, 64, 64}, {100, 16, 128, 128}, {128, 64, 256, 256}, {1024, 1, 256, 256}})
    for (const int directions : {1, 2}) {
      const gru_times t = time_gru(s.time, s.batch, s.input, s.hidden, directions, 9);
      const double steps = static_cast<double>(s.time);
      std::printf(
          "%4lld x %3lld x %4lld x %4lld, D %d: forward %8.3f ms (%6.2f us a step), backward %8.3f ms (%6.2f)\n",
          static_cast<long long>(s.time), static_cast<long long>(s.batch), static_cast<long long>(s.input),
          static_cast<long long>(s.hidden), directions, t.forward_ms, 1e3 * t.forward_ms / steps, t.backward_ms,
          1e3 * t.backward_ms / steps);
    }
}

}  // namespace
}  // namespace warpcheck::self

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  if (count == 2 && std::string(arguments[1]) == "--time") {
    warpcheck::self::measure();
    return 0;
  }
  return RUN_ALL_TESTS();
}
