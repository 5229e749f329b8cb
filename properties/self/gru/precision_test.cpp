// Gated recurrent units in every precision of products, by the chains that plans declare.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "properties/self/gru/gru_steps.hpp"

namespace warpcheck::self {
namespace {

class gru_precisions : public gru_kernels {};

constexpr gru_precision k_lower[] = {gru_precision::tf32x3, gru_precision::tf32, gru_precision::bf16};

std::string text_of(gru_precision p) { return "precision " + std::to_string(static_cast<int>(p)); }

TEST_F(gru_precisions, every_step_keeps_the_bounds_of_its_products) {
  for (const gru_size& size : k_regimes)
    for (const gru_precision p : k_lower)
      for (const gru_history history : {gru_history::save, gru_history::recompute}) {
        const gru_way way(history, size.regime, p);
        const auto c = all_kinds(4, 5, size.hidden, 2, 300 + size.hidden);
        const auto [forward, backward] = expect_steps(c, run(c, way, &stream), way, 0, size.name() + ", " + text_of(p));
        EXPECT_GT(forward, 0.005) << size.name() << ", " << text_of(p);
        EXPECT_GT(backward, 0.001) << size.name() << ", " << text_of(p);
      }
}

// A verdict for a precision rejects what a lower one makes of the case.
TEST_F(gru_precisions, a_lower_precision_is_rejected) {
  for (const gru_size& size : k_regimes) {
    const auto c = all_kinds(4, 5, size.hidden, 2, 320);
    const auto judge = [&](gru_precision used, gru_precision claimed) {
      const gru_way way(gru_history::save, size.regime, used);
      gru_config config = config_of(c.problem.shape, way);
      const auto states = states_of(run(c, way, &stream));
      config.precision = claimed;
      return judge_gru_steps(c.problem, states, accuracy_of(gru_forward_plan(config), claimed)).accepted();
    };
    EXPECT_TRUE(judge(gru_precision::ieee, gru_precision::tf32x3)) << size.name();
    EXPECT_FALSE(judge(gru_precision::tf32, gru_precision::tf32x3)) << size.name();
    EXPECT_FALSE(judge(gru_precision::tf32, gru_precision::ieee)) << size.name();
    EXPECT_FALSE(judge(gru_precision::bf16, gru_precision::tf32x3)) << size.name();
  }
}

// Operands that have as many bits as the precision keeps: every product is exact, in the order of the regime.
TEST_F(gru_precisions, operands_that_fit_are_not_rounded) {
  for (const gru_size& size : k_regimes) {
    if (size.regime == gru_regime::product) continue;  // whose order is that of the tensor cores
    auto c = random_gru<double>({1, 3, 4, size.hidden, 2}, {}, {}, 330);
    for (auto* values : {&c.problem.x, &c.problem.w_ih, &c.problem.w_hh, &c.problem.h0})
      for (double& v : *values) v = std::nearbyint(v * 16) / 16;
    const gru_result whole = run(c, {gru_history::save, size.regime}, &stream);
    for (const gru_precision p : k_lower) {
      const gru_result r = run(c, {gru_history::save, size.regime, p}, &stream);
      EXPECT_EQ(bits(r.history), bits(whole.history)) << size.name() << ", " << text_of(p);
      EXPECT_EQ(bits(r.y), bits(whole.y)) << size.name() << ", " << text_of(p);
    }
  }
}

#if defined(GRU_TEST_PLAIN)
// More rows than a product on tensor cores takes at a time, forwards, backwards and in a step.
TEST_F(gru_precisions, many_rows_are_cut) {
  for (const gru_regime regime : {gru_regime::automatic, gru_regime::product}) {
    const gru_way way(gru_history::save, regime, gru_precision::tf32x3);
    const auto c = random_gru<double>({1, 8200, 2, 2, 1}, {}, {}, 340);
    expect_steps(c, run(c, way, &stream), way, 0, "many rows");
  }
}

// Without lengths weight gradients are products of matrices, in chunks of time.
TEST_F(gru_precisions, full_rows_keep_their_bounds) {
  for (const gru_precision p : k_lower)
    for (const int64_t limit : {int64_t{0}, int64_t{1}}) {
      const gru_way way(gru_history::recompute, gru_regime::automatic, p);
      const auto c = random_gru<double>({9, 20, 70, 6, 2}, {}, {}, 350);
      expect_steps(c, run(c, way, &stream, limit), way, limit, text_of(p));
    }
}
#endif

}  // namespace
}  // namespace warpcheck::self
