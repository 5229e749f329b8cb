// All 2^32 values of f32 on a GPU: the errors of expf, log1pf, quick_exp and squared_exp that docs/numerics.md assumes,
// the kernel sigmoid and the gates of gru within their bounds.
#include "tests/cuda/sweeps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "reference/sigmoid/sigmoid.hpp"

namespace warpcheck::self {
namespace {

void print(const char* what, const worst_argument& w, const char* unit) {
  std::printf("%-36s %.6f %s at %.9g (0x%08x)\n", what, static_cast<double>(w.error), unit,
              static_cast<double>(std::bit_cast<float>(w.bits)), w.bits);
}

TEST(Sweep, ExpfIsAsAccurateAsTheBoundsAssume) {
  const exp_errors e = sweep_exp(exp_function::accurate);
  print("expf, x <= 0", e.not_positive, "u");
  print("expf, x > 0", e.positive, "u");
  print("expf, subnormal results", e.subnormal_result, "eta");
  EXPECT_EQ(e.wrong_special, 0u);
  EXPECT_GT(e.not_positive.error, 0.9) << "no function of f32 is more accurate than rounding to nearest";
  EXPECT_LE(e.not_positive.error, 5);
  EXPECT_LE(e.positive.error, 5);
  EXPECT_LE(e.subnormal_result.error, 2.5);
}

TEST(Sweep, SeesThatTheFastExponentialIsNot) {
  const exp_errors e = sweep_exp(exp_function::fast);
  print("__expf, x <= 0", e.not_positive, "u");
  EXPECT_GT(e.not_positive.error, 15) << "nor as accurate as the squared one";
}

TEST(Sweep, SquaredExponentialIsAsAccurateAsSoftmaxAssumes) {
  const exp_errors e = sweep_exp(exp_function::squared);
  print("squared_exp, x <= 0", e.not_positive, "u");
  print("squared_exp, subnormal results", e.subnormal_result, "eta beyond 15u");
  EXPECT_EQ(e.wrong_special, 0u);
  EXPECT_GT(e.not_positive.error, 2.5) << "expf is not as good";
  EXPECT_LE(e.not_positive.error, 15);
  EXPECT_LE(e.subnormal_result.error, 1);
}

TEST(Sweep, QuickExponentialIsAsAccurateAsTheBoundsAssume) {
  const quick_exp_errors e = sweep_quick_exp(false);
  print("quick_exp, error / what is assumed", e.error_ratio, "");
  print("quick_exp, largest e^x flushed to 0", e.flushed, "");
  EXPECT_EQ(e.wrong_special, 0u);
  EXPECT_GT(e.error_ratio.error, 0.5) << "the assumption is loose";
  EXPECT_LE(e.error_ratio.error, 1);
  EXPECT_LE(e.flushed.error, 0x1p-126f * (1 + 0x1p-16f));
}

TEST(Sweep, SeesAQuickExponentialThatIsFourFloatsOff) { EXPECT_GT(sweep_quick_exp(true).error_ratio.error, 1); }

TEST(Sweep, Log1pfIsAsAccurateAsTheBoundsAssume) {
  const log1p_errors e = sweep_log1p(log1p_function::accurate);
  print("log1pf, x > 0", e.positive, "u");
  print("log1pf, -1 < x < 0", e.negative, "u");
  print("log1pf, subnormal x", e.subnormal_argument, "eta");
  EXPECT_EQ(e.wrong_special, 0u);
  EXPECT_GT(e.positive.error, 0.9);
  EXPECT_LE(e.positive.error, 3);
  EXPECT_LE(e.negative.error, 3);
  EXPECT_LE(e.subnormal_argument.error, 1);
}

TEST(Sweep, SeesThatTheNaiveLogarithmIsNot) {
  const log1p_errors e = sweep_log1p(log1p_function::naive);
  EXPECT_GT(e.positive.error, 3);
  EXPECT_GT(e.subnormal_argument.error, 1);
}

TEST(Sweep, GatesAreWithinTheirBounds) {
  const gate_errors e = sweep_gates();
  print("gru_logistic, error / bound", e.logistic, "");
  print("gru_tanh, error / bound", e.tangent, "");
  EXPECT_EQ(e.wrong, 0u);
  EXPECT_GT(e.logistic.error, 0.1) << "no function of f32 is more accurate than rounding to nearest";
  EXPECT_GT(e.tangent.error, 0.05);
}

TEST(Sweep, SigmoidIsWithinItsBoundForEveryInput) {
  const reference::sigmoid_model model(0, 1, dtype::f32);
  const sigmoid_errors e = sweep_sigmoid(0);
  print("sigmoid, error / bound", e.error_ratio, "");
  std::printf("undecided on the device: %llu\n", static_cast<unsigned long long>(e.undecided_count));
  EXPECT_EQ(e.wrong_special, 0u);
  ASSERT_EQ(e.undecided.size(), e.undecided_count);
  const auto accepted = [&](const sigmoid_errors::element& i) {
    return model.judge(static_cast<double>(i.x), static_cast<double>(i.y)).accepted;
  };
  for (const sigmoid_errors::element& i : e.undecided) EXPECT_TRUE(accepted(i)) << i.x << " gives " << i.y;
  // The judgement on the device is itself on trial: the reference agrees with it on a million inputs.
  ASSERT_EQ(e.sample.size(), size_t{1} << 20);
  double worst = 0;
  for (const sigmoid_errors::element& i : e.sample) {
    const reference::judgement j = model.judge(static_cast<double>(i.x), static_cast<double>(i.y));
    EXPECT_TRUE(j.accepted) << i.x << " gives " << i.y;
    if (std::isfinite(j.error_ratio())) worst = std::max(worst, j.error_ratio());
  }
  EXPECT_LE(worst, static_cast<double>(e.error_ratio.error));
  EXPECT_GE(worst, 0.9 * static_cast<double>(e.error_ratio.error));
}

TEST(Sweep, SeesResultsThatAreAFewUnitsOff) {
  const reference::sigmoid_model model(0, 1, dtype::f32);
  const sigmoid_errors e = sweep_sigmoid(6);
  EXPECT_GT(e.error_ratio.error, 1);
  EXPECT_GT(e.undecided_count, 1000000u);
  int rejected = 0;
  for (const sigmoid_errors::element& i : e.undecided)
    rejected += model.judge(static_cast<double>(i.x), static_cast<double>(i.y)).accepted ? 0 : 1;
  EXPECT_GT(rejected, 0);
}

}  // namespace
}  // namespace warpcheck::self
