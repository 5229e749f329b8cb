// Tightness of the bound: f32 kernels that use every allowance of the contract stay within it and come
// close; kernels that overspend do not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <vector>

#include "reference/softmax/softmax.hpp"
#include "tests/numerics/adversarial_kernel.hpp"
#include "tests/numerics/rows.hpp"

namespace warpcheck::reference {
namespace {

// Errors of the numerator and of the sum in all directions, no, one and two rescales, the longest chain.
std::vector<adversary> adversaries(int64_t n) {
  std::vector<adversary> all;
  for (const int numerator : {-2, 2})
    for (const int sum : {-2, 0, 2})
      for (const int rescales : {0, 1, 2}) all.push_back({numerator, sum, rescales, chain_length(n)});
  return all;
}

struct worst_case {
  double error_ratio = 0;
  std::string where;
  void note(const judgement& j, const std::string& what) {
    if (j.error_ratio() <= error_ratio) return;
    error_ratio = j.error_ratio();
    where = what;
  }
};

TEST(softmax_bound, holds_for_kernels_that_spend_every_allowance) {
  std::map<std::string, worst_case> worst;
  for (const int n : {2, 3, 4, 5, 8, 33, 65, 517, 1024, 4096, 32768}) {
    for (const auto& [name, x] : adversarial_rows(n, 21 + n)) {
      const softmax_row row(x, dtype::f32);
      const auto lowest = std::ranges::min_element(x) - x.begin();
      for (const int64_t i : {int64_t{0}, int64_t{n / 2}, int64_t{n - 1}, row.argmax(), int64_t{lowest}}) {
        for (const adversary& a : adversaries(n)) {
          const float y = adversarial_softmax(x, i, a);
          const judgement j = row.judge(i, y);
          ASSERT_TRUE(j.accepted) << name << ", n = " << n << ", element " << i << ": " << hexfloat(y) << " against "
                                  << row.expected_text(i) << ", error ratio " << j.error_ratio();
          worst[name].note(j, "n = " + std::to_string(n));
        }
      }
    }
  }
  double best = 0;
  for (const auto& [name, w] : worst) {
    std::printf("%-20s error ratio %.3f at %s\n", name.c_str(), w.error_ratio, w.where.c_str());
    best = std::max(best, w.error_ratio);
  }
  // The rows whose worst case a kernel can really reach: rounding of every addition one way, full exp errors, depth.
  for (const char* name : {"stagnation", "subnormal_results", "all_magnitudes", "narrow", "large_offset"}) {
    EXPECT_GE(worst.at(name).error_ratio, 0.2) << name;
  }
  EXPECT_GE(best, 0.6);
}

// Short random rows, where luck can align all errors.
TEST(softmax_bound, holds_on_many_short_rows) {
  std::mt19937_64 random(22);
  worst_case worst;
  int64_t verdicts = 0;
  for (int k = 0; k < 40'000; ++k) {
    const int n = 2 + static_cast<int>(random() % 5);
    const double spread = std::exp2(std::uniform_real_distribution<double>(-6, 6.7)(random));
    std::vector<double> x(n);
    for (double& v : x) v = static_cast<float>(std::uniform_real_distribution<double>(-spread, 0)(random));
    const softmax_row row(x, dtype::f32);
    for (const adversary& a : adversaries(n)) {
      const int64_t i = static_cast<int64_t>(random() % n);
      const judgement j = row.judge(i, adversarial_softmax(x, i, a));
      ASSERT_TRUE(j.accepted) << row.expected_text(i);
      worst.note(j, "n = " + std::to_string(n) + ", spread " + std::to_string(spread));
      ++verdicts;
    }
  }
  std::printf("%lld verdicts, worst error ratio %.3f at %s\n", static_cast<long long>(verdicts), worst.error_ratio,
              worst.where.c_str());
  EXPECT_GE(worst.error_ratio, 0.6);
}

// Rounded once more to 16 bits, the same kernels stay within the wider bound.
TEST(softmax_bound, holds_for_16_bit_outputs) {
  for (const dtype t : {dtype::f16, dtype::bf16}) {
    worst_case worst;
    for (const int n : {2, 33, 1024}) {
      for (const auto& [name, x] : adversarial_rows(n, 23)) {
        const softmax_row row(x, t);
        for (int64_t i = 0; i < n; i += 1 + n / 16) {
          for (const adversary& a : adversaries(n)) {
            const judgement j = row.judge(i, round_to(t, static_cast<double>(adversarial_softmax(x, i, a))));
            ASSERT_TRUE(j.accepted) << name_of(t) << ' ' << name << ' ' << row.expected_text(i);
            worst.note(j, name);
          }
        }
      }
    }
    std::printf("%s: worst error ratio %.3f\n", std::string(name_of(t)).c_str(), worst.error_ratio);
    EXPECT_GE(worst.error_ratio, 0.5) << name_of(t);
  }
}

// Thread 0 adds 1023 partial sums of e^-16.64 one by one to 1: each addition loses its operand, y_0 = 1.
TEST(softmax_bound, a_serial_sum_of_1024_is_rejected) {
  std::vector<double> x(1024, static_cast<double>(-16.64f));
  x[0] = 0;
  const softmax_row row(x, dtype::f32);
  const float y = adversarial_softmax(x, 0, {0, 0, 0, 1023});
  EXPECT_EQ(y, 1.0f);
  const judgement j = row.judge(0, y);
  EXPECT_FALSE(j.accepted);
  EXPECT_GT(j.error_ratio(), 10);
  EXPECT_LT(j.error_ratio(), 14);
  EXPECT_NEAR(j.expected, 0.9999393, 1e-7);
  // The same row with the chain that the contract allows.
  EXPECT_TRUE(row.judge(0, adversarial_softmax(x, 0, {0, 0, 0, chain_length(1024)})).accepted);
}

// A chain of twice h(n) on the stagnation row whose losses are largest.
TEST(softmax_bound, twice_the_depth_is_rejected) {
  for (const int n : {517, 4096, 32768}) {
    const int64_t h = chain_length(n);
    std::vector<double> x(n, static_cast<double>(-16.6356f));  // just below 2^-24: every addition loses one u
    x[0] = 0;
    const softmax_row row(x, dtype::f32);
    EXPECT_TRUE(row.judge(0, adversarial_softmax(x, 0, {2, -2, 0, h})).accepted) << n;
    EXPECT_FALSE(row.judge(0, adversarial_softmax(x, 0, {2, -2, 0, 2 * h + 20})).accepted) << n;
  }
}

// log2(e) taken as 1.4427 (mutant short-log2e).
TEST(softmax_bound, a_rounded_log2e_is_rejected) {
  const std::vector<double> x = {0.0, -50.0};
  const softmax_row row(x, dtype::f32);
  const double e = std::exp2(-50.0 * 1.4427);
  const judgement j = row.judge(1, round_to(dtype::f32, e / (1 + e)));
  EXPECT_FALSE(j.accepted);
  EXPECT_GT(j.error_ratio(), 10);
}

}  // namespace
}  // namespace warpcheck::reference
