// The model of sigmoid against the plain formula, the contract's table, and kernels that use every allowance.
#include "reference/sigmoid/sigmoid.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/numerics/adversarial_kernel.hpp"
#include "tests/numerics/plain_row.hpp"
#include "tests/numerics/special_values.hpp"

namespace warpcheck::reference {
namespace {

struct setting {
  double mu, sigma;
};
constexpr setting k_settings[] = {{0, 1},         {3, 0.5}, {-1e4, -2}, {0x1p-149, 0x1p100}, {0x1.8p-3, 0x1p-149},
                                  {1e-20f, 1e20f}};

// z values of the specification, and a sweep over every magnitude.
std::vector<double> arguments() {
  std::vector<double> z = {-103.5, -95, -89, -88.8, -60, -20, -16.74, -1e-8, 1e-8, 16.74, 88.8, 1e4, -1e4, 3e38, -3e38};
  std::mt19937_64 random(41);
  for (int k = 0; k < 200; ++k) {
    const double size = std::exp2(std::uniform_real_distribution<double>(-30, 8)(random));
    z.push_back(random() & 1 ? size : -size);
  }
  return z;
}

// An f32 value x whose z is near the one wanted.
double input_for(double z, const setting& s) { return round_to(dtype::f32, z / s.sigma + s.mu); }

mp100 plain_argument(double x, const setting& s) { return (mp100(x) - mp100(s.mu)) * mp100(s.sigma); }
mp100 plain_sigmoid(const mp100& z) { return 1 / (1 + exp(mp100(-z))); }

mp100 plain_bound(const mp100& z) {
  const mp100 u = k_unit, y = plain_sigmoid(z), size = abs(z), gamma = 2 * u / (1 - 2 * u);
  const mp100 t = (1 + 5 * u) * exp(mp100(gamma * (size < 104 ? size : mp100(104)))) - 1;
  const mp100 rest = plain_sigmoid(-z);
  return y * ((1 + u) / (1 - u) * (1 + rest * t / (1 - t)) - 1) + 4 * mp100(k_eta);
}

TEST(sigmoid_reference, encloses_what_the_plain_formula_gives) {
  for (const setting& s : k_settings) {
    const sigmoid_model model(s.mu, s.sigma, dtype::f32);
    for (const double wanted : arguments()) {
      const double x = input_for(wanted, s);
      if (std::isinf(x) || model.contract_value(x)) continue;
      const mp100 z = plain_argument(x, s), y = plain_sigmoid(z), b = plain_bound(z), slack = y * mp100("1e-90");
      const auto fast = model.evaluate<double>(x);
      ASSERT_TRUE(contains(fast.exact, y, slack)) << x << ' ' << fast.exact.value << ' ' << y;
      ASSERT_TRUE(contains(fast.bound, b, b * mp100("1e-90"))) << x << ' ' << fast.bound.value << ' ' << b;
      ASSERT_TRUE(contains(model.evaluate<mp50>(x).exact, y, slack)) << x;
      ASSERT_TRUE(contains(model.evaluate<mp50>(x).bound, b, b * mp100("1e-90"))) << x;
      ASSERT_TRUE(contains(model.evaluate<mp100>(x).exact, y, slack)) << x;
      ASSERT_LE(fast.exact.radius, 1e-6 * static_cast<double>(b));
      ASSERT_GE(mp100(model.bound(x)), b);
    }
  }
}

TEST(sigmoid_reference, contract_table) {
  struct line {
    double x, mu, sigma, y;
  };
  const double top = max_finite(dtype::f32);
  const line table[] = {
      {k_nan, 0, 1, k_nan},     {0, k_nan, 1, k_nan},     {0, 0, k_nan, k_nan},  {k_inf, 0, 1, 1},
      {-k_inf, 0, 1, 0},        {k_inf, 0, -1, 0},        {-k_inf, 0, -1, 1},    {k_inf, 0, 0, k_nan},
      {-k_inf, 0, 0, k_nan},    {3, 3, k_inf, k_nan},     {3, 3, -k_inf, k_nan}, {3, 3, 2, 0.5},
      {-0.0, 0.0, -7, 0.5},     {5, 3, 0, 0.5},           {top, 3, 0, 0.5},      {k_inf, k_inf, 1, k_nan},
      {k_inf, -k_inf, 1, 1},    {4, 3, k_inf, 1},         {2, 3, k_inf, 0},      {top, -top, 1, 1},
      {top, -top, 0x1p-149, 1}, {-top, top, 0x1p-149, 0}, {top, -top, 0, k_nan}, {0, k_inf, 1, 0},
  };
  for (const auto& [x, mu, sigma, y] : table) {
    const sigmoid_model model(mu, sigma, dtype::f32);
    for (const double actual : {0.0, -0.0, 0.5, 1.0, k_nan, k_inf}) {
      const bool same = std::isnan(actual) ? std::isnan(y) : actual == y && std::signbit(actual) == std::signbit(y);
      EXPECT_EQ(model.judge(x, actual).accepted, same) << x << ' ' << mu << ' ' << sigma << ": " << actual;
    }
    EXPECT_EQ(model.bound(x), 0);
  }
  EXPECT_FALSE(sigmoid_model(3, 2, dtype::f32).contract_value(std::nextafterf(3, 4)).has_value());
}

// x - mu at the threshold of overflow: a tie goes up, a hair below it does not.
TEST(sigmoid_reference, the_shift_overflows_at_the_threshold) {
  const double top = max_finite(dtype::f32), half_step = 0x1p103;
  const double sigma = 0x1p-149;  // z stays small unless the shift counts as infinite
  EXPECT_EQ(sigmoid_model(-half_step, sigma, dtype::f32).contract_value(top), 1.0);
  EXPECT_EQ(sigmoid_model(half_step, sigma, dtype::f32).contract_value(-top), 0.0);
  const double below = -static_cast<double>(std::nextafterf(0x1p103f, 0));
  EXPECT_FALSE(sigmoid_model(below, sigma, dtype::f32).contract_value(top).has_value());
}

TEST(sigmoid_reference, known_values) {
  const sigmoid_model plain(0, 1, dtype::f32);
  EXPECT_EQ(plain.expected_text(1), "0.73105857863000487925");
  EXPECT_NEAR(plain.expected(-89) / 2.227363561e-39, 1, 1e-9);
  EXPECT_FALSE(plain.judge(-89, 0.0).accepted);  // mutant: one form for all z
  // 0.5 + 0.5 tanh(z/2), logistic-through-tanh
  EXPECT_FALSE(plain.judge(static_cast<double>(-16.74f), 0x1p-24).accepted);
  EXPECT_FALSE(plain.judge(-20, 0.0).accepted);
  EXPECT_FALSE(plain.judge(3, plain.expected(-3)).accepted);  // the wrong sign
  const sigmoid_model shifted(3, 0.5, dtype::f32);
  EXPECT_NEAR(shifted.expected(5), 1 / (1 + std::exp(-1.0)), 1e-15);
  EXPECT_FALSE(shifted.judge(5, 1 / (1 + std::exp(-(5 * 0.5 - 3)))).accepted);  // x sigma - mu, gain-before-shift
}

TEST(sigmoid_reference, symmetric_and_bounded_everywhere) {
  const sigmoid_model model(0, 1, dtype::f32);
  double largest = 0;
  for (double z = -110; z <= 110; z += 0.0078125) {
    if (z == 0) continue;
    EXPECT_NEAR(model.expected(z) + model.expected(-z), 1, 1e-15);
    largest = std::max(largest, model.bound(z) / k_unit);
  }
  std::printf("largest bound: %.3f u\n", largest);
  EXPECT_LE(largest, 2.9);
  EXPECT_GE(largest, 2.0);
}

TEST(sigmoid_reference, forcing_100_digits_changes_no_verdict) {
  tally total;
  for (const setting& s : k_settings) {
    for (const dtype t : {dtype::f32, dtype::f16, dtype::bf16}) {
      const sigmoid_model model(s.mu, s.sigma, t), model100(s.mu, s.sigma, t, precision::digits100);
      const std::vector<double> wanted = arguments();
      for (size_t k = 0; k < wanted.size(); k += 8) {
        const double x = input_for(wanted[k], s);
        if (std::isinf(x) || model.contract_value(x)) continue;
        const mp100 z = plain_argument(x, s), y = plain_sigmoid(z);
        if (z < -600) continue;  // -4 eta is off by 4 eta + e^z: a tie in any number of digits, settled as acceptance
        const mp100 b = output_bound(t, bounded_value<mp100>{{y, 0}, {plain_bound(z), 0}}).value;
        for (const int side : {-1, 1}) {
          for (const double delta : {0.0, 1e-15, -1e-15, 1e-9, -1e-9}) {
            const auto actual = static_cast<double>(mp100(y + side * b * (1 + mp100(delta))));
            const judgement j = model.judge(x, actual);
            ASSERT_EQ(j.accepted, model100.judge(x, actual).accepted) << x << ' ' << hexfloat(actual);
            ASSERT_EQ(j.accepted, abs(mp100(actual) - y) <= b) << x << ' ' << hexfloat(actual);
            total.add(0, j);
          }
        }
      }
    }
  }
  std::printf("%lld verdicts, %lld rejected, %lld settled by 50 digits\n", static_cast<long long>(total.compared),
              static_cast<long long>(total.rejected), static_cast<long long>(total.needed_50_digits));
  EXPECT_GT(total.rejected, 1000);
  EXPECT_GT(total.compared - total.rejected, 1000);
  EXPECT_GT(total.needed_50_digits, 1000);
}

TEST(sigmoid_reference, bound_holds_for_adversarial_kernels) {
  double worst = 0, at = 0;
  std::mt19937_64 random(42);
  for (int k = 0; k < 300'000; ++k) {
    const setting s = k % 3 == 0   ? setting{0, 1}
                      : k % 3 == 1 ? setting{3, static_cast<double>(0.7f)}
                                   : setting{-0.1f, -3};
    const double x = input_for(std::uniform_real_distribution<double>(-110, 110)(random) / (1 << k % 8), s);
    const sigmoid_model model(s.mu, s.sigma, dtype::f32);
    if (model.contract_value(x)) continue;
    const float z = (static_cast<float>(x) - static_cast<float>(s.mu)) * static_cast<float>(s.sigma);
    for (const int ulps : {-2, 0, 2}) {
      const float e = shifted_exp(-std::fabs(z), ulps);
      const judgement j = model.judge(x, static_cast<double>((z >= 0 ? 1.0f : e) / (1 + e)));
      ASSERT_TRUE(j.accepted) << x << ", error ratio " << j.error_ratio();
      if (j.error_ratio() > worst) worst = j.error_ratio(), at = z;
    }
  }
  std::printf("worst error ratio %.3f at z = %g\n", worst, at);
  EXPECT_GE(worst, 0.5);
}

}  // namespace
}  // namespace warpcheck::reference
