// What `warpcheck explain` shows: the parts of a bound add up to the bound that verdicts use, and the steps of a model
// end with its value, from which plain arithmetic departs by less than the bound.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "reference/gru/gru_bound_parts.hpp"
#include "reference/histogram/histogram.hpp"
#include "reference/histogram/histogram_parts.hpp"
#include "reference/log_softmax/log_softmax.hpp"
#include "reference/logsumexp/logsumexp.hpp"
#include "reference/matmul/matmul_parts.hpp"
#include "reference/reduce/reduce.hpp"
#include "reference/scan/scan.hpp"
#include "reference/sigmoid/sigmoid.hpp"
#include "reference/softmax/softmax.hpp"

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

void expect_steps(const std::vector<model_step>& steps, double exact, double bound) {
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps.back().exact, exact);
  EXPECT_NEAR(steps.back().plain, exact, bound) << steps.back().what;
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
      expect_steps(softmax.steps(i), softmax.expected(i), softmax.bound(i));
      expect_steps(log_softmax.steps(i), log_softmax.expected(i), log_softmax.bound(i));
    }
    const logsumexp_row logsumexp(x, GetParam());
    expect_sum(logsumexp.bound_terms(), logsumexp.bound());
    expect_steps(logsumexp.steps(), logsumexp.expected(), logsumexp.bound());
    const sigmoid_model sigmoid(0.5, 2, GetParam());
    for (const double v : x) {
      expect_sum(sigmoid.bound_terms(v), sigmoid.bound(v));
      // Plain arithmetic has e^-z = Inf for smaller z.
      if (v > -40) expect_steps(sigmoid.steps(v, NAN), sigmoid.expected(v), sigmoid.bound(v));
    }
    if (GetParam() != dtype::f32) continue;
    const reduce_row sum(reduction::sum, x, dtype::f32);
    expect_sum(sum.bound_terms(), sum.bound());
    expect_steps(reduce_steps(reduction::sum, x, dtype::f32, NAN), sum.expected(), sum.bound());
    const scan_row scan(prefix::inclusive, x, dtype::f32);
    expect_sum(scan.bound_terms(199), scan.bound(199));
    expect_steps(scan.steps(199, {}), scan.expected(199), scan.bound(199));
  }
}
INSTANTIATE_TEST_SUITE_P(types, bound_terms, testing::Values(dtype::f32, dtype::f16, dtype::bf16));

TEST(bound_terms_of, sums_of_a_histogram_add_up) {
  for (const size_t n : {1, 200, 20000}) {
    const std::vector<double> x = random_row(static_cast<int64_t>(n), 3, 2);
    judged_sum sum;
    double sizes = 0;
    for (const double v : x) {
      sum.add(v);
      sizes += std::fabs(v);
    }
    expect_sum(float32_terms(sum.count(), sizes), sum.judge_float32(sum.expected()).bound);
    expect_sum(float64_terms(sum.count(), sizes), sum.judge_float64(sum.expected()).bound);
    expect_sum(fix_terms(sizes), sum.judge_fix(sum.expected()).bound);
  }
}

TEST(bound_terms_of, products_add_up_in_every_arithmetic) {
  const std::vector<double> a = random_row(300, 1, 3), b = random_row(300, 1, 4);
  for (const dot_arithmetic arithmetic : {dot_arithmetic::ieee, dot_arithmetic::f16, dot_arithmetic::bf16,
                                          dot_arithmetic::tf32x3, dot_arithmetic::bf16x6})
    for (const bool sigmoid : {false, true})
      for (const dtype output : {dtype::f32, dtype::f16}) {
        matmul_setting s{.arithmetic = arithmetic, .output = output, .slices = {3, 100}};
        s.alpha = 0.3f;
        s.beta = 2;
        s.has_bias = true;
        s.sigmoid = sigmoid;
        s.mu = 1;
        s.sigma = 0.25;
        const matmul_operands o{a, b, 0.75, -1.5};
        const matmul_element element(s, o);
        expect_sum(matmul_bound_terms(s, o), element.bound());
        expect_steps(matmul_steps(s, o, NAN), element.expected(), element.bound());
      }
}

TEST(bound_terms_of, gru_adds_up_wherever_it_is_taken_apart) {
  gru_problem<double> p;
  p.shape = {3, 2, 5, 4, 2};
  const auto drawn = [](int64_t n, unsigned seed) { return random_row(n, 0.5, seed); };
  p.x = drawn(p.shape.x_size(), 1);
  p.w_ih = drawn(p.shape.w_ih_size(), 2);
  p.w_hh = drawn(p.shape.w_hh_size(), 3);
  p.b_ih = drawn(p.shape.bias_size(), 4);
  const gru_states<double> states = gru_forward(p);
  const std::vector<double> dy = drawn(p.shape.y_size(), 5);
  const gru_gradients<double> gradients = gru_backward(p, states, dy, {});
  std::map<std::pair<std::string, size_t>, double> bounds;
  size_t taken_apart = 0;
  const auto see = [&](const char* tensor, size_t i, double, double, double bound) { bounds[{tensor, i}] = bound; };
  const auto parts = [&](const char* tensor, size_t i, const std::vector<bound_term>& of) {
    if (bounds.at({tensor, i}) == 0) return;
    ++taken_apart;
    expect_sum(of, bounds.at({tensor, i}));
  };
  const gru_accuracy accuracy = gru_allowed_chains(p.shape);
  judge_gru_steps(p, states, accuracy, see, parts);
  judge_gru_gradient_steps(p, states, dy, {}, gradients, accuracy, see, parts);
  const auto last = p.shape.y(2, 1, 0, 3);
  const std::vector<model_step> steps = gru_steps(p, states, accuracy, 0, 1, 2, 3);
  EXPECT_NEAR(steps.back().exact, states.y[last], 1e-12);
  expect_steps(steps, steps.back().exact, bounds.at({"y", last}));
  EXPECT_GT(taken_apart, states.y.size() + states.history.size() + gradients.dw_hh.size());
}

TEST(bound_terms_of, fixed_values_are_none) {
  const std::vector<double> nan = {0, NAN}, lone = {3, -INFINITY};
  EXPECT_TRUE(softmax_row(nan, dtype::f32).bound_terms(0).empty());
  EXPECT_TRUE(softmax_row(lone, dtype::f32).bound_terms(0).empty());
  EXPECT_TRUE(log_softmax_row(lone, dtype::f32).bound_terms(0).empty());
  EXPECT_TRUE(logsumexp_row(lone, dtype::f32).bound_terms().empty());
  EXPECT_TRUE(sigmoid_model(1, 1, dtype::f32).bound_terms(1).empty());
  EXPECT_TRUE(reduce_row(reduction::max, lone, dtype::f32).bound_terms().empty());
  EXPECT_TRUE(scan_row(prefix::exclusive, lone, dtype::f32).bound_terms(0).empty());
  const std::vector<double> ones = {1, 1};
  EXPECT_TRUE(matmul_bound_terms({.slices = {1, 2}}, {lone, ones}).empty());
}

}  // namespace
}  // namespace warpcheck::reference
