// The model of softmax against closed forms, against a second algorithm, and against itself with more digits.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "reference/softmax/softmax.hpp"
#include "tests/numerics/plain_row.hpp"
#include "tests/numerics/rows.hpp"
#include "tests/numerics/special_values.hpp"

namespace warpcheck::reference {
namespace {

// Each enclosure, of the value and of the bound, at each precision, holds the number that the plain formulas give, and
// is narrow enough to be of use.
TEST(softmax_reference, encloses_what_the_plain_formulas_give) {
  for (const int n : {2, 3, 7, 33, 100}) {
    for (const auto& [name, x] : adversarial_rows(n, 11)) {
      const plain_row plain(x, 2, 0);
      const softmax_row row(x, dtype::f32);
      for (int i = 0; i < n; ++i) {
        if (std::isinf(x[i])) continue;
        // exp(x - lse) loses the digits of |x|: up to 39 of 100.
        const mp100 g = plain.softmax(i), b = plain.softmax_bound(i), slack_g = g * mp100("1e-58"),
                    slack_b = b * mp100("1e-58");
        const auto c0 = row.evaluate<double>(i);
        const auto c50 = row.evaluate<mp50>(i);
        const auto c100 = row.evaluate<mp100>(i);
        const std::string at = name + "[" + std::to_string(i) + "]";
        ASSERT_TRUE(contains(c0.exact, g, slack_g)) << at + " exact, double";
        ASSERT_TRUE(contains(c0.bound, b, slack_b)) << at + " bound, double";
        ASSERT_TRUE(contains(c50.exact, g, slack_g)) << at + " exact, 50";
        ASSERT_TRUE(contains(c50.bound, b, slack_b)) << at + " bound, 50";
        ASSERT_TRUE(contains(c100.exact, g, slack_g)) << at + " exact, 100";
        ASSERT_TRUE(contains(c100.bound, b, slack_b)) << at + " bound, 100";
        ASSERT_LE(c0.exact.radius, 1e-6 * c0.bound.value) << at;
        ASSERT_LE(c0.bound.radius, 1e-6 * c0.bound.value) << at;
        ASSERT_LE(c50.exact.radius, 1e-35 * c0.bound.value) << at;
        ASSERT_LE(c100.exact.radius, 1e-80 * c0.bound.value) << at;
      }
    }
  }
}

// More digits must fall into the enclosure that fewer digits gave.
TEST(softmax_reference, digits_50_and_100_agree) {
  for (const int n : {5, 129, 1000}) {
    for (const auto& [name, x] : adversarial_rows(n, 12)) {
      const softmax_row row(x, dtype::f32);
      for (int i = 0; i < n; i += 1 + n / 7) {
        if (std::isinf(x[i])) continue;
        const auto fine = row.evaluate<mp100>(i);
        const auto coarse = row.evaluate<mp50>(i);
        ASSERT_TRUE(contains(coarse.exact, fine.exact.value, mp100(fine.exact.radius))) << name;
        ASSERT_TRUE(contains(coarse.bound, fine.bound.value, mp100(fine.bound.radius))) << name;
        ASSERT_TRUE(contains(row.evaluate<double>(i).bound, fine.bound.value, mp100(fine.bound.radius))) << name;
      }
    }
  }
}

// [0, -t]: 1 / (1 + e^-t) and e^-t / (1 + e^-t).
TEST(softmax_reference, two_elements) {
  for (const double t : {0x1p-149, 1e-8, 0.5, 1.0, 16.64, 17.0, 50.0, 87.5, 103.0, 103.9, 150.0, 699.0}) {
    const std::vector<double> x = {0.0, -t};
    const softmax_row row(x, dtype::f32);
    const mp100 e = exp(mp100(-t));
    ASSERT_TRUE(contains(row.evaluate<mp50>(0).exact, mp100(1 / (1 + e)), mp100("1e-90"))) << "first";
    ASSERT_TRUE(contains(row.evaluate<mp50>(1).exact, mp100(e / (1 + e)), mp100(e * mp100("1e-90")))) << "second";
    EXPECT_NEAR(row.expected(1) / static_cast<double>(e / (1 + e)), 1, 1e-12) << t;
  }
}

TEST(softmax_reference, equal_maxima_share_evenly) {
  for (const int k : {2, 3, 7, 1000, 4096}) {
    std::vector<double> x(k, 3.5);
    x.resize(k + k / 2, -k_inf);
    const softmax_row row(x, dtype::f32);
    EXPECT_NEAR(row.expected(k - 1) * k, 1, 1e-13) << k;
    EXPECT_EQ(row.contract_value(0), static_cast<double>(1.0f / static_cast<float>(k)));
    EXPECT_TRUE(row.judge(0, *row.contract_value(0)).accepted);
    EXPECT_EQ(row.contract_value(k), 0.0);
    EXPECT_EQ(softmax_row(x, dtype::bf16).contract_value(0), round_to(dtype::bf16, 1.0f / static_cast<float>(k)));
  }
  // A larger element below takes the tie away.
  const std::vector<double> x = {1.0, 1.0, 0.5};
  EXPECT_FALSE(softmax_row(x, dtype::f32).contract_value(0).has_value());
  const std::vector<double> lowest(5, -static_cast<double>(std::numeric_limits<float>::max()));
  EXPECT_EQ(softmax_row(lowest, dtype::f32).contract_value(4), static_cast<double>(0.2f));
}

TEST(softmax_reference, special_rows) {
  struct special {
    std::vector<double> x;
    int64_t argmax;
    std::vector<double> y;
  };
  const special table[] = {
      {{1, k_nan, 2}, 1, {k_nan, k_nan, k_nan}},
      {{k_inf, 0, k_nan, k_nan}, 2, {k_nan, k_nan, k_nan, k_nan}},
      {{-k_inf, k_nan}, 1, {k_nan, k_nan}},
      {{0, k_inf, k_inf}, 1, {k_nan, k_nan, k_nan}},
      {{k_inf, -k_inf}, 0, {k_nan, k_nan}},
      {{-k_inf, -k_inf}, 0, {k_nan, k_nan}},
      {{-k_inf}, 0, {k_nan}},
      {{-3e38}, 0, {1}},
      {{0x1p-149}, 0, {1}},
      {{-k_inf, 5, -k_inf}, 1, {0, 1, 0}},
  };
  for (const auto& [x, argmax, y] : table) {
    const softmax_row row(x, dtype::f32);
    EXPECT_EQ(row.argmax(), argmax);
    for (size_t i = 0; i < x.size(); ++i) {
      const auto index = static_cast<int64_t>(i);
      EXPECT_TRUE(row.judge(index, y[i]).accepted) << i;
      EXPECT_EQ(row.bound(index), 0.0);
      EXPECT_EQ(row.sum_of_bounds(), 0.0);
      EXPECT_EQ(std::isnan(row.expected(index)), std::isnan(y[i]));
      for (const double wrong : {0.0, -0.0, 1.0, 0.5, k_inf, k_nan}) {
        const bool same =
            std::isnan(wrong) ? std::isnan(y[i]) : wrong == y[i] && std::signbit(wrong) == std::signbit(y[i]);
        EXPECT_EQ(row.judge(index, wrong).accepted, same) << i << ' ' << wrong;
      }
    }
  }
  EXPECT_EQ(softmax_row(std::vector<double>{}, dtype::f32).argmax(), -1);
  EXPECT_EQ(softmax_row(std::vector<double>{}, dtype::f32).size(), 0);
}

TEST(softmax_reference, argmax_is_the_first_maximum) {
  EXPECT_EQ(softmax_row(std::vector<double>{1, 3, 3, 2}, dtype::f32).argmax(), 1);
  EXPECT_EQ(softmax_row(std::vector<double>{-0.0, 0.0}, dtype::f32).argmax(), 0);
  EXPECT_EQ(softmax_row(std::vector<double>{0.0, -0.0}, dtype::f32).argmax(), 0);
  EXPECT_EQ(softmax_row(std::vector<double>{-k_inf, -1, -1}, dtype::f32).argmax(), 1);
  EXPECT_EQ(softmax_row(std::vector<double>{-2, -1}, dtype::f32).argmax(), 1);
}

// -0 and +0 are equal logits: same values, same bounds.
TEST(softmax_reference, zeros_are_equal) {
  const std::vector<double> mixed = {0.0, -0.0, -1.0}, plain = {0.0, 0.0, -1.0};
  const softmax_row a(mixed, dtype::f32), b(plain, dtype::f32);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(a.expected(i), b.expected(i));
    EXPECT_EQ(a.bound(i), b.bound(i));
  }
}

// expected and bound for every element: they sum to 1 and to sum_of_bounds, and bound() never lies below the real
// bound.
TEST(softmax_reference, sums_and_rounding_of_bounds) {
  for (const auto& [name, x] : adversarial_rows(200, 13)) {
    for (const dtype t : {dtype::f32, dtype::f16, dtype::bf16}) {
      const softmax_row row(x, t);
      double total = 0;
      mp100 bounds = 0;
      for (int64_t i = 0; i < row.size(); ++i) {
        total += row.expected(i);
        if (std::isinf(x[static_cast<size_t>(i)])) continue;
        const mp100 exact_bound = output_bound(t, row.evaluate<mp100>(i)).value;
        ASSERT_GE(mp100(row.bound(i)), exact_bound) << name;
        ASSERT_LE(mp100(row.bound(i)), exact_bound * 1.000001) << name;
        bounds += exact_bound;
      }
      EXPECT_NEAR(total, 1, 1e-12) << name;
      EXPECT_GE(mp100(row.sum_of_bounds()), bounds) << name;
      EXPECT_LE(mp100(row.sum_of_bounds()), bounds * 1.000001) << name;
    }
  }
}

// Sum g_i d_i = H(g) - ln s <= ln n: argument rounding costs the sum at most u ln n, however wide the row.
TEST(softmax_reference, wide_rows_pay_the_entropy_not_the_range) {
  for (const auto& [name, x] : adversarial_rows(1000, 14)) {
    const exp_row row(x, softmax_allowance(1000));
    const double fixed = (chain_length(1000) + 17) * k_unit;
    EXPECT_LE(row.sum<double>().sum_error.value, (fixed + std::log(1000.0) * k_unit) * 1.001) << name;
    EXPECT_GE(row.sum<double>().sum_error.value, fixed) << name;
  }
}

TEST(softmax_reference, allowances_of_the_contract) {
  const int64_t lengths[][2] = {{0, 0},
                                {1, 0},
                                {2, 1},
                                {33, 32},
                                {46, 45},
                                {47, 45},
                                {65, 47},
                                {1024, 53},
                                {1025, 55},
                                {2048, 55},
                                {4096, 57},
                                {16384, 61},
                                {16385, 64},
                                {32768, 64},
                                {1 << 20, 136},
                                {1 << 22, 332},
                                {(1 << 22) + 1, 335}};
  for (const auto& [n, h] : lengths) EXPECT_EQ(chain_length(n), h) << n;
  EXPECT_EQ(softmax_allowance(1 << 22).rescales, 2);
  EXPECT_EQ(softmax_allowance(1 << 22).slack, 0);
  EXPECT_EQ(softmax_allowance((1 << 22) + 1).rescales, 16);
  EXPECT_EQ(softmax_allowance((1 << 22) + 1).slack, 8);
  EXPECT_EQ(logsumexp_allowance(1024).rescales, 2);
  EXPECT_EQ(logsumexp_allowance(1025).rescales, 16);
}

// n > 10^6: the interval of the compensated sum, certified against a sum that is known: k distinct values, many times.
TEST(softmax_reference, long_rows_have_certified_sums) {
  const int64_t n = 2'000'000;
  std::vector<double> x(n);
  for (int64_t i = 0; i < n; ++i) x[i] = -static_cast<double>(static_cast<float>(0.37) * static_cast<float>(i % 50));
  mp100 tail = 0;
  for (int64_t k = 0; k < 50; ++k) tail += (n / 50) * exp(mp100(x[k]));
  tail -= 1;
  const exp_row row(x, softmax_allowance(n));
  ASSERT_TRUE(contains(row.sum<double>().tail, tail, tail * mp100("1e-90"))) << "tail";
  EXPECT_LE(row.sum<double>().tail.radius, 1e-13 * static_cast<double>(tail));
}

TEST(softmax_reference, text_has_twenty_digits) {
  const std::vector<double> x = {0.0, -1.0};
  EXPECT_EQ(softmax_row(x, dtype::f32).expected_text(0), "0.73105857863000487925");
  const std::vector<double> special = {0.0, -k_inf};
  EXPECT_EQ(softmax_row(special, dtype::f32).expected_text(0), "1");
  EXPECT_EQ(softmax_row(special, dtype::f32).expected_text(1), "0");
  const std::vector<double> bad = {k_nan};
  EXPECT_EQ(softmax_row(bad, dtype::f32).expected_text(0), "nan");
}

// The proof that escalation is harmless: with actual values at the bound's edge, inside, outside and anywhere, double
// first, 50 digits first and 100 digits at once give one verdict, and it is the verdict of the plain formulas.
TEST(softmax_reference, forcing_100_digits_changes_no_verdict) {
  tally adaptive_tally;
  int64_t accepted = 0, rejected = 0;
  std::mt19937_64 random(15);
  for (const int n : {2, 3, 10, 30}) {
    for (const auto& [name, x] : adversarial_rows(n, 16 + n)) {
      const plain_row plain(x, 2, 0);
      for (const dtype t : {dtype::f32, dtype::f16, dtype::bf16}) {
        const softmax_row adaptive(x, t), fifty(x, t, precision::digits50), hundred(x, t, precision::digits100);
        for (int i = 0; i < n; i += 1 + static_cast<int>(random() % 7)) {
          const bool finite = std::isfinite(x[i]);
          const mp100 g = plain.softmax(i),
                      b = finite ? output_bound(t, bounded_value<mp100>{{g, 0}, {plain.softmax_bound(i), 0}}).value : 0;
          std::vector<double> actuals = {0.0, 1.0, k_nan, k_inf, static_cast<double>(g)};
          for (const int side : {-1, 1}) {
            for (const double delta : {0.0, 1e-15, -1e-15, 1e-12, -1e-12, 1e-6, -1e-6, 0.3, -0.3}) {
              actuals.push_back(static_cast<double>(mp100(g + side * b * (1 + mp100(delta)))));
            }
            // The values of the output type on both sides of the edge.
            const double edge = round_to(t, mp100(g + side * b));
            for (const double y : {next_down(t, edge), edge, next_up(t, edge)}) actuals.push_back(y);
          }
          for (const double actual : actuals) {
            const judgement j = adaptive.judge(i, actual);
            const judgement k = hundred.judge(i, actual);
            ASSERT_EQ(j.accepted, k.accepted) << name << '[' << i << "] " << hexfloat(actual);
            ASSERT_EQ(fifty.judge(i, actual).accepted, k.accepted) << name << '[' << i << "] " << hexfloat(actual);
            ASSERT_EQ(j.accepted, j.error <= j.bound);
            ASSERT_EQ(k.accepted, k.error <= k.bound);
            if (!finite || adaptive.bound(i) == 0) continue;
            const bool truth = std::isfinite(actual) && abs(mp100(actual) - g) <= b;
            ASSERT_EQ(j.accepted, truth) << name << '[' << i << "] " << hexfloat(actual);
            ASSERT_EQ(k.digits, 100);
            adaptive_tally.add(i, j);
            ++(truth ? accepted : rejected);
          }
        }
      }
    }
  }
  std::printf("%lld verdicts, %lld accepted, %lld settled by 50 digits, %lld by 100\n",
              static_cast<long long>(adaptive_tally.compared), static_cast<long long>(accepted),
              static_cast<long long>(adaptive_tally.needed_50_digits),
              static_cast<long long>(adaptive_tally.needed_100_digits));
  // The edges were reached from both sides, and double arithmetic alone did not suffice there.
  EXPECT_GT(accepted, 5000);
  EXPECT_GT(rejected, 5000);
  EXPECT_GT(adaptive_tally.needed_50_digits, 1000);
}

}  // namespace
}  // namespace warpcheck::reference
