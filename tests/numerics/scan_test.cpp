// Verdicts on prefix sums.
#include "reference/scan/scan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/numerics/special_values.hpp"

namespace warpcheck::reference {
namespace {

using row = std::vector<double>;

TEST(scan_reference, prefixes_of_few_terms_are_exact) {
  const row x = {0x1p24 - 1, 1, 1};
  const scan_row inclusive(prefix::inclusive, x, dtype::f32), exclusive(prefix::exclusive, x, dtype::f32);
  EXPECT_TRUE(inclusive.judge(0, x[0]).accepted);
  EXPECT_FALSE(inclusive.judge(0, std::nextafter(x[0], 0)).accepted);
  EXPECT_TRUE(exclusive.judge(0, 0.0).accepted);
  EXPECT_FALSE(exclusive.judge(0, -0.0).accepted);
  EXPECT_TRUE(exclusive.judge(1, x[0]).accepted);
  EXPECT_FALSE(exclusive.judge(1, 0x1p24).accepted);
  EXPECT_EQ(inclusive.bound(0), 0);
  // The sign of another zero is free.
  const row zeros = {-0.0, 0.0, 0.0};
  const scan_row none(prefix::inclusive, zeros, dtype::f64);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(none.judge(i, 0.0).accepted) << i;
    EXPECT_TRUE(none.judge(i, -0.0).accepted) << i;
    EXPECT_FALSE(none.judge(i, 0x1p-1074).accepted) << i;
  }
}

// Two terms: one addition, gamma_1 = u / (1 - u). The edge itself is accepted.
TEST(scan_reference, is_accepted_up_to_gamma_h) {
  const row x = {0x1p24 - 2, 1, 1};
  const scan_row model(prefix::inclusive, x, dtype::f32);
  EXPECT_TRUE(model.judge(1, 0x1p24).accepted);
  EXPECT_TRUE(model.judge(1, 0x1p24 - 2).accepted);
  EXPECT_FALSE(model.judge(1, std::nextafter(0x1p24, k_inf)).accepted);
  EXPECT_GT(model.judge(1, std::nextafter(0x1p24, k_inf)).error_ratio(), 1);
  EXPECT_FALSE(model.judge(1, k_nan).accepted);
  EXPECT_FALSE(model.judge(1, k_inf).accepted);
  EXPECT_FALSE(scan_row(prefix::inclusive, x, dtype::f64).judge(1, 0x1p24).accepted);
  // Beyond 49 terms the bound stops growing with their number.
  const row ones(1000, 1.0);
  const scan_row many(prefix::inclusive, ones, dtype::f32);
  EXPECT_NEAR(many.bound(999), 48 * 0x1p-24 * 1000, 1e-6);
  EXPECT_NEAR(many.bound(9), 9 * 0x1p-24 * 10, 1e-9);
}

TEST(scan_reference, specials_are_causal) {
  const row x = {1, k_inf, 2, -k_inf, k_nan, 3};
  const scan_row model(prefix::inclusive, x, dtype::f32);
  const double expected[] = {1, k_inf, k_inf, k_nan, k_nan, k_nan};
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_TRUE(model.judge(i, expected[i]).accepted) << i;
    for (const double other : {-k_inf, k_inf, k_nan, 7.0})
      if (other != expected[i] && !(std::isnan(other) && std::isnan(expected[i]))) {
        EXPECT_FALSE(model.judge(i, other).accepted) << i << ' ' << other;
      }
  }
  const scan_row shifted(prefix::exclusive, x, dtype::f32);
  EXPECT_TRUE(shifted.judge(1, 1).accepted);
  EXPECT_TRUE(shifted.judge(2, k_inf).accepted);
}

TEST(scan_reference, overflow_is_judged_by_sign) {
  const double top = max_finite(dtype::f32);
  const row x = {1, top, top, -top / 2, -top, -k_inf};
  const scan_row model(prefix::inclusive, x, dtype::f32);
  EXPECT_FALSE(model.judge(0, k_inf).accepted);
  EXPECT_TRUE(model.judge(2, k_inf).accepted);
  EXPECT_FALSE(model.judge(2, -k_inf).accepted);
  EXPECT_FALSE(model.judge(2, k_nan).accepted);
  EXPECT_TRUE(model.judge(3, k_inf).accepted);
  EXPECT_FALSE(model.judge(3, k_nan).accepted);
  EXPECT_TRUE(model.judge(4, k_nan).accepted);
  EXPECT_TRUE(model.judge(4, top / 2).accepted);
  EXPECT_TRUE(model.judge(5, -k_inf).accepted);
  EXPECT_TRUE(model.judge(5, k_nan).accepted);  // Inf - Inf
  EXPECT_FALSE(model.judge(5, k_inf).accepted);
  const row wide = {max_finite(dtype::f64), max_finite(dtype::f64)};
  const scan_row doubles(prefix::inclusive, wide, dtype::f64);
  EXPECT_FALSE(doubles.judge(0, k_inf).accepted);
  EXPECT_TRUE(doubles.judge(1, k_inf).accepted);
  EXPECT_FALSE(doubles.judge(1, wide[0]).accepted);
}

