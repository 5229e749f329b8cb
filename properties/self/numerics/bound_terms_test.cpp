// The parts of a bound, which `warpcheck explain` shows, add up to the bound that verdicts use.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "reference/log_softmax.hpp"
#include "reference/logsumexp.hpp"
#include "reference/reduce.hpp"
#include "reference/scan.hpp"
#include "reference/sigmoid.hpp"
#include "reference/softmax.hpp"

namespace warpcheck::reference {
namespace {

std::vector<double> random_row(int64_t n, double scale, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal(0, scale);
  std::vector<double> x(static_cast<size_t>(n));
  for (double& v : x) v = static_cast<float>(normal(engine));
  return x;
}

void expect_sum(const std::vector<bound_term>& terms, double bound) {
  ASSERT_FALSE(terms.empty());
  double sum = 0;
  for (const bound_term& t : terms) {
    EXPECT_GE(t.value, 0) << t.what;
    sum += t.value;
  }
  EXPECT_NEAR(sum, bound, 1e-9 * bound);
}

class bound_terms : public testing::TestWithParam<dtype> {};

TEST_P(bound_terms, of_rows_add_up_to_the_bound) {
  for (const double scale : {0.01, 1.0, 30.0}) {
    const std::vector<double> x = random_row(200, scale, 1);
    const softmax_row softmax(x, GetParam());
    const log_softmax_row log_softmax(x, GetParam());
    for (const int64_t i : {0, 7, 199}) {
      expect_sum(softmax.bound_terms(i), softmax.bound(i));
      expect_sum(log_softmax.bound_terms(i), log_softmax.bound(i));
    }
    const logsumexp_row logsumexp(x, GetParam());
    expect_sum(logsumexp.bound_terms(), logsumexp.bound());
    const sigmoid_model sigmoid(0.5, 2, GetParam());
    for (const double v : x) expect_sum(sigmoid.bound_terms(v), sigmoid.bound(v));
    if (GetParam() != dtype::f32) continue;
    const reduce_row sum(reduction::sum, x, dtype::f32);
    expect_sum(sum.bound_terms(), sum.bound());
    const scan_row scan(prefix::inclusive, x, dtype::f32);
    expect_sum(scan.bound_terms(199), scan.bound(199));
  }
}
INSTANTIATE_TEST_SUITE_P(types, bound_terms, testing::Values(dtype::f32, dtype::f16, dtype::bf16));

TEST(bound_terms_of, fixed_values_are_none) {
  const std::vector<double> nan = {0, NAN}, lone = {3, -INFINITY};
  EXPECT_TRUE(softmax_row(nan, dtype::f32).bound_terms(0).empty());
  EXPECT_TRUE(softmax_row(lone, dtype::f32).bound_terms(0).empty());
  EXPECT_TRUE(log_softmax_row(lone, dtype::f32).bound_terms(0).empty());
  EXPECT_TRUE(logsumexp_row(lone, dtype::f32).bound_terms().empty());
  EXPECT_TRUE(sigmoid_model(1, 1, dtype::f32).bound_terms(1).empty());
  EXPECT_TRUE(reduce_row(reduction::max, lone, dtype::f32).bound_terms().empty());
  EXPECT_TRUE(scan_row(prefix::exclusive, lone, dtype::f32).bound_terms(0).empty());
}

}  // namespace
}  // namespace warpcheck::reference
