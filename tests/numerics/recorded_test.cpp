// What the references say today, number by number. A bound that grows without anybody noticing is how a tolerance comes
// to accept everything; here every change of a value, of a bound or of the error of the reference itself is seen, and
// whoever means it brings recorded_bounds.txt up to date in the same commit.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "reference/argmax/argmax.hpp"
#include "reference/best_split/best_split.hpp"
#include "reference/histogram/histogram.hpp"
#include "reference/log_softmax/log_softmax.hpp"
#include "reference/logsumexp/logsumexp.hpp"
#include "reference/numerics/multiprecision.hpp"
#include "reference/reduce/reduce.hpp"
#include "reference/scan/scan.hpp"
#include "reference/sigmoid/sigmoid.hpp"
#include "reference/softmax/softmax.hpp"
#include "tests/numerics/rows.hpp"

namespace warpcheck::reference {
namespace {

struct record {
  std::string name;  // no blanks
  std::vector<double> numbers;
};

template <class Real>
void add_bounded_value(std::vector<double>& numbers, const bounded_value<Real>& c) {
  for (const basic_enclosure<Real>& e : {c.exact, c.bound}) {
    numbers.push_back(static_cast<double>(e.value));
    numbers.push_back(e.radius);
  }
}

template <class Row>
void add_row(std::vector<record>& records, const std::string& op, const named_row& row, dtype output) {
  const Row r(row.x, output);
  record one{op + "/" + row.name + "/" + std::to_string(row.x.size()) + "/" + std::string(name_of(output)), {}};
  const auto n = static_cast<int64_t>(row.x.size());
  for (const int64_t i : {int64_t{0}, n / 2, n - 1}) {
    one.numbers.push_back(r.expected(i));
    one.numbers.push_back(r.bound(i));
    one.numbers.push_back(r.contract_value(i).value_or(-1));
    if (r.bound(i) == 0) continue;
    add_bounded_value(one.numbers, r.template evaluate<double>(i));
    add_bounded_value(one.numbers, r.template evaluate<mp50>(i));
  }
  records.push_back(one);
}

// Prefix sums, sums of slots and the sums of a leaf's sides.
void add_tree_operators(std::vector<record>& records, const named_row& row) {
  const auto n = static_cast<int64_t>(row.x.size());
  const std::string name = row.name + "/" + std::to_string(n);
  record scanned{"scan/" + name, {}}, slot{"histogram/" + name, {}}, leaf{"best_split/" + name, {}};
  for (const dtype type : {dtype::f32, dtype::f64}) {
    const scan_row model(type == dtype::f32 ? prefix::inclusive : prefix::exclusive, row.x, type);
    for (const int64_t i : {int64_t{1}, n / 2, n - 1}) {
      const judgement j = model.judge(i, 1);
      scanned.numbers.insert(scanned.numbers.end(), {model.expected(i), model.bound(i), j.error, j.bound});
    }
  }
  judged_sum sum;
  for (const double v : row.x) sum.add(v);
  for (const judgement& j : {sum.judge_float32(1), sum.judge_float64(1), sum.judge_fix(1), sum.judge_fixed64(1, 20)})
    slot.numbers.insert(slot.numbers.end(), {j.expected, j.error, j.bound});
  // Every pair of numbers is a bin, the second one a hessian, but for bin 0, which is not stored.
  split_problem p;
  p.slots = std::span(row.x).first(static_cast<size_t>(n / 2 * 2));
  p.features = {{0, n / 2 + 1, 0, 0, 1, split_missing::none, false}};
  p.leaf = {0, 1, 2, 1000, 0, 0, 0};
  p.settings.min_data = 1;
  for_each_candidate(p, [&](const split_candidate_sums& c) {
    if (c.threshold % 100 == 0) leaf.numbers.insert(leaf.numbers.end(), {c.g, c.h, c.radius_g, c.radius_h});
  });
  records.insert(records.end(), {scanned, slot, leaf});
}

std::vector<record> all_records() {
  std::vector<record> records;
  for (const int n : {2, 9, 300, 1025})
    for (const named_row& row : adversarial_rows(n, 7)) {
      const dtype output = n == 9 ? dtype::bf16 : n == 300 ? dtype::f16 : dtype::f32;
      add_row<softmax_row>(records, "softmax", row, output);
      add_row<log_softmax_row>(records, "log_softmax", row, output);
      const logsumexp_row lse(row.x, output);
      record one{"logsumexp/" + row.name + "/" + std::to_string(n), {lse.expected(), lse.bound()}};
      if (lse.bound() > 0) {
        add_bounded_value(one.numbers, lse.evaluate<double>());
        add_bounded_value(one.numbers, lse.evaluate<mp50>());
        if (n == 300) add_bounded_value(one.numbers, lse.evaluate<mp100>());
      }
      records.push_back(one);
      for (const auto& [op, name] :
           {std::pair{reduction::sum, "sum"}, {reduction::min, "min"}, {reduction::max, "max"}}) {
        const reduce_row reduced(op, row.x, dtype::f32);
        records.push_back({std::string(name) + "/" + row.name + "/" + std::to_string(n),
                           {reduced.expected(), reduced.bound(), reduced.contract_value().value_or(-1)}});
      }
      if (n == 9 || n == 300) add_tree_operators(records, row);
    }
  // Allowances change where rows become long.
  for (const int64_t n : {0, 1, 2, 3, 33, 1024, 1025, 16384, 16385, 4194304, 4194305}) {
    const row_allowance s = softmax_allowance(n), l = logsumexp_allowance(n);
    record one{"allowance/" + std::to_string(n), {}};
    for (const row_allowance& b : {s, l}) {
      one.numbers.push_back(static_cast<double>(b.chain));
      one.numbers.push_back(b.rescales);
      one.numbers.push_back(b.slack);
    }
    records.push_back(one);
  }
  const float infinity = std::numeric_limits<float>::infinity();
  for (const auto& [mu, sigma] : {std::pair{0.0, 1.0}, {1.5, -2.0}, {-3e38, 1e-3}, {2.0, 0.0}, {0.25, 1e30}})
    for (const dtype output : {dtype::f32, dtype::f16, dtype::bf16}) {
      const sigmoid_model model(mu, static_cast<float>(sigma), output);
      record one{"sigmoid/" + std::to_string(mu) + "/" + std::to_string(sigma) + "/" + std::string(name_of(output)),
                 {}};
      for (const double x : {0.0, 1.5, -1.5, 2.0, 17.25, -17.25, 88.0, -88.0, 104.0, -104.0, 3e4, -3e4,
                             static_cast<double>(infinity), -static_cast<double>(infinity)}) {
        one.numbers.push_back(model.expected(x));
        one.numbers.push_back(model.bound(x));
        one.numbers.push_back(model.contract_value(x).value_or(-1));
        if (!(model.bound(x) > 0)) continue;
        add_bounded_value(one.numbers, model.evaluate<double>(x));
        add_bounded_value(one.numbers, model.evaluate<mp50>(x));
      }
      records.push_back(one);
    }
  return records;
}

std::string text_of(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

// The C library's exponentials may differ in their last bit from one machine to the next; sums of them hardly do.
bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || a == b || std::fabs(a - b) <= 1e-12 * std::fabs(b);
}

TEST(recorded_bounds, are_what_the_references_say) {
  std::ifstream file(WARPCHECK_RECORDED_BOUNDS);
  ASSERT_TRUE(file) << WARPCHECK_RECORDED_BOUNDS;
  const std::string fresh = testing::TempDir() + "recorded_bounds.txt";
  std::ofstream now(fresh);
  int64_t differ = 0, compared = 0;
  for (const record& r : all_records()) {
    now << r.name;
    for (const double number : r.numbers) now << " " << text_of(number);
    now << "\n";
    std::string line, name, word;
    std::getline(file, line);
    std::istringstream words(line);
    words >> name;
    EXPECT_EQ(name, r.name);
    size_t i = 0;
    for (; i < r.numbers.size() && words >> word; ++i) {
      ++compared;
      if (same(r.numbers[i], std::strtod(word.c_str(), nullptr))) continue;
      if (++differ <= 5)
        ADD_FAILURE() << r.name << ", number " << i << ": " << text_of(r.numbers[i]) << ", recorded is " << word;
    }
    EXPECT_EQ(i, r.numbers.size()) << r.name;
    EXPECT_FALSE(words >> word) << r.name;
  }
  std::string line;
  EXPECT_FALSE(std::getline(file, line)) << line;
  EXPECT_EQ(differ, 0) << "of " << compared << " numbers; if that is meant, copy " << fresh << " to "
                       << WARPCHECK_RECORDED_BOUNDS;
}

TEST(multiprecision, functions_meet_at_their_thresholds) {
  for (const char* text : {"1e-3", "-1e-3", "9.765e-4", "9.766e-4", "0.5", "-0.5", "1e12"}) {
    const mp50 x(text);
    EXPECT_LT(abs(arithmetic<mp50>::log1p(x) - log(mp50(1 + x))), 1e-44) << text;
    if (x < 10) {
      EXPECT_LT(abs(arithmetic<mp50>::expm1(x) - (exp(x) - 1)), 1e-44) << text;
    }
  }
  EXPECT_EQ(arithmetic<mp50>::log1p(mp50(0)), 0);
  EXPECT_EQ(arithmetic<mp50>::expm1(mp50(0)), 0);
}

TEST(references, say_the_values_that_are_fixed) {
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> masked = {-infinity, 1, 2}, one = {-infinity, 3}, with_nan = {0, nan};
  EXPECT_EQ(softmax_row(masked, dtype::f32).expected_text(0), "0");
  EXPECT_EQ(softmax_row(one, dtype::f32).expected_text(1), "1");
  EXPECT_EQ(softmax_row(with_nan, dtype::f32).expected_text(0), "nan");
  EXPECT_EQ(log_softmax_row(masked, dtype::f32).expected_text(0), "-inf");
  EXPECT_EQ(log_softmax_row(one, dtype::f32).expected_text(1), "0");
  EXPECT_EQ(log_softmax_row(with_nan, dtype::f32).expected_text(1), "nan");
  EXPECT_EQ(argmax(std::vector<double>{nan, nan}), 0);
  EXPECT_EQ(argmax(std::vector<double>{1, 3, 3}), 1);
  EXPECT_EQ(argmax(std::vector<double>{}), -1);
  const softmax_row row(masked, dtype::f32);
  const double sum = row.bound(0) + row.bound(1) + row.bound(2);  // which sum_of_bounds rounds up
  EXPECT_GE(row.sum_of_bounds(), sum);
  EXPECT_LE(row.sum_of_bounds(), sum * (1 + 1e-12));
}

TEST(references, keep_the_sign_of_zero_and_sums_of_the_smallest) {
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16}) {
    EXPECT_TRUE(std::signbit(round_to(type, -0.0)));
    EXPECT_FALSE(std::signbit(round_to(type, 0.0)));
  }
  const double least = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(reduce_row(reduction::sum, std::vector<double>{least, least, least}, dtype::f64).expected(), 3 * least);
}

TEST(references, tell_the_error_of_a_sum_in_ulps) {
  const std::vector<double> x = {1, 2, 0.25};
  const judgement j = reduce_row(reduction::sum, x, dtype::f32).judge(3.25 + 0x1p-20);
  EXPECT_FALSE(j.accepted && j.error == 0);
  EXPECT_EQ(j.error, 0x1p-20);
  EXPECT_EQ(j.error_ulp, 0x1p-20 / 0x1p-22);
}

TEST(tallies, keep_the_first_of_the_worst) {
  judgement worse, better;
  worse.accepted = better.accepted = true;
  worse.bound = better.bound = 1;
  worse.error = 0.5;
  better.error = 0.25;
  tally t;
  t.add(0, worse);
  t.add(1, better);
  t.add(2, worse);
  EXPECT_EQ(t.worst_index, 0);
  EXPECT_EQ(t.max_error_ratio, 0.5);
}

}  // namespace
}  // namespace warpcheck::reference