// (1 + gamma_1) Sum of x_j > 0 >= 2^128 begins at 2^128 (1 - 2^-24), which is the largest f32.
TEST(scan_reference, overflow_begins_where_the_bound_reaches_the_threshold) {
  const double top = max_finite(dtype::f32), below = 0x1p128 * (1 - 0x1p-23);
  const auto may_overflow = [](const row& x) {
    return scan_row(prefix::inclusive, x, dtype::f32).judge(1, x[0] < 0 ? -k_inf : k_inf).accepted;
  };
  for (const double sign : {1.0, -1.0}) {
    EXPECT_FALSE(may_overflow({sign * below, sign})) << sign;
    EXPECT_FALSE(may_overflow({sign * below, sign * std::nextafter(0x1p104, 0)})) << sign;
    EXPECT_TRUE(may_overflow({sign * below, sign * 0x1p104})) << sign;
    EXPECT_TRUE(may_overflow({sign * top, sign})) << sign;
    EXPECT_FALSE(may_overflow({sign * top, -sign})) << sign;
  }
}

// By powers of two, where neither overflow nor subnormals interfere.
TEST(scan_reference, bounds_scale_with_the_row) {
  const row x = {1, -3, 0.5, 7, 7, -1e-3};
  const scan_row plain(prefix::inclusive, x, dtype::f64);
  for (const int exponent : {-500, -300, 300, 900, 1000}) {
    row scaled = x;
    for (double& v : scaled) v = std::ldexp(v, exponent);
    const scan_row model(prefix::inclusive, scaled, dtype::f64);
    for (int64_t i = 1; i < 6; ++i) {
      EXPECT_EQ(model.bound(i), std::ldexp(plain.bound(i), exponent)) << exponent << ' ' << i;
      EXPECT_EQ(model.expected(i), std::ldexp(plain.expected(i), exponent)) << exponent << ' ' << i;
      const double actual = 7.5, other = std::ldexp(actual, exponent);
      EXPECT_EQ(model.judge(i, other).error, std::ldexp(plain.judge(i, actual).error, exponent)) << exponent;
    }
  }
}

// gamma_1(2^-53) of 2^53 - 1 smallest numbers is one of them: a whole number, which is not rounded up to the next. The
// 1 that follows keeps the row from being scaled.
TEST(scan_reference, bounds_of_the_smallest_sums_are_rounded_up_once) {
  const double unit = 0x1p-1074, most = 0x1.ffffffffffffep52 * unit;
  const auto bound = [](const row& x) { return scan_row(prefix::inclusive, x, dtype::f64).bound(1); };
  EXPECT_EQ(bound({most, unit, 1}), 2 * unit);
  EXPECT_EQ(bound({most, 2 * unit, 1}), 3 * unit);
  EXPECT_EQ(bound({unit, unit, 1}), 2 * unit);
}

// Double arithmetic and integers of any size say the same, above all next to the bound.
TEST(scan_reference, fast_verdicts_are_those_of_exact_arithmetic) {
  std::mt19937_64 random(71);
  const auto draw = [&](dtype type, int shape) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53 * 2 - 1;
    double v = unit;
    if (shape == 1) v = std::ldexp(unit, static_cast<int>(random() % 200) - 100);
    if (shape == 2) v = unit * max_finite(type);
    if (shape == 3) v = unit * 64 * min_normal(type);
    if (shape == 4) v = std::ldexp(unit, static_cast<int>(random() % 2000) - 1000);
    if (shape == 5) v = random() % 2 ? 1e8 : -1e8 + unit;
    return round_to(type, v);
  };
  int64_t rejected = 0;
  for (int k = 0; k < 240; ++k) {
    const dtype type = k % 2 ? dtype::f64 : dtype::f32;
    row x(static_cast<size_t>(1 + random() % 120));
    for (double& v : x) do
        v = draw(type, k / 2 % 6);
      while (!std::isfinite(v));
    const scan_row model(k % 3 ? prefix::inclusive : prefix::exclusive, x, type);
    for (int64_t i = 0; i < static_cast<int64_t>(x.size()); ++i) {
      const double y = model.expected(i), b = model.bound(i);
      for (const double share : {0.0, 0.5, 1 - 1e-9, 1.0, 1 + 1e-9, 2.0, -1.0, -1 - 1e-6}) {
        const double actual = round_to(type, y + share * b);
        const judgement fast = model.judge(i, actual), exact = model.judge_exactly(i, actual);
        ASSERT_EQ(fast.accepted, exact.accepted) << k << ' ' << i << ' ' << share;
        ASSERT_TRUE(!std::isfinite(actual) || fast.accepted == (fast.error <= fast.bound)) << k << ' ' << i;
        rejected += !exact.accepted;
      }
    }
  }
  EXPECT_GT(rejected, 1000);
}

TEST(scan_reference, integers_wrap) {
  const std::vector<uint64_t> x = {uint64_t{1} << 63, uint64_t{1} << 63, 5, ~uint64_t{0}};
  EXPECT_EQ(scan_integers(prefix::inclusive, x), (std::vector<uint64_t>{uint64_t{1} << 63, 0, 5, 4}));
  EXPECT_EQ(scan_integers(prefix::exclusive, x), (std::vector<uint64_t>{0, uint64_t{1} << 63, 0, 5}));
}

}  // namespace
}  // namespace warpcheck::reference
