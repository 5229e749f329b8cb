// The model of histograms: the grid, the integer sums, and where the bounds of the float modes lie.
#include "reference/histogram/histogram.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/numerics/special_values.hpp"

namespace warpcheck::reference {
namespace {

TEST(histogram_reference, exponent_of_the_grid) {
  const auto exponent = [](std::vector<double> x, int64_t max_rows) { return fixed_exponent(x, max_rows); };
  EXPECT_EQ(exponent({}, 100), 0);
  EXPECT_EQ(exponent({0, -0.0, k_nan, k_inf}, 100), 0);
  EXPECT_EQ(exponent({1}, 0), 52);
  EXPECT_EQ(exponent({1}, 1), 52);
  EXPECT_EQ(exponent({1}, 2), 51);
  EXPECT_EQ(exponent({-1.99, 0.5}, 1024), 42);
  EXPECT_EQ(exponent({-2}, 1024), 41);
  EXPECT_EQ(exponent({1}, 1025), 41);
  EXPECT_EQ(exponent({0x1p-149}, 1), 201);
  EXPECT_EQ(exponent({k_inf, 0x1.fffffep127}, 1), -75);
  EXPECT_EQ(exponent({0x1.fffffep127}, int64_t{1} << 62), -137);
}

TEST(histogram_reference, no_sum_of_max_rows_leaves_53_bits) {
  for (const double x : {1.0, 0x1.fffffep0, 0x1p-149, 0x1.fffffep127, 0x1.000002p-126})
    for (const int64_t max_rows : {1, 2, 3, 4096, 4097, 1 << 30}) {
      const std::vector<double> one = {x};
      const int64_t q = on_grid(x, fixed_exponent(one, max_rows));
      EXPECT_LE(q * max_rows, int64_t{1} << 53);
      // Half of the range at least is used.
      EXPECT_GE(q * max_rows, int64_t{1} << 50);
    }
}

TEST(histogram_reference, halves_go_to_even) {
  EXPECT_EQ(on_grid(0.5, 0), 0);
  EXPECT_EQ(on_grid(1.5, 0), 2);
  EXPECT_EQ(on_grid(-2.5, 0), -2);
  EXPECT_EQ(on_grid(0x5p-3, 2), 2);
  EXPECT_EQ(on_grid(0x7p-3, 2), 4);
}

TEST(histogram_reference, sums_of_the_grid) {
  const std::vector<histogram_update> updates = {{0, 0}, {2, 1}, {0, 1}, {1, 2}, {2, 2}};
  const std::vector<double> x = {0.3, -0.25, k_nan};
  const std::vector<double> hist = fixed_histogram(updates, x, 4, 2);
  EXPECT_EQ(hist[0], 0);  // 0.3 is a quarter of this grid
  EXPECT_TRUE(std::isnan(hist[1]));
  EXPECT_TRUE(std::isnan(hist[2]));
  EXPECT_EQ(hist[3], 0);
  EXPECT_FALSE(std::signbit(hist[3]));
  const std::vector<int64_t> integers = integer_histogram(updates, std::vector<int64_t>{5, -32767, 7}, 4);
  EXPECT_EQ(integers, (std::vector<int64_t>{-32762, 7, -32760, 0}));
}

judged_sum sum_of(const std::vector<double>& x) {
  judged_sum sum;
  for (const double v : x) sum.add(v);
  return sum;
}

// Two terms, 1 and 2^-24: gamma_2(2^-24) (1 + 2^-24) and as much in f64.
TEST(histogram_reference, bounds_of_the_float_modes) {
  const judged_sum sum = sum_of({1, 0x1p-24});
  EXPECT_TRUE(sum.judge_float32(1).accepted);
  EXPECT_TRUE(sum.judge_float32(1 + 0x1p-24 + 0x1p-23).accepted);
  EXPECT_FALSE(sum.judge_float32(1 + 0x1p-24 + 0x1.1p-23).accepted);
  EXPECT_FALSE(sum.judge_float32(k_nan).accepted);
  EXPECT_FALSE(sum.judge_float32(k_inf).accepted);
  EXPECT_FALSE(sum.judge_float64(1).accepted);
  EXPECT_TRUE(sum.judge_float64(1 + 0x1p-24).accepted);
  EXPECT_TRUE(sum.judge_float64(1 + 0x1p-24 + 0x1p-52).accepted);
  EXPECT_FALSE(sum.judge_float64(1 + 0x1p-24 + 0x1p-51).accepted);
  EXPECT_GT(sum.judge_float64(1).error_ratio(), 1);
  EXPECT_EQ(sum.expected(), 1 + 0x1p-24);
}

// From 16384 terms on the f32 part of the bound no longer grows.
TEST(histogram_reference, tiles_limit_the_chain) {
  const double one_tile = sum_of(std::vector<double>(16384, 1)).judge_float32(16384).bound / 16384;
  const double two_tiles = sum_of(std::vector<double>(32768, 1)).judge_float32(32768).bound / 32768;
  EXPECT_NEAR(one_tile, 16384 * 0x1p-24, 1e-6);
  EXPECT_LT(two_tiles, one_tile * (1 + 1e-8));
}

TEST(histogram_reference, overflow_of_a_tile) {
  const double top = 0x1.fffffep127;
  EXPECT_TRUE(sum_of({top, -top, 1}).judge_float32(k_inf).accepted);
  EXPECT_TRUE(sum_of({top, -top, 1}).judge_float32(k_nan).accepted);
  EXPECT_FALSE(sum_of({top / 4, -top / 4}).judge_float32(k_inf).accepted);
  EXPECT_FALSE(sum_of({top, -top, 1}).judge_float64(k_inf).accepted);
}

TEST(histogram_reference, what_is_not_finite_owes_no_number) {
  const judged_sum sum = sum_of({1, k_inf});
  for (const double right : {k_inf, -k_inf, k_nan}) {
    EXPECT_TRUE(sum.judge_float32(right).accepted);
    EXPECT_TRUE(sum.judge_float64(right).accepted);
  }
  EXPECT_FALSE(sum.judge_float32(1).accepted);
  EXPECT_FALSE(sum.judge_float64(1).accepted);
  EXPECT_TRUE(sum.judge_fixed64(k_nan, 10).accepted);
  EXPECT_FALSE(sum.judge_fixed64(1, 10).accepted);
  EXPECT_FALSE(sum.judge_fixed64(k_inf, 10).accepted);
}

TEST(histogram_reference, half_a_unit_for_each_row) {
  const judged_sum sum = sum_of({0.3, 0.3, 0.3});
  EXPECT_TRUE(sum.judge_fixed64(0.75, 2).accepted);  // 3 rint(1.2) / 4
  EXPECT_TRUE(sum.judge_fixed64(1.25, 2).accepted);  // within 3/8
  EXPECT_FALSE(sum.judge_fixed64(1.5, 2).accepted);
  EXPECT_TRUE(sum_of({}).judge_fixed64(0, 2).accepted);
  EXPECT_FALSE(sum_of({}).judge_fixed64(0x1p-60, 2).accepted);
}

TEST(histogram_reference, fix_is_judged_by_its_terms) {
  judged_sum rest = sum_of({1e16});
  rest.subtract(1e16);
  rest.subtract(0.5);
  EXPECT_EQ(rest.expected(), -0.5);
  EXPECT_TRUE(rest.judge_fix(100).accepted);  // gamma_48 2e16 = 106.6
  EXPECT_FALSE(rest.judge_fix(107).accepted);
}

}  // namespace
}  // namespace warpcheck::reference
