// The models of log_softmax and logsumexp against closed forms, the plain formulas, and kernels that spend every
// allowances.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/log_softmax/log_softmax.hpp"
#include "reference/logsumexp/logsumexp.hpp"
#include "tests/numerics/adversarial_kernel.hpp"
#include "tests/numerics/plain_row.hpp"
#include "tests/numerics/rows.hpp"
#include "tests/numerics/special_values.hpp"

namespace warpcheck::reference {
namespace {

// `slack` pays for the plain formulas' own loss of digits: ln(1 - x) of a small x, m + ln s.
template <class Real>
void expect_bounded_value(const bounded_value<Real>& c, const mp100& exact, const mp100& bound, const mp100& slack,
                          const std::string& at) {
  ASSERT_TRUE(contains(c.exact, exact, slack)) << at << " exact " << c.exact.value << " plain " << exact;
  ASSERT_TRUE(contains(c.bound, bound, slack)) << at << " bound " << c.bound.value << " plain " << bound;
}

TEST(log_reference, log_softmax_encloses_what_the_plain_formulas_give) {
  for (const int n : {2, 3, 33, 100}) {
    for (const auto& [name, x] : adversarial_rows(n, 31)) {
      const plain_row plain(x, 2, 0);
      const log_softmax_row row(x, dtype::f32);
      for (int i = 0; i < n; i += 1 + n / 20) {
        if (std::isinf(x[i])) continue;
        const mp100 z = plain.log_softmax(i), b = plain.log_softmax_bound(i), slack = (abs(z) + 1) * mp100("1e-96");
        const std::string at = name + "[" + std::to_string(i) + "]";
        expect_bounded_value(row.evaluate<double>(i), z, b, slack, at + " double");
        expect_bounded_value(row.evaluate<mp50>(i), z, b, slack, at + " 50");
        expect_bounded_value(row.evaluate<mp100>(i), z, b, slack, at + " 100");
        ASSERT_LE(row.evaluate<double>(i).exact.radius, 1e-6 * static_cast<double>(b)) << at;
      }
    }
  }
}

// Both regimes of the allowances: q = 2 up to 1024, q = 16 and T = 8 beyond.
TEST(log_reference, logsumexp_encloses_what_the_plain_formulas_give) {
  for (const int n : {2, 3, 33, 100, 1024, 1025}) {
    for (const auto& [name, x] : adversarial_rows(n, 32)) {
      const plain_row plain(x, n <= 1024 ? 2 : 16, n <= 1024 ? 0 : 8);
      const logsumexp_row row(x, dtype::f32);
      if (row.contract_value()) continue;
      const mp100 b = plain.logsumexp_bound(), slack = (abs(plain.m) + 1) * mp100("1e-96");
      const std::string at = name + ", n = " + std::to_string(n);
      expect_bounded_value(row.evaluate<double>(), plain.lse, b, slack, at + " double");
      expect_bounded_value(row.evaluate<mp50>(), plain.lse, b, slack, at + " 50");
      expect_bounded_value(row.evaluate<mp100>(), plain.lse, b, slack, at + " 100");
      ASSERT_LE(row.evaluate<double>().exact.radius, 1e-6 * static_cast<double>(b)) << at;
      ASSERT_GE(mp100(row.bound()), b) << at;
    }
  }
}

TEST(log_reference, closed_forms) {
  const std::vector<double> pair = {0.0, -30.0};
  EXPECT_NEAR(logsumexp_row(pair, dtype::f32).expected() / 9.3576229688397e-14, 1, 1e-12);
  EXPECT_NEAR(log_softmax_row(pair, dtype::f32).expected(0) / -9.3576229688397e-14, 1, 1e-12);
  EXPECT_EQ(logsumexp_row(pair, dtype::f32).expected_text(), "9.3576229688397367794e-14");
  for (const int n : {2, 1000, 5000}) {
    const std::vector<double> zeros(n, 0.0);
    EXPECT_NEAR(logsumexp_row(zeros, dtype::f32).expected(), std::log(n), 1e-13 * n);
    EXPECT_NEAR(log_softmax_row(zeros, dtype::f32).expected(n - 1), -std::log(n), 1e-13 * n);
  }
  // Tails far below eps: ln(1 + e^-t) = e^-t to the last digit of a double.
  for (int t = 40; t <= 103; ++t) {
    const std::vector<double> tail = {0.0, static_cast<double>(-t)};
    const logsumexp_row row(tail, dtype::f32);
    EXPECT_NEAR(row.expected() / std::exp(-t), 1, 1e-12) << t;
    EXPECT_LE(row.bound(), (t + 50) * k_unit * std::exp(-t) + 12 * k_eta) << t;
  }
}

// log(1 + r) loses the tail (mutant log-instead-of-log1p), x - (m + ln s) loses everything at large x
// (maximum-inside-logarithm).
TEST(log_reference, formulas_that_lose_the_tail_are_rejected) {
  const std::vector<double> pair = {0.0, -30.0};
  EXPECT_FALSE(logsumexp_row(pair, dtype::f32).judge(0.0).accepted);
  EXPECT_TRUE(logsumexp_row(pair, dtype::f32).judge(std::log1p(std::exp(-30.0f))).accepted);
  const std::vector<double> far = {-1e7, -1e7 + 1, -1e7 + 2};
  const float lse = -1e7f + 2 + std::log(1 + std::exp(-1.0f) + std::exp(-2.0f));
  EXPECT_FALSE(log_softmax_row(far, dtype::f32).judge(0, -1e7f - lse).accepted);
}

TEST(log_reference, special_rows) {
  struct special {
    std::vector<double> x;
    double lse;
    std::vector<double> z;
  };
  const special table[] = {
      {{1, k_nan}, k_nan, {k_nan, k_nan}},
      {{k_inf, k_nan, -k_inf}, k_nan, {k_nan, k_nan, k_nan}},
      {{k_inf, 0, -k_inf}, k_inf, {k_nan, k_nan, k_nan}},
      {{-k_inf, -k_inf}, -k_inf, {k_nan, k_nan}},
      {{-k_inf, 2.5}, 2.5, {-k_inf, 0}},
      {{-0x1.8p127}, -0x1.8p127, {0}},
  };
  for (const auto& [x, lse, z] : table) {
    const logsumexp_row sum(x, dtype::f32);
    const log_softmax_row row(x, dtype::f32);
    for (const double wrong : {0.0, -0.0, 1.0, k_inf, -k_inf, k_nan, 2.5}) {
      const auto same = [&](double a) {
        return std::isnan(wrong) ? std::isnan(a) : wrong == a && std::signbit(wrong) == std::signbit(a);
      };
      EXPECT_EQ(sum.judge(wrong).accepted, same(lse));
      for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_EQ(row.judge(static_cast<int64_t>(i), wrong).accepted, same(z[i])) << i << ' ' << wrong;
      }
    }
    EXPECT_TRUE(sum.judge(lse).accepted);
    EXPECT_EQ(sum.bound(), 0);
  }
  EXPECT_TRUE(logsumexp_row(std::vector<double>{}, dtype::f32).judge(-k_inf).accepted);
  EXPECT_FALSE(logsumexp_row(std::vector<double>{}, dtype::f32).judge(0.0).accepted);
  const std::vector<double> zero = {-0.0};
  EXPECT_TRUE(logsumexp_row(zero, dtype::f32).judge(0.0).accepted);
  EXPECT_TRUE(logsumexp_row(zero, dtype::f32).judge(-0.0).accepted);
}

// d up to 2 FLT_MAX: x_i - m overflows f32, and so does the exact value.
TEST(log_reference, gaps_beyond_the_range) {
  const double top = max_finite(dtype::f32);
  const std::vector<double> x = {top, -top};
  const log_softmax_row row(x, dtype::f32);
  EXPECT_TRUE(row.judge(1, -k_inf).accepted);
  EXPECT_FALSE(row.judge(1, -top).accepted);
  EXPECT_FALSE(row.judge(1, k_nan).accepted);
  EXPECT_EQ(row.expected(1), -2 * top);
  const std::vector<double> wide = {0, -70000};
  EXPECT_TRUE(log_softmax_row(wide, dtype::f16).judge(1, -k_inf).accepted);
  EXPECT_FALSE(log_softmax_row(wide, dtype::f16).judge(1, -65504).accepted);
  EXPECT_FALSE(log_softmax_row(wide, dtype::f32).judge(1, -k_inf).accepted);
}

TEST(log_reference, forcing_100_digits_changes_no_verdict) {
  tally total;
  int64_t accepted = 0;
  for (const int n : {2, 3, 20}) {
    for (const auto& [name, x] : adversarial_rows(n, 33 + n)) {
      const plain_row plain(x, 2, 0);
      for (const dtype t : {dtype::f32, dtype::f16, dtype::bf16}) {
        const log_softmax_row row(x, t), row100(x, t, precision::digits100);
        const logsumexp_row sum(x, t), sum100(x, t, precision::digits100);
        if (sum.contract_value()) continue;
        const auto check = [&, &at = name](const mp100& exact, const mp100& b32, auto&& judge, auto&& judge100) {
          const mp100 b = output_bound(t, bounded_value<mp100>{{exact, 0}, {b32, 0}}).value;
          std::vector<double> actuals = {0.0, k_nan, static_cast<double>(exact)};
          for (const int side : {-1, 1})
            for (const double delta : {0.0, 1e-15, -1e-15, 1e-12, -1e-12, 1e-3, -1e-3})
              actuals.push_back(static_cast<double>(mp100(exact + side * b * (1 + mp100(delta)))));
          for (const double actual : actuals) {
            const judgement j = judge(actual);
            ASSERT_EQ(j.accepted, judge100(actual).accepted) << at << ' ' << hexfloat(actual);
            ASSERT_EQ(j.accepted, std::isfinite(actual) && abs(mp100(actual) - exact) <= b)
                << at << ' ' << hexfloat(actual);
            total.add(0, j);
            accepted += j.accepted;
          }
        };
        check(
            plain.lse, plain.logsumexp_bound(), [&](double y) { return sum.judge(y); },
            [&](double y) { return sum100.judge(y); });
        for (int i = 0; i < n; i += 1 + n / 4) {
          if (row.contract_value(i)) continue;
          check(
              plain.log_softmax(i), plain.log_softmax_bound(i), [&](double y) { return row.judge(i, y); },
              [&](double y) { return row100.judge(i, y); });
        }
      }
    }
  }
  std::printf("%lld verdicts, %lld accepted, %lld settled by 50 digits\n", static_cast<long long>(total.compared),
              static_cast<long long>(accepted), static_cast<long long>(total.needed_50_digits));
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(total.rejected, 1000);
  EXPECT_GT(total.needed_50_digits, 500);
}

// Kernels that spend every allowance stay within both bounds and come close.
TEST(log_reference, bounds_hold_for_adversarial_kernels) {
  double worst_sum = 0, worst_row = 0;
  std::string sum_at, row_at;
  for (const int n : {2, 3, 4, 5, 8, 33, 517, 1024, 4096}) {
    for (const auto& [name, x] : adversarial_rows(n, 34 + n)) {
      const logsumexp_row sum(x, dtype::f32);
      const log_softmax_row row(x, dtype::f32);
      if (sum.contract_value()) continue;
      const auto m = static_cast<float>(*std::ranges::max_element(x));
      for (const int ulps : {-2, 2}) {
        for (const int rescales : {0, 1, 2}) {
          const float tail = adversarial_tail(x, {0, ulps, rescales, chain_length(n)});
          const float log_sum = shifted_log1p(tail, ulps / 2);
          const judgement j = sum.judge(m + log_sum);
          ASSERT_TRUE(j.accepted) << name << ", n = " << n << ", error ratio " << j.error_ratio();
          if (j.error_ratio() > worst_sum) worst_sum = j.error_ratio(), sum_at = name + ", n = " + std::to_string(n);
          for (int i = 0; i < n; i += 1 + n / 5) {
            if (std::isinf(x[i])) continue;
            const judgement k = row.judge(i, static_cast<double>((static_cast<float>(x[i]) - m) - log_sum));
            ASSERT_TRUE(k.accepted) << name << '[' << i << "], n = " << n << ", error ratio " << k.error_ratio();
            if (k.error_ratio() > worst_row) worst_row = k.error_ratio(), row_at = name + ", n = " + std::to_string(n);
          }
        }
      }
    }
  }
  std::printf("logsumexp: worst error ratio %.3f at %s; log_softmax: %.3f at %s\n", worst_sum, sum_at.c_str(),
              worst_row, row_at.c_str());
  EXPECT_GE(worst_sum, 0.4);
  EXPECT_GE(worst_row, 0.4);
}

// n > 1024: 2000 terms at -92.5 summed against a reference of -100 that lags by 7.5, as the contract's online kernel
// may; then a 0 arrives and the sum of e^7.5 each meets the factor e^-100 = 26.5 eta, which expf may miss by 2 eta. An
// absolute term of 3 n eta would reject what the contract allows.
TEST(log_reference, a_lagging_reference_pays_for_its_subnormal_factor) {
  std::vector<double> x(2002, -92.5);
  x[0] = -100;
  x[2001] = 0;
  const logsumexp_row row(x, dtype::f32);
  for (const int ulps : {-2, 2}) {
    float sum = 1;
    for (int k = 0; k < 8; ++k) {
      float part = 0;
      for (int i = 0; i < 250; ++i) part += std::exp(7.5f);
      sum += part;
    }
    const float y = std::log1p(sum * shifted_exp(-100.0f, ulps));
    const judgement j = row.judge(y);
    EXPECT_TRUE(j.accepted) << j.error_ratio();
    EXPECT_GT(j.error_ratio(), 0.2);
    EXPECT_GT(j.error, 100 * 3 * 2002 * k_eta);
    EXPECT_GT(j.error, 1e3 * k_unit * j.expected);
  }
}

}  // namespace
}  // namespace warpcheck::reference
