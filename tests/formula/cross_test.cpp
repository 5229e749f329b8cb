// Formulas beside the references that are written by hand: the same exact values, digit by digit, and bounds that are
// alike.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "reference/argmax/argmax.hpp"
#include "reference/formula/evaluate.hpp"
#include "reference/formula/parser.hpp"
#include "reference/log_softmax/log_softmax.hpp"
#include "reference/logsumexp/logsumexp.hpp"
#include "reference/matmul/matmul.hpp"
#include "reference/numerics/multiprecision.hpp"
#include "reference/reduce/reduce.hpp"
#include "reference/scan/scan.hpp"
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
  double most_beside_exact = 0;  // bound of the formula where the contract by hand states one value
  int n = 0;
  void add(double formula, double by_hand) {
    if (by_hand == 0) {
      most_beside_exact = std::fmax(most_beside_exact, formula);
      return;
    }
    const double ratio = formula / by_hand;
    least = std::fmin(least, ratio);
    most = std::fmax(most, ratio);
    sum += std::log(ratio);
    ++n;
  }
  void expect_alike() const {
    std::printf("bound of the formula / by hand: %.3f in the mean, %.3f to %.3f, %d elements\n", std::exp(sum / n),
                least, most, n);
    EXPECT_GT(n, 10);
    EXPECT_GE(least, 0.5);
    EXPECT_LE(most, 3);
  }
};

// The same 20 digits; of what ends with a 5 behind them, one reference may round up and the other down.
bool agree(const std::string& a, const std::string& b) {
  using warpcheck::reference::mp50;
  return a == b || abs(mp50(a) - mp50(b)) <= mp50("1.01e-19") * abs(mp50(a));
}

// Adding 0 rounds nothing, which the contracts by hand do not count on.
std::vector<double> without_zeros(std::vector<double> x) {
  std::erase(x, 0.0);
  return x;
}

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
        EXPECT_PRED2(agree, e.text("y", i), text) << "n " << n << " recipe " << recipe << " element " << i;
        all.add(e.demand_of("y", i).bound, bound);
      }
    }
  return all;
}

// With the statements that the hand-written contracts have.
TEST(FormulaBesideHand, Softmax) {
  cross(
      "operator f(x[rows, cols]) -> y[rows, cols]\n  arithmetic f32: division 1, slack 0, rescales 2, "
      "sums of depth 32 + 2 * ceil(log2(n)) + ceil(n / 16384)\n  top[r] = max(c) x[r, c]\n"
      "  total[r] = sum(c) exp(x[r, c] - top[r])\n  y[r, c] = exp(x[r, c] - top[r]) / total[r]\n",
      true, [](const std::vector<double>& x) { return warpcheck::reference::softmax_row(x, dtype::f32); },
      [](const auto& row, const auto&, int64_t i) { return std::pair(row.expected_text(i), row.bound(i)); })
      .expect_alike();
}

// The contracts by hand of log_softmax and logsumexp demand log1p of the sum without one maximum, whose exponential is
// exactly 1. So does this formula.
const std::string k_log_of_others =
    "  arithmetic f32: slack 0, rescales 2, sums of depth 32 + 2 * ceil(log2(n)) + ceil(n / 16384)\n"
    "  top[r] = max(c) x[r, c]\n  at[r] = argmax(c) x[r, c]\n"
    "  rest[r] = log1p(sum(c where c != at[r]) exp(x[r, c] - top[r]))\n";
// The usual formula adds the maximum's exponential, too. A kernel may compute it with the error of an exponential
// and add it like the others: (5 (q + 1) + q + h) u of 1, in a sum s whose logarithm is taken.
const std::string k_log_of_all =
    "  arithmetic f32: slack 0, rescales 2, sums of depth 32 + 2 * ceil(log2(n)) + ceil(n / 16384)\n"
    "  top[r] = max(c) x[r, c]\n  rest[r] = log(sum(c) exp(x[r, c] - top[r]))\n";
double error_of_maximum(const std::vector<double>& x, double log_of_sum) {
  const auto n = static_cast<double>(x.size());
  const double h = std::fmin(n - 1, 32 + 2 * std::ceil(std::log2(n)) + std::ceil(n / 16384));
  return (5 * 3 + 2 + h) * 0x1p-24 * std::exp(-log_of_sum);
}

TEST(FormulaBesideHand, LogSoftmax) {
  const auto row_of = [](const std::vector<double>& x) { return warpcheck::reference::log_softmax_row(x, dtype::f32); };
  const std::string head = "operator f(x[rows, cols]) -> y[rows, cols]\n";
  const std::string last = "  y[r, c] = x[r, c] - top[r] - rest[r]\n";
  cross((head + k_log_of_others + last).c_str(), true, row_of, [](const auto& row, const auto&, int64_t i) {
    return std::pair(row.expected_text(i), row.bound(i));
  }).expect_alike();
  cross((head + k_log_of_all + last).c_str(), true, row_of, [](const auto& row, const auto& x, int64_t i) {
    const double top = *std::ranges::max_element(x), gap = top - x[static_cast<size_t>(i)];
    const double more = error_of_maximum(x, -row.expected(i) - gap);
    return std::pair(row.expected_text(i), x.size() == 1 ? 0 : row.bound(i) + more);
  }).expect_alike();
}

