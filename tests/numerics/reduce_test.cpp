// Sums without error, and the verdicts on sum, min, max and argmax.
#include "reference/reduce/reduce.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "reference/argmax/argmax.hpp"
#include "reference/numerics/exact_sum.hpp"
#include "tests/numerics/adversarial_kernel.hpp"
#include "tests/numerics/special_values.hpp"

namespace warpcheck::reference {
namespace {

// Wide enough to add any doubles without rounding.
using wide = boost::multiprecision::number<
    boost::multiprecision::cpp_bin_float<2300, boost::multiprecision::digit_base_2, void, int32_t>,
    boost::multiprecision::et_off>;

TEST(exact_sum, agrees_with_2300_bit_arithmetic) {
  std::mt19937_64 random(51);
  for (int row = 0; row < 200; ++row) {
    exact_sum sum;
    wide truth = 0;
    for (int k = 0; k < 50; ++k) {
      double x = std::bit_cast<double>(random());
      if (!std::isfinite(x)) x = max_finite(dtype::f64);
      if (row % 3 == 0) x = std::bit_cast<double>(random() & 0x800fffffffffffff);  // subnormal
      if (row % 3 == 1) x = std::ldexp(1.0 + static_cast<double>(random() >> 40), row % 40) * (k % 2 ? -1 : 1);
      sum.add(x);
      truth += x;
    }
    EXPECT_EQ(wide(sum.units()) * ldexp(wide(1), -1074), truth) << row;
    EXPECT_EQ(nearest_double(sum.units()), round_to(dtype::f64, truth)) << row;
  }
}

// 2^29 additions are what the digits hold before they are carried.
TEST(exact_sum, carries_survive_many_additions) {
  exact_sum sum;
  const double x = -0x1.fffffffffffffp-3;
  const int64_t count = (int64_t{1} << 29) + 1000;
  for (int64_t k = 0; k < count; ++k) sum.add(x);
  // x = -(2^53 - 1) 2^-55
  const exact_sum::integer one = exact_sum::integer((int64_t{1} << 53) - 1) << (1074 - 55);
  EXPECT_EQ(sum.units(), exact_sum::integer(-count * one));
}

TEST(exact_sum, rounds_to_nearest_even_once) {
  const auto sum_of = [](std::initializer_list<double> terms) {
    exact_sum sum;
    for (const double x : terms) sum.add(x);
    return nearest_double(sum.units());
  };
  EXPECT_EQ(sum_of({1, 0x1p-53}), 1.0);
  EXPECT_EQ(sum_of({1, 0x1p-53, 0x1p-1074}), 1 + 0x1p-52);
  EXPECT_EQ(sum_of({1, 0x1p-52, 0x1p-53}), 1 + 0x1p-51);
  EXPECT_EQ(sum_of({-1, -0x1p-53, -0x1p-1074}), -1 - 0x1p-52);
  EXPECT_EQ(sum_of({0x1p1023, 0x1p1023}), k_inf);
  EXPECT_EQ(sum_of({0x1p1023, 0x1p1023, -0x1p1023}), 0x1p1023);
  EXPECT_EQ(sum_of({3 * 0x1p-1074, -0x1p-1074}), 0x1p-1073);
  EXPECT_EQ(sum_of({}), 0.0);
}

reduce_row sum_row(const std::vector<double>& x, dtype t = dtype::f32) { return {reduction::sum, x, t}; }

// n = 2: one addition, gamma_1 = u / (1 - u).
TEST(reduce_reference, sum_is_accepted_up_to_gamma_h) {
  const reduce_row row = sum_row({1, 0x1p-24});
  EXPECT_TRUE(row.judge(1).accepted);
  EXPECT_TRUE(row.judge(1 + 0x1p-23).accepted);
  EXPECT_FALSE(row.judge(1 + 0x1p-22).accepted);
  EXPECT_FALSE(row.judge(1 - 0x1p-24).accepted);
  EXPECT_FALSE(row.judge(k_nan).accepted);
  EXPECT_FALSE(row.judge(k_inf).accepted);
  EXPECT_NEAR(row.bound(), (1 + 0x1p-24) * 0x1p-24 / (1 - 0x1p-24), 1e-22);
  // The edge itself: Sum abs = 2^24 - 1 makes the bound exactly 1.
  const reduce_row edge = sum_row({0x1p24 - 2, 1});
  EXPECT_TRUE(edge.judge(0x1p24).accepted);
  EXPECT_EQ(edge.judge(0x1p24).error, 1);
  EXPECT_TRUE(edge.judge(0x1p24 - 2).accepted);
  EXPECT_FALSE(edge.judge(std::nextafter(0x1p24, k_inf)).accepted);
  EXPECT_GT(edge.judge(std::nextafter(0x1p24, k_inf)).error_ratio(), 1);
  // The same numbers in f64 must be exact to 2^-53.
  EXPECT_FALSE(sum_row({1, 0x1p-24}, dtype::f64).judge(1).accepted);
  EXPECT_TRUE(sum_row({1, 0x1p-24}, dtype::f64).judge(1 + 0x1p-24).accepted);
}

// The bound is relative to Sum abs(x), not to the sum: cancellation is allowed, its size is not hidden.
TEST(reduce_reference, cancellation) {
  const reduce_row row = sum_row({0x1p24, 1, -0x1p24});
  EXPECT_EQ(row.expected(), 1);
  EXPECT_TRUE(row.judge(0).accepted);
  EXPECT_TRUE(row.judge(4).accepted);
  EXPECT_FALSE(row.judge(8).accepted);
  const reduce_row zero = sum_row({5, -5});
  EXPECT_TRUE(zero.judge(0.0).accepted);
  EXPECT_FALSE(zero.judge(1e-6).accepted);
}

TEST(reduce_reference, special_rows_of_sum) {
  struct special {
    std::vector<double> x;
    double y;
  };
  const double top = max_finite(dtype::f32);
  const special table[] = {
      {{}, 0.0},
      {{-0.0}, 0.0},
      {{-0.0, -0.0, 0.0}, 0.0},
      {{0x1p-149}, 0x1p-149},
      {{-top}, -top},
      {{k_nan, 1}, k_nan},
      {{k_inf, k_nan}, k_nan},
      {{k_inf, 1}, k_inf},
      {{1, -k_inf}, -k_inf},
      {{k_inf, -k_inf}, k_nan},
  };
  for (const auto& [x, y] : table) {
    for (const double actual : {0.0, -0.0, 1.0, 0x1p-149, -top, k_inf, -k_inf, k_nan}) {
      const bool same = std::isnan(actual) ? std::isnan(y) : actual == y && std::signbit(actual) == std::signbit(y);
      EXPECT_EQ(sum_row(x).judge(actual).accepted, same) << actual << " for " << y;
    }
  }
}

TEST(reduce_reference, overflow_of_a_running_sum) {
  const double top = max_finite(dtype::f32);
  const reduce_row lowest = sum_row({-top, -top, -top});
  EXPECT_TRUE(lowest.judge(-k_inf).accepted);
  EXPECT_FALSE(lowest.judge(k_inf).accepted);  // no positive term can have overflowed
  EXPECT_FALSE(lowest.judge(k_nan).accepted);
  EXPECT_FALSE(lowest.judge(-top).accepted);
  const reduce_row mixed = sum_row({top, top, -top, -top, 7});
  for (const double actual : {k_inf, -k_inf, k_nan, 7.0}) EXPECT_TRUE(mixed.judge(actual).accepted) << actual;
  EXPECT_FALSE(mixed.judge(top).accepted);
  const reduce_row one_side = sum_row({top, top, -1});
  EXPECT_TRUE(one_side.judge(k_inf).accepted);
  EXPECT_FALSE(one_side.judge(k_nan).accepted);
  // Only just within the range: the first addition that rounds up overflows.
  EXPECT_TRUE(sum_row({top, 0x1p103}).judge(k_inf).accepted);
  EXPECT_FALSE(sum_row({0x1p127, 0x1p126}).judge(k_inf).accepted);
  EXPECT_FALSE(sum_row({top, top}, dtype::f64).judge(k_inf).accepted);
  EXPECT_TRUE(sum_row({0x1p1023, 0x1p1023}, dtype::f64).judge(k_inf).accepted);
  // +Inf in the row and negative terms that may overflow meet in NaN.
  EXPECT_TRUE(sum_row({k_inf, -top, -top}).judge(k_nan).accepted);
  EXPECT_FALSE(sum_row({k_inf, -0x1p127}).judge(k_nan).accepted);
}

TEST(reduce_reference, bound_holds_for_the_longest_chain_and_not_for_twice_that) {
  double worst = 0;
  std::mt19937_64 random(52);
  for (const int n : {2, 3, 33, 517, 4096, 65537}) {
    const int64_t h = chain_length(n);
    for (int kind = 0; kind < 4; ++kind) {
      std::vector<double> x(n, 0x1.fffffep-25);  // every addition to 1 loses one u
      x[0] = 1;
      if (kind > 0) {
        for (double& v : x) v = static_cast<float>(std::uniform_real_distribution<double>(kind - 2, 1)(random));
      }
      const std::vector<float> terms(x.begin(), x.end());
      const judgement j = sum_row(x).judge(chained_sum(terms, h));
      ASSERT_TRUE(j.accepted) << n << ' ' << j.error_ratio();
      worst = std::max(worst, j.error_ratio());
      if (kind == 0 && n > 100) {
        EXPECT_FALSE(sum_row(x).judge(chained_sum(terms, 2 * h)).accepted) << n;
      }
    }
  }
  std::printf("worst error ratio %.3f\n", worst);
  EXPECT_GE(worst, 0.9);
}

TEST(reduce_reference, min_and_max_to_the_bit) {
  const std::vector<double> zeros = {0.0, -0.0, 0.0};
  const reduce_row low(reduction::min, zeros, dtype::f32), high(reduction::max, zeros, dtype::f32);
  EXPECT_TRUE(low.judge(-0.0).accepted);
  EXPECT_FALSE(low.judge(0.0).accepted);
  EXPECT_TRUE(high.judge(0.0).accepted);
  EXPECT_FALSE(high.judge(-0.0).accepted);
  const std::vector<double> minus = {-0.0, -0.0};
  EXPECT_TRUE(reduce_row(reduction::max, minus, dtype::f32).judge(-0.0).accepted);
  const std::vector<double> mixed = {3, -k_inf, 7, 0x1p-149};
  EXPECT_EQ(reduce_row(reduction::min, mixed, dtype::f32).contract_value(), -k_inf);
  EXPECT_EQ(reduce_row(reduction::max, mixed, dtype::f32).contract_value(), 7);
  EXPECT_FALSE(reduce_row(reduction::max, mixed, dtype::f32).judge(std::nextafterf(7, 8)).accepted);
  const std::vector<double> bad = {3, k_nan, k_inf};
  EXPECT_TRUE(reduce_row(reduction::min, bad, dtype::f32).judge(k_nan).accepted);
  EXPECT_FALSE(reduce_row(reduction::max, bad, dtype::f32).judge(k_inf).accepted);
  EXPECT_EQ(reduce_row(reduction::min, {}, dtype::f64).contract_value(), k_inf);
  EXPECT_EQ(reduce_row(reduction::max, {}, dtype::f64).contract_value(), -k_inf);
}

TEST(reduce_reference, text) {
  EXPECT_EQ(sum_row({1, 0x1p-24}).expected_text(), "1.0000000596046447754");
  EXPECT_EQ(sum_row({k_inf}).expected_text(), "inf");
}

TEST(argmax_reference, first_of_the_largest) {
  using row = std::vector<double>;
  EXPECT_EQ(argmax(row{}), -1);
  EXPECT_EQ(argmax(row{-k_inf, -k_inf}), 0);
  EXPECT_EQ(argmax(row{-k_inf, -3, -3}), 1);
  EXPECT_EQ(argmax(row{1, k_inf, k_inf}), 1);
  EXPECT_EQ(argmax(row{k_inf, k_nan, k_nan}), 1);
  EXPECT_EQ(argmax(row{-0.0, 0.0}), 0);
  EXPECT_EQ(argmax(row{-1, 0.0, -0.0}), 1);
  row many(300, 2.0);
  many[0] = 1;
  EXPECT_EQ(argmax(many), 1);
}

}  // namespace
}  // namespace warpcheck::reference
