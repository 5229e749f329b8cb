// Tests of the comparator: each defect of a comparison that docs/prior_art.md lists has a test here.
#include "reference/numerics/compare.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "reference/numerics/multiprecision.hpp"
#include "reference/softmax/softmax.hpp"
#include "tests/numerics/special_values.hpp"

namespace warpcheck::reference {
namespace {

// A model of one element, known exactly, whose double and 50 digit enclosures are as wide as a test wants.
struct known {
  double exact, bound;
  double radius_double = 0, radius_50 = 0;
  template <class Real>
  bounded_value<Real> evaluate(int64_t) const {
    const double radius = std::is_same_v<Real, double> ? radius_double : std::is_same_v<Real, mp50> ? radius_50 : 0;
    return {basic_enclosure<Real>(Real(exact), radius), basic_enclosure<Real>(bound)};
  }
};

judgement judge(dtype output, const known& model, double actual) {
  return decide<mp50, mp100>(output, actual, precision::adaptive, model, 0);
}

TEST(compare, accepts_up_to_the_bound_and_not_beyond) {
  const known model{1.0, 0.25};
  for (const double actual : {1.0, 1.25, 0.75, 1.125}) EXPECT_TRUE(judge(dtype::f32, model, actual).accepted) << actual;
  for (const double actual : {std::nextafter(1.25, 2), std::nextafter(0.75, 0), 0.0, -1.0, 1e30, -k_inf, k_inf}) {
    EXPECT_FALSE(judge(dtype::f32, model, actual).accepted) << actual;
  }
  EXPECT_EQ(judge(dtype::f32, model, 1.25).error, 0.25);
  EXPECT_EQ(judge(dtype::f32, model, 1.25).bound, 0.25);
  EXPECT_EQ(judge(dtype::f32, model, 1.25).error_ratio(), 1.0);
  EXPECT_EQ(judge(dtype::f32, model, 1.125).error_ulp, 0x1p20);
}

TEST(compare, nan_never_passes_for_a_number) {
  for (const double bound : {0.0, 1.0, 1e300, k_inf}) {
    for (const auto policy : {precision::adaptive, precision::digits50, precision::digits100}) {
      const auto j = decide<mp50, mp100>(dtype::f32, k_nan, policy, known{0.5, bound}, 0);
      EXPECT_FALSE(j.accepted) << bound;
      EXPECT_FALSE(j.error <= j.bound && bound < k_inf);
      EXPECT_GT(j.error_ratio(), 1.0);
    }
  }
  EXPECT_FALSE(judge_fixed(dtype::f32, k_nan, 0.0).accepted);
  EXPECT_FALSE(judge_fixed(dtype::f32, k_nan, k_inf).accepted);
}

// A bound or an exact value that is NaN (a fault of the model) accepts nothing either.
TEST(compare, a_nan_model_accepts_nothing) {
  EXPECT_FALSE(judge(dtype::f32, known{k_nan, 1.0}, 0.0).accepted);
  EXPECT_FALSE(judge(dtype::f32, known{0.0, k_nan}, 0.0).accepted);
  EXPECT_FALSE(judge(dtype::f32, known{k_nan, 1.0}, k_nan).accepted);
}

TEST(compare, nan_passes_only_where_the_contract_says_nan) {
  EXPECT_TRUE(judge_fixed(dtype::f32, k_nan, k_nan).accepted);
  EXPECT_TRUE(judge_fixed(dtype::f32, -k_nan, k_nan).accepted);  // sign and payload are unspecified
  for (const double actual : {0.0, 1.0, k_inf, -k_inf}) {
    const auto j = judge_fixed(dtype::f32, actual, k_nan);
    EXPECT_FALSE(j.accepted) << actual;
    EXPECT_EQ(j.error_ratio(), k_inf);
  }
}

TEST(compare, fixed_values_are_compared_to_the_bit) {
  EXPECT_TRUE(judge_fixed(dtype::f32, 0.0, 0.0).accepted);
  EXPECT_TRUE(judge_fixed(dtype::f32, -0.0, -0.0).accepted);
  EXPECT_FALSE(judge_fixed(dtype::f32, -0.0, 0.0).accepted);
  EXPECT_FALSE(judge_fixed(dtype::f32, 0.0, -0.0).accepted);
  EXPECT_GT(judge_fixed(dtype::f32, -0.0, 0.0).error, 0.0);
  EXPECT_TRUE(judge_fixed(dtype::f16, -k_inf, -k_inf).accepted);
  EXPECT_FALSE(judge_fixed(dtype::f16, k_inf, -k_inf).accepted);
  EXPECT_FALSE(judge_fixed(dtype::f32, 0x1p-149, 0.0).accepted);
  EXPECT_FALSE(judge_fixed(dtype::f32, std::nextafter(1.0, 0.0), 1.0).accepted);
  EXPECT_EQ(judge_fixed(dtype::f32, 1.0 + 0x1p-23, 1.0).error_ulp, 1.0);
  EXPECT_EQ(judge_fixed(dtype::f32, 1.0, 1.0).error_ratio(), 0.0);
}

TEST(compare, subnormals_are_ordinary_values) {
  const known model{5 * 0x1p-149, 1.5 * 0x1p-149};
  EXPECT_TRUE(judge(dtype::f32, model, 4 * 0x1p-149).accepted);
  EXPECT_TRUE(judge(dtype::f32, model, 6 * 0x1p-149).accepted);
  EXPECT_FALSE(judge(dtype::f32, model, 3 * 0x1p-149).accepted);
  EXPECT_FALSE(judge(dtype::f32, model, 0.0).accepted);
  EXPECT_EQ(judge(dtype::f32, model, 3 * 0x1p-149).error_ulp, 2.0);
}

// +Inf for a finite exact value: only if exact + B reaches 2^128 - 2^103.
TEST(compare, infinity_passes_only_at_the_overflow_threshold) {
  const double top = max_finite(dtype::f32), threshold = overflow_threshold(dtype::f32);
  EXPECT_FALSE(judge(dtype::f32, known{top, 0x1p102}, k_inf).accepted);
  EXPECT_TRUE(judge(dtype::f32, known{top, 0x1p103}, k_inf).accepted);
  EXPECT_TRUE(judge(dtype::f32, known{-top, 0x1p103}, -k_inf).accepted);
  EXPECT_FALSE(judge(dtype::f32, known{-top, 0x1p103}, k_inf).accepted);
  EXPECT_FALSE(judge(dtype::f32, known{1.0, 1e30}, k_inf).accepted);
  // Beyond the threshold the correctly rounded value is the infinity.
  EXPECT_TRUE(judge(dtype::f32, known{threshold, 0}, k_inf).accepted);
  EXPECT_TRUE(judge(dtype::f32, known{6e38, 1}, k_inf).accepted);
  EXPECT_EQ(judge(dtype::f32, known{6e38, 1}, k_inf).error, 0);
  EXPECT_EQ(judge(dtype::f32, known{1.0, 1.0}, k_inf).error, threshold - 1);
  EXPECT_TRUE(judge(dtype::f32, known{-6e38, 1}, -k_inf).accepted);
  EXPECT_FALSE(judge(dtype::f32, known{6e38, 1}, -k_inf).accepted);
  EXPECT_FALSE(judge(dtype::f32, known{6e38, 1}, top).accepted);
  EXPECT_TRUE(judge(dtype::f32, known{threshold, 0x1p104}, top).accepted);
  // For a 16-bit output the rounding of the output does not count towards the threshold.
  EXPECT_FALSE(judge(dtype::f16, known{65504, 15}, k_inf).accepted);
  EXPECT_TRUE(judge(dtype::f16, known{65504, 16}, k_inf).accepted);
  EXPECT_TRUE(judge(dtype::f16, known{1e5, 0.01}, k_inf).accepted);
  EXPECT_FALSE(judge(dtype::f16, known{1e5, 0.01}, 65504).accepted);
}

TEST(compare, rounding_to_16_bits_is_paid_for_once) {
  const double u = 0x1p-11;
  const known half{1.0, 0.0};
  EXPECT_TRUE(judge(dtype::f16, half, 1.0 + u).accepted);
  EXPECT_FALSE(judge(dtype::f16, half, 1.0 + u + 0x1p-24).accepted);
  const known tiny{0x1p-26, 0.0};  // rounds to 0: eta / 2 = 2^-25
  EXPECT_TRUE(judge(dtype::f16, tiny, 0.0).accepted);
  EXPECT_FALSE(judge(dtype::f16, tiny, 0x1p-24).accepted);
  EXPECT_TRUE(judge(dtype::bf16, known{3.0, 0.5}, 3.5 + 3.5 * 0x1p-8).accepted);
  EXPECT_FALSE(judge(dtype::bf16, known{3.0, 0.5}, 3.5 + 3.6 * 0x1p-8).accepted);
  EXPECT_FALSE(judge(dtype::f32, half, 1.0 + 0x1p-24).accepted);
}

TEST(compare, escalates_exactly_while_the_enclosure_leaves_the_verdict_open) {
  // error 1/4 against bound 1/2: the margin is 1/4.
  EXPECT_EQ(judge(dtype::f32, known{1.0, 0.5, 0.2, 0}, 1.25).digits, 0);
  EXPECT_EQ(judge(dtype::f32, known{1.0, 0.5, 0.3, 0.2}, 1.25).digits, 50);
  EXPECT_EQ(judge(dtype::f32, known{1.0, 0.5, 0.3, 0.3}, 1.25).digits, 100);
  EXPECT_TRUE(judge(dtype::f32, known{1.0, 0.5, 0.3, 0.3}, 1.25).accepted);
  // error 3/4: rejected at whatever precision decides.
  EXPECT_EQ(judge(dtype::f32, known{1.0, 0.5, 0.2, 0}, 1.75).digits, 0);
  EXPECT_EQ(judge(dtype::f32, known{1.0, 0.5, 0.3, 0.3}, 1.75).digits, 100);
  EXPECT_FALSE(judge(dtype::f32, known{1.0, 0.5, 0.3, 0.3}, 1.75).accepted);
  // Infinities confirm_and_shrink too.
  EXPECT_EQ(judge(dtype::f32, known{1e38, 1.0, 1e39, 0}, k_inf).digits, 50);
}

TEST(compare, forced_digits_are_forced) {
  const known model{1.0, 0.5};
  EXPECT_EQ((decide<mp50, mp100>(dtype::f32, 1.25, precision::digits50, model, 0).digits), 50);
  EXPECT_EQ((decide<mp50, mp100>(dtype::f32, 1.25, precision::digits100, model, 0).digits), 100);
}

// Exactly 1 with bound 1/4 - excess, where excess vanishes beside 1/4 in double.
struct narrow_model {
  double excess;
  template <class Real>
  bounded_value<Real> evaluate(int64_t) const {
    return {basic_enclosure<Real>(1.0), basic_enclosure<Real>(Real(Real(0.25) - Real(excess)), 0)};
  }
};

// error and bound, as printed, agree with the verdict even where both round to one double.
TEST(compare, printed_numbers_agree_with_the_verdict) {
  const auto rejected = decide<mp50, mp100>(dtype::f32, 1.25, precision::digits100, narrow_model{1e-60}, 0);
  EXPECT_FALSE(rejected.accepted);
  EXPECT_GT(rejected.error, rejected.bound);
  EXPECT_GT(rejected.error_ratio(), 1.0);
  const auto accepted = decide<mp50, mp100>(dtype::f32, 1.25, precision::digits100, narrow_model{-1e-60}, 0);
  EXPECT_TRUE(accepted.accepted);
  EXPECT_LE(accepted.error, accepted.bound);
}

std::vector<double> normal_row(int n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<double> x(n);
  for (double& v : x) v = normal(random);
  return x;
}

// OpenCL-CTS #1848: the tolerance grew inside the loop, so that later elements could not fail. The same question gets
// the same answer first, last, and after any number of others.
TEST(compare, verdicts_do_not_depend_on_what_came_before) {
  const auto x = normal_row(64, 1);
  const softmax_row row(x, dtype::f32);
  const softmax_row fresh(x, dtype::f32);
  const double edge = row.expected(7) + row.bound(7) * (1 + 1e-6);
  ASSERT_FALSE(row.judge(7, edge).accepted);
  tally all;
  for (int repeat = 0; repeat < 1000; ++repeat) {
    for (int64_t i = 0; i < row.size(); ++i) all.add(i, row.judge(i, repeat % 2 ? 1.0 : row.expected(i)));
    const auto j = row.judge(7, edge);
    ASSERT_FALSE(j.accepted);
    ASSERT_EQ(j.bound, fresh.judge(7, edge).bound);
  }
  EXPECT_EQ(all.compared, 64'000);
  EXPECT_EQ(all.rejected, 32'000);
}

// KernelBench #165: softmax of 4096 normal logits lies below 1e-2, so allclose(atol=1e-2) accepts zeros. Here each
// element rejects them.
TEST(compare, zeros_fail_at_every_element) {
  const auto x = normal_row(4096, 2);
  for (const dtype t : {dtype::f32, dtype::bf16}) {
    const softmax_row row(x, t);
    tally all;
    for (int64_t i = 0; i < row.size(); ++i) {
      ASSERT_LT(row.expected(i), 1e-2);
      all.add(i, row.judge(i, 0.0));
    }
    EXPECT_EQ(all.rejected, 4096) << name_of(t);
  }
}

TEST(compare, a_wrong_last_element_is_seen) {
  const auto x = normal_row(1000, 3);
  const softmax_row row(x, dtype::f32);
  tally all;
  for (int64_t i = 0; i < row.size(); ++i) all.add(i, row.judge(i, i == 999 ? k_nan : row.expected(i)));
  EXPECT_EQ(all.compared, 1000);
  EXPECT_EQ(all.rejected, 1);
  EXPECT_EQ(all.worst_index, 999);
}

judgement plain(double error, double bound, double ulps, int digits) {
  return {
      .accepted = error <= bound, .error = error, .bound = bound, .error_ulp = ulps, .expected = 0, .digits = digits};
}

TEST(compare, tally_sums_and_merges) {
  tally a, b, both;
  const judgement first = plain(1, 4, 3, 0), second = plain(3, 4, 4, 50), third = plain(1, 2, 1, 100);
  a.add(0, first);
  a.add(1, second);
  b.add(0, third);
  for (const auto& j : {first, second}) both.add(both.compared, j);
  both.add(2, third);
  a.merge(b, 2);
  for (const tally& t : {a, both}) {
    EXPECT_EQ(t.compared, 3);
    EXPECT_EQ(t.rejected, 0);
    EXPECT_EQ(t.needed_50_digits, 1);
    EXPECT_EQ(t.needed_100_digits, 1);
    EXPECT_EQ(t.max_error_ulp, 4);
    EXPECT_DOUBLE_EQ(t.rms_error_ulp(), std::sqrt(26.0 / 3));
    EXPECT_EQ(t.max_error_ratio, 0.75);
    EXPECT_EQ(t.worst_index, 1);
  }
  tally worse;
  worse.add(5, plain(9, 4, 9, 0));
  a.merge(worse, 100);
  EXPECT_EQ(a.worst_index, 105);
  EXPECT_EQ(a.rejected, 1);
  EXPECT_EQ(a.max_error_ratio, 2.25);
}

TEST(compare, an_empty_tally_says_so) {
  const tally none;
  EXPECT_EQ(none.compared, 0);
  EXPECT_EQ(none.worst_index, -1);
  EXPECT_EQ(none.rms_error_ulp(), 0);
  tally all;
  all.merge(none, 7);
  EXPECT_EQ(all.worst_index, -1);
  all.add(3, plain(0, 1, 0, 0));
  EXPECT_EQ(all.worst_index, 3);  // something was compared, even if nothing erred
}

}  // namespace
}  // namespace warpcheck::reference
