// Gated recurrent units on a GPU, step by step against the reference, margins round everything, twice the same bits.
// With --time it measures instead.
#include "tests/cuda/gru.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "reference/gru/gru_bound.hpp"
#include "tests/gru/gru_problems.hpp"

namespace warpcheck::self {
namespace {

std::vector<double> widened(const std::vector<float>& v) { return {v.begin(), v.end()}; }
std::vector<float> narrowed(const std::vector<double>& v) { return {v.begin(), v.end()}; }

reference::gru_accuracy accuracy_of(const gru_depths& d, int precision) {
  using reference::dot_arithmetic;
  constexpr dot_arithmetic k_arithmetics[] = {dot_arithmetic::ieee, dot_arithmetic::tf32x3, dot_arithmetic::tf32x1,
                                              dot_arithmetic::bf16x1};
  return {k_arithmetics[precision], {d.i, d.steps_i}, {d.h, d.steps_h}, {d.tb, d.steps_tb}};
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

bool same_answer(const gru_answer& a, const gru_answer& b) {
  return same_bits(a.y, b.y) && same_bits(a.hn, b.hn) && same_bits(a.history, b.history) && same_bits(a.dx, b.dx) &&
         same_bits(a.dh0, b.dh0) && same_bits(a.dh_reset, b.dh_reset) && same_bits(a.trace_e, b.trace_e) &&
         same_bits(a.dw_ih, b.dw_ih) && same_bits(a.dw_hh, b.dw_hh) && same_bits(a.db_ih, b.db_ih) &&
         same_bits(a.db_hh, b.db_hh);
}

struct trial {
  reference::gru_shape shape;
  bool recompute = false;
  int64_t limit = 0;
  int regime = 0;
  bool full = false;  // no lengths, no marks
  int precision = 0;

  std::string name() const {
    return std::to_string(shape.time) + " x " + std::to_string(shape.batch) + " x " + std::to_string(shape.input) +
           " x " + std::to_string(shape.hidden) + ", D " + std::to_string(shape.directions) +
           (recompute ? ", recompute" : ", save") + ", limit " + std::to_string(limit) + ", regime " +
           std::to_string(regime) + (full ? ", full" : "") + ", precision " + std::to_string(precision);
  }
  // Rows of every kind, marks at several steps.
  gru_case<double> problem(uint64_t seed = 1000) const {
    std::vector<int64_t> lengths;
    std::vector<uint8_t> marks;
    for (int64_t b = 0; b < shape.batch && !full; ++b)
      lengths.push_back(b % 5 == 1 ? 0 : b % 5 == 2 ? 1 : shape.time - b % 3);
    for (int64_t i = 0; i < shape.time * shape.batch && !full; ++i) marks.push_back(i % 11 == 3);
    return random_gru<double>(shape, lengths, marks, seed + shape.hidden);
  }
};

gru_call call_of(const trial& t, const gru_case<double>& c) {
  gru_call call;
  call.time = t.shape.time, call.batch = t.shape.batch, call.input = t.shape.input, call.hidden = t.shape.hidden;
  call.directions = t.shape.directions, call.recompute = t.recompute, call.workspace_limit = t.limit;
  call.regime = t.regime, call.precision = t.precision;
  const auto& p = c.problem;
  call.x = narrowed(p.x), call.w_ih = narrowed(p.w_ih), call.w_hh = narrowed(p.w_hh);
  call.b_ih = narrowed(p.b_ih), call.b_hh = narrowed(p.b_hh);
  call.h0 = narrowed(p.h0), call.h_reset = narrowed(p.h_reset), call.dy = narrowed(c.dy), call.dhn = narrowed(c.dhn);
  call.lengths = p.lengths, call.reset = p.reset;
  return call;
}

void check(const trial& t) {
  const auto c = t.problem();
  const gru_call call = call_of(t, c);
  const gru_answer a = run_gru(call);
  ASSERT_EQ(a.damaged, 0) << t.name();
  const reference::gru_states<double> states{widened(a.y), widened(a.hn), widened(a.history)};
  const auto forward = judge_gru_steps(c.problem, states, accuracy_of(a.forward, t.precision));
  EXPECT_TRUE(forward.accepted()) << t.name() << ": " << forward.where;
  const reference::gru_gradients<double> gradients{widened(a.dx),    widened(a.dh0),    widened(a.dh_reset),
                                                   widened(a.dw_ih), widened(a.dw_hh),  widened(a.db_ih),
                                                   widened(a.db_hh), widened(a.trace_e)};
  const auto backward =
      judge_gru_gradient_steps(c.problem, states, c.dy, c.dhn, gradients, accuracy_of(a.backward, t.precision));
  EXPECT_TRUE(backward.accepted()) << t.name() << ": " << backward.where;
  EXPECT_TRUE(same_answer(a, run_gru(call))) << t.name();
}

#if defined(SIMT_RANDOM_DELAYS)
// Blocks late at their barriers, as this build has them, on both sides of a thousand of them.
TEST(gru_on_a_gpu, random_delays_change_nothing) {
  for (const trial& t : {trial{{6, 5, 3, 200, 2}}, trial{{6, 40, 3, 300, 1}}, trial{{6, 5, 3, 520, 2}},
                         trial{{6, 70, 3, 50, 2}, false, 0, 3}, trial{{6, 9, 3, 20, 2}}}) {
    check(t);
    const gru_call call = call_of(t, t.problem());
    const gru_answer first = run_gru(call);
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(same_answer(first, run_gru(call))) << t.name() << ", run " << i;
  }
}
#else

TEST(gru_on_a_gpu, every_step_follows_from_the_step_before) {
  for (const int64_t hidden : {1, 7, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257})
    for (const int directions : {1, 2})
      for (const bool recompute : {false, true}) check({{7, 5, hidden == 7 ? 130 : 6, hidden, directions}, recompute});
}

TEST(gru_on_a_gpu, wide_layers) {
  for (const int64_t hidden : {511, 512, 513, 1024, 1025}) check({{3, 5, 6, hidden, 1}});
  check({{3, 3, 520, 520, 2}});
}

TEST(gru_on_a_gpu, each_regime_at_small_sizes) {
  for (const int regime : {2, 3, 4})
    for (const int64_t hidden : {1, 9, 100}) {
      check({{5, 7, 6, hidden, 2}, hidden == 9, 0, regime});
      check({{5, 70, 6, hidden, 1}, false, 0, regime, true});
    }
}

TEST(gru_on_a_gpu, rows_that_are_all_full) {
  for (const int64_t hidden : {24, 130, 300})
    for (const int directions : {1, 2}) check({{7, 65, 40, hidden, directions}, false, 0, 0, true});
  check({{2100, 4, 8, 16, 2}, false, 0, 0, true});
}

TEST(gru_on_a_gpu, many_rows_and_steps_in_chunks) {
  check({{40, 300, 5, 24, 2}, true, 1 << 20});
  check({{300, 9, 3, 16, 2}, false, 1 << 18});
  check({{3, 1200, 3, 20, 1}});
  check({{3, 1200, 3, 20, 1}, false, 0, 3});
  check({{9, 300, 3, 140, 2}, true, 1 << 23});
}

TEST(gru_on_a_gpu, every_precision_in_every_regime) {
  for (const int precision : {1, 2, 3})
    for (const int regime : {1, 2, 3, 4})
      for (const int64_t hidden : {9, 100}) {
        check({{5, 7, 70, hidden, 2}, hidden == 9, 0, regime, false, precision});
        check({{5, 70, 6, hidden, 1}, false, 0, regime, true, precision});
      }
  for (const int precision : {1, 2, 3}) {
    check({{3, 20, 30, 300, 2}, false, 0, 0, true, precision});
    check({{3, 5, 30, 1025, 1}, false, 0, 0, true, precision});
  }
}

// A call allocates nothing, reads nothing back and leaves no value on the host: a graph of it is right for other
// inputs, lengths and marks.
TEST(gru_on_a_gpu, a_captured_call_is_right_for_other_inputs) {
  const auto check_replays = [](const trial& t) {
    const std::vector<gru_call> calls = {call_of(t, t.problem()), call_of(t, t.problem(77)), call_of(t, t.problem())};
    std::vector<gru_call> changed = calls;
    for (size_t i = 0; i < changed[1].lengths.size(); ++i)
      changed[1].lengths[i] = t.shape.time - static_cast<int64_t>(i % 4);
    for (uint8_t& mark : changed[1].reset) mark = mark == 0 ? 1 : 0;
    const std::vector<gru_answer> replayed = replay_gru(changed);
    for (size_t i = 0; i < changed.size(); ++i) {
      EXPECT_EQ(replayed[i].damaged, 0) << t.name();
      EXPECT_TRUE(same_answer(replayed[i], run_gru(changed[i]))) << t.name() << ", replay " << i;
    }
    EXPECT_FALSE(same_bits(replayed[0].y, replayed[1].y)) << t.name();
  };
  for (const int precision : {0, 2})
    for (const int regime : {1, 2, 3, 4})
      for (const bool full : {false, true}) check_replays({{6, 5, 7, 40, 2}, full, 0, regime, full, precision});
  check_replays({{40, 30, 5, 24, 2}, true, 1 << 18});
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

TEST(gru_on_a_gpu, gates_are_within_their_bounds_at_every_float) {
  const gate_sweep sweep = sweep_gates();
  EXPECT_EQ(sweep.wrong, 0);
  EXPECT_GT(sweep.worst_logistic, 0.1) << "no function of f32 is more accurate than rounding to nearest";
  EXPECT_GT(sweep.worst_tanh, 0.05);
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
    const auto forward = judge_gru_steps(p, states, accuracy_of(call.forward, 0));
    const auto backward =
        judge_gru_gradient_steps(p, states, {}, gradients.trace_e, gradients, accuracy_of(call.backward, 0));
    EXPECT_TRUE(forward.accepted()) << "step " << step.time << ", row " << step.row << ": " << forward.where;
    EXPECT_TRUE(backward.accepted()) << "step " << step.time << ", row " << step.row << ": " << backward.where;
    EXPECT_NE(step.e[0], 0.0f);
  }
}

void measure() {
  struct shape {
    int64_t time, batch, input, hidden;
  };
  for (const shape& s : {shape{1000, 8, 64, 64},
                         {100, 16, 128, 128},
                         {128, 64, 256, 256},
                         {1024, 1, 256, 256},
                         {512, 32, 512, 512},
                         {256, 128, 1024, 1024}})
    for (const int directions : {1, 2}) {
      const gru_times t = time_gru(s.time, s.batch, s.input, s.hidden, directions, 9);
      const double steps = static_cast<double>(s.time);
      std::printf(
          "%4lld x %3lld x %4lld x %4lld, D %d, regime %d: forward %8.3f ms (%6.2f us a step), backward %8.3f ms "
          "(%6.2f)\n",
          static_cast<long long>(s.time), static_cast<long long>(s.batch), static_cast<long long>(s.input),
          static_cast<long long>(s.hidden), directions, t.regime, t.forward_ms, 1e3 * t.forward_ms / steps,
          t.backward_ms, 1e3 * t.backward_ms / steps);
    }
}

#endif

}  // namespace
}  // namespace warpcheck::self

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
#if !defined(SIMT_RANDOM_DELAYS)
  if (count == 2 && std::string(arguments[1]) == "--time") {
    warpcheck::self::measure();
    return 0;
  }
#endif
  return RUN_ALL_TESTS();
}