TEST(FormulaBesideHand, LogSumExp) {
  const auto row_of = [](const std::vector<double>& x) { return warpcheck::reference::logsumexp_row(x, dtype::f32); };
  const std::string head = "operator f(x[rows, cols]) -> y[rows]\n", last = "  y[r] = top[r] + rest[r]\n";
  cross((head + k_log_of_others + last).c_str(), true, row_of, [](const auto& row, const auto&, int64_t) {
    return std::pair(row.expected_text(), row.bound());
  }).expect_alike();
  cross((head + k_log_of_all + last).c_str(), true, row_of, [](const auto& row, const auto& x, int64_t) {
    const double more = error_of_maximum(x, row.expected() - *std::ranges::max_element(x));
    return std::pair(row.expected_text(), x.size() == 1 ? 0 : row.bound() + more);
  }).expect_alike();
}

TEST(FormulaBesideHand, Sigmoid) {
  cross(
      "operator f(x[n], mu = 0 in [-1, 1], sigma = 1 in [0, 2]) -> y[n]\n  arithmetic f32: division 1, slack 0\n"
      "  y[i] = sigmoid(sigma * (x[i] - mu))\n",
      false, [](const std::vector<double>&) { return warpcheck::reference::sigmoid_model(0, 1, dtype::f32); },
      [](const auto& model, const auto& x, int64_t i) {
        return std::pair(model.expected_text(x[static_cast<size_t>(i)]), model.bound(x[static_cast<size_t>(i)]));
      })
      .expect_alike();
}

TEST(FormulaBesideHand, Reduce) {
  using warpcheck::reference::reduce_row, warpcheck::reference::reduction;
  for (const auto& [name, kind] :
       {std::pair("sum", reduction::sum), {"min", reduction::min}, {"max", reduction::max}}) {
    const std::string text =
        "operator f(x[rows, cols]) -> y[rows]\n  arithmetic f32: slack 0, sums of depth 32 + 2 * ceil(log2(n)) + "
        "ceil(n / 16384)\n  y[r] = " +
        std::string(name) + "(c) x[r, c]\n";
    const ratios r = cross(
        text.c_str(), true, [kind = kind](const auto& x) { return reduce_row(kind, x, dtype::f32); },
        [kind = kind](const auto& row, const auto& x, int64_t) {
          return std::pair(row.expected_text(), reduce_row(kind, without_zeros(x), dtype::f32).bound());
        });
    if (kind == reduction::sum) {
      r.expect_alike();
    } else {
      EXPECT_EQ(r.n, 0);
    }
    EXPECT_EQ(r.most_beside_exact, 0);
  }
}

TEST(FormulaBesideHand, Scan) {
  using warpcheck::reference::prefix, warpcheck::reference::scan_row;
  for (const auto& [condition, kind] : {std::pair("k <= j", prefix::inclusive), {"k < j", prefix::exclusive}})
    cross(("operator f(x[rows, cols]) -> y[rows, cols]\n  arithmetic f32: slack 0, sums of depth 48\n"
           "  y[r, j] = sum(k where " +
           std::string(condition) + ") x[r, k]\n")
              .c_str(),
          true, [kind = kind](const auto& x) { return scan_row(kind, x, dtype::f32); },
          [kind = kind](const auto& row, const auto& x, int64_t i) {
            const auto terms = i + (kind == prefix::inclusive ? 1 : 0);
            const std::vector<double> rounded = without_zeros({x.begin(), x.begin() + terms});
            const double bound = scan_row(prefix::inclusive, rounded, dtype::f32).bound(std::ssize(rounded) - 1);
            return std::pair(row.expected_text(i), rounded.empty() ? 0 : bound);
          })
        .expect_alike();
}

TEST(FormulaBesideHand, Argmax) {
  const ratios r = cross(
      "operator f(x[rows, cols]) -> y: i64[rows]\n  y[r] = argmax(c) x[r, c]\n", true,
      [](const std::vector<double>& x) { return warpcheck::reference::argmax(x); },
      [](int64_t row, const auto&, int64_t) { return std::pair(std::to_string(row), 0.0); });
  EXPECT_EQ(r.n, 0);
  EXPECT_EQ(r.most_beside_exact, 0);
}

// One element, of a row of a and a column of b. The contract by hand allows a chain of fused operations.
TEST(FormulaBesideHand, Matmul) {
  const formula_operator op = parse_file(
      "operator f(a[k], b[k], c[one], bias[one], alpha = 1, beta = 0) -> y[one]\n  arithmetic f32: slack 0\n"
      "  y[i] = alpha * (sum(l) a[l] * b[l]) + beta * c[i] + bias[i]\n")[0];
  std::mt19937_64 g(11);
  ratios all;
  for (const int64_t n : {1, 2, 5, 33, 257})
    for (int recipe = 0; recipe < 16; ++recipe) {
      std::vector<double> a = drawn_row(g, recipe % 4, n), b = drawn_row(g, recipe / 4, n);
      // Positive: where products cancel, the formula charges later roundings to the sum, the contract to the products.
      for (std::vector<double>* const x : {&a, &b})
        for (double& v : *x) v = static_cast<float>(std::fabs(v) + 0.25);
      warpcheck::reference::matmul_setting s;
      s.slices.length = n;
      s.alpha = 1.5;  // times 1 and plus 0 would round nothing
      s.beta = 0.25;
      s.has_bias = true;
      const warpcheck::reference::matmul_element by_hand(s, {a, b, 0.75, 3.5});
      call_data c;
      c.inputs = {{"a", {{n}, a}}, {"b", {{n}, b}}, {"c", {{1}, {0.75}}}, {"bias", {{1}, {3.5}}}};
      c.scalars = {{"alpha", s.alpha}, {"beta", s.beta}};
      evaluation e(op, c);
      EXPECT_PRED2(agree, e.text("y", 0), by_hand.expected_text());
      all.add(e.demand_of("y", 0).bound, by_hand.bound());
    }
  all.expect_alike();
}

}  // namespace
