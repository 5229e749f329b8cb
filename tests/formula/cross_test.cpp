// Formulas beside the references that are written by hand: the same exact values, digit by digit, and bounds that are
// alike.
#include <gtest/gtest.h>

#include <random>

#include "reference/formula/evaluate.hpp"
#include "reference/formula/parser.hpp"
#include "reference/log_softmax/log_softmax.hpp"
#include "reference/logsumexp/logsumexp.hpp"
#include "reference/sigmoid/sigmoid.hpp"
#include "reference/softmax/softmax.hpp"

namespace {

using namespace warpcheck::formula;
using warpcheck::dtype;

std::vector<double> drawn_row(std::mt19937_64& g, int recipe, int64_t n) {
  std::normal_distribution<double> normal;
  std::vector<double> x;
  for (int64_t i = 0; i < n; ++i) {
    const double v = normal(g);
    x.push_back(static_cast<float>(recipe == 0   ? v
                                   : recipe == 1 ? 20 * v
                                   : recipe == 2 ? 1000 + v
                                                 : std::round(3 * v)));
  }
  return x;
}

call_data call_of(const std::vector<double>& x, bool is_matrix) {
  const auto n = static_cast<int64_t>(x.size());
  call_data c;
  c.inputs.emplace("x", array{is_matrix ? std::vector<int64_t>{1, n} : std::vector<int64_t>{n}, x});
  return c;
}

// The ratios of a formula's bounds to those by hand.
struct ratios {
  double least = k_inf, most = 0, sum = 0;
  int n = 0;
  void add(double formula, double by_hand) {
    const double ratio = formula / by_hand;
    least = std::fmin(least, ratio);
    most = std::fmax(most, ratio);
    sum += std::log(ratio);
    ++n;
  }
  double mean() const { return std::exp(sum / n); }
  ~ratios() {
    std::printf("bound of the formula / by hand: %.3f in the mean, %.3f to %.3f, %d elements\n", mean(), least, most,
                n);
  }
};

// One operator, on rows of many lengths and recipes; `by_hand` gives text and bound of element i.
template <class Row, class ByHand>
ratios cross(const char* formula, bool is_matrix, Row row_of, ByHand by_hand) {
  const formula_operator op = parse_file(formula)[0];
  std::mt19937_64 g(7);
  ratios all;
  for (const int64_t n : {1, 2, 5, 33, 257})
    for (int recipe = 0; recipe < 4; ++recipe) {
      const std::vector<double> x = drawn_row(g, recipe, n);
      const call_data c = call_of(x, is_matrix);
      evaluation e(op, c);
      const auto row = row_of(x);
      const int64_t elements = e.shape_of("y").back();
      for (int64_t i = 0; i < elements; ++i) {
        const auto [text, bound] = by_hand(row, x, i);
        EXPECT_EQ(e.text("y", i), text) << "n " << n << " recipe " << recipe << " element " << i;
        if (bound > 0) all.add(e.demand_of("y", i).bound, bound);
      }
    }
  return all;
}

// With the statements that the hand-written contracts have.
TEST(FormulaBesideHand, Softmax) {
  const ratios r = cross(
      "operator f(x[rows, cols]) -> y[rows, cols]\n  arithmetic f32: division 1, slack 0, rescales 2, "
      "sums of depth 32 + 2 * ceil(log2(n)) + ceil(n / 16384)\n  top[r] = max(c) x[r, c]\n"
      "  total[r] = sum(c) exp(x[r, c] - top[r])\n  y[r, c] = exp(x[r, c] - top[r]) / total[r]\n",
      true, [](const std::vector<double>& x) { return warpcheck::reference::softmax_row(x, dtype::f32); },
      [](const auto& row, const auto&, int64_t i) { return std::pair(row.expected_text(i), row.bound(i)); });
  EXPECT_GT(r.mean(), 0.5);
  EXPECT_LT(r.mean(), 3);
  EXPECT_GT(r.least, 0.1);
  EXPECT_LT(r.most, 6);
}

TEST(FormulaBesideHand, LogSoftmax) {
  const ratios r = cross(
      "operator f(x[rows, cols]) -> y[rows, cols]\n  arithmetic f32: slack 0, rescales 2, sums of depth 32 + 2 * "
      "ceil(log2(n)) + ceil(n / 16384)\n  top[r] = max(c) x[r, c]\n"
      "  y[r, c] = x[r, c] - top[r] - log(sum(k) exp(x[r, k] - top[r]))\n",
      true, [](const std::vector<double>& x) { return warpcheck::reference::log_softmax_row(x, dtype::f32); },
      [](const auto& row, const auto&, int64_t i) {
        // The contract by hand demands log1p where one element is nearly all of the row; the formula does not.
        const bool is_tail = std::fabs(row.expected(i)) < 0.1;
        return std::pair(row.expected_text(i), is_tail ? 0 : row.bound(i));
      });
  EXPECT_GT(r.mean(), 0.5);
  EXPECT_LT(r.mean(), 3);
}

TEST(FormulaBesideHand, Sigmoid) {
  const ratios r = cross(
      "operator f(x[n], mu = 0 in [-1, 1], sigma = 1 in [0, 2]) -> y[n]\n  arithmetic f32: division 1, slack 0\n"
      "  y[i] = sigmoid(sigma * (x[i] - mu))\n",
      false, [](const std::vector<double>&) { return warpcheck::reference::sigmoid_model(0, 1, dtype::f32); },
      [](const auto& model, const auto& x, int64_t i) {
        return std::pair(model.expected_text(x[static_cast<size_t>(i)]), model.bound(x[static_cast<size_t>(i)]));
      });
  EXPECT_GT(r.mean(), 0.3);
  EXPECT_LT(r.mean(), 3);
}

TEST(FormulaBesideHand, LogSumExp) {
  const ratios r = cross(
      "operator f(x[rows, cols]) -> y[rows]\n  arithmetic f32: slack 0, rescales 2, sums of depth 32 + 2 * "
      "ceil(log2(n)) + ceil(n / 16384)\n  top[r] = max(c) x[r, c]\n"
      "  y[r] = top[r] + log(sum(c) exp(x[r, c] - top[r]))\n",
      true, [](const std::vector<double>& x) { return warpcheck::reference::logsumexp_row(x, dtype::f32); },
      [](const auto& row, const auto&, int64_t) { return std::pair(row.expected_text(), row.bound()); });
  EXPECT_GT(r.mean(), 0.5);
  EXPECT_LT(r.mean(), 3);
}

}  // namespace
