// logsumexp on trial: the properties of its contract (kernels/logsumexp/logsumexp.hpp), with bounds from
// reference/logsumexp/logsumexp.hpp.
#include "reference/logsumexp/logsumexp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/logsumexp/contract.hpp"
#include "properties/rows/row_properties.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::logsumexp_row;

constexpr double k_inf = std::numeric_limits<double>::infinity();

void judge_logsumexp(trial& t, const run_result& r, int64_t row) {
  const std::vector<double> values = t.input("x").row(row);
  const host_tensor& y = r.at("y");
  const logsumexp_row model(values, y.spec.type);
  const double actual = y.value(0, row);
  t.judge("y", 0, row, values.empty() ? 0.0 : values.front(), actual, model.judge(actual),
          [&] { return model.expected_text(); });
}

row_operator logsumexp_operator() {
  row_operator op;
  op.described = description_of(logsumexp_contract());
  op.described.statements.log_of_sum = true;
  op.described.null_kernels = {
      {"special-values", 70, "a row with a NaN or an infinity has one of three answers, its mean among them"},
      {"masked-slices", 25, "a row of which one element is left is its own answer"},
      {"log1p-tail", 25, "a 16-bit type rounds most tails to nothing"}};
  op.draw_extra = [](draw& d, int) { return d.chance(40) ? 1 : 0; };
  // y is f32 whatever x is.
  op.set_extra = [](trial_case& c, int wide) {
    if (wide) c.find("y")->type = dtype::f32;
  };
  op.extras = {0, 1};
  op.described.bench = {"rows", reduction_bench_rows(true)};
  op.judge_row = judge_logsumexp;
  op.seldom_one_column = true;
  op.rows_beyond_grid = rows_beyond_reduction_grid;
  op.tiled_grids = tiled_reduction_grids();
  return op;
}

// ---- cases ----

// A dominant element beside one, or some, that add only a tail, as small as e^-103.
trial_case tail_rows(const row_operator& op, const target& t, draw& d) {
  // Every fourth row is one that a warp sums up quickly, in the 16-bit types, where the tail is not too small for that.
  const bool of_warp = d.index() % 4 == 1 && most_cols(t) >= 1024;
  const int64_t cols = of_warp ? 8 * d.between(65, 128) : std::max<int64_t>(2, draw_extent(d, t, 300, most_cols(t)));
  const auto at = static_cast<double>(d.one_of({int64_t{0}, cols - 1, d.between(0, cols - 1)}));
  recipe fill = make_recipe("spike", {at, 0, -k_inf});
  const int64_t tails = d.between(1, 3);
  for (int64_t k = 0; k < tails; ++k) {
    const int64_t col = d.between(0, cols - 1);
    if (col != static_cast<int64_t>(at)) fill.edits.push_back({0, col, -static_cast<double>(d.between(1, 103))});
  }
  // One-word rows: the tail of a lone pair is the logarithm itself.
  if (d.chance(30)) fill = make_recipe("spike", {at, 0, -static_cast<double>(d.between(1, 103))});
  return op.make_case(t, 1, cols, std::move(fill), op.draw_extra(d, 50));
}

// The peak is the answer: another one in each case.
trial_case peak_rows(const row_operator& op, const target& t, draw& d) {
  trial_case c = spike_rows(op, t, d);
  c.find("x")->fill.arguments[2] = 1 + static_cast<double>(d.index() % 13) / 2;
  return c;
}

// The maximum three times. Where 256 threads collect tiles of 2^16 elements, one thread meets two of them, 2^24
// elements apart, and its neighbour meets one beside a tile of small elements.
trial_case tied_long_row(const row_operator& op, const target& t, draw& d) {
  trial_case c = wide_row(op, t, d);
  c.find("x")->fill.arguments[2] = -200;
  const auto at = static_cast<int64_t>(c.find("x")->fill.arguments[0]);
  for (const int bit : {24, 16}) c.find("x")->fill.edits.push_back({0, at - (int64_t{1} << bit), 7});
  return c;
}

// So many rows that each is one tile of two groups of parts, of which a block takes several (reduction_ahead in
// kernels/rows/row_reduction.hpp).
trial_case many_long_rows(const row_operator& op, const target& t, draw& d) {
  recipe fill = make_recipe("uniform", {d.seed(), -20, 20});
  const int64_t cols = 32768 + 4 * d.between(1, 1000);
  const int extra = op.draw_extra(d, 50);
  trial_case c = op.make_case(t, d.between(420, 440), cols, std::move(fill), extra);
  run_once(c);
  return c;
}

trial_case long_rows(const row_operator& op, const target& t, draw& d) {
  return d.index() % 2 == 0 ? tied_long_row(op, t, d) : many_long_rows(op, t, d);
}

// Every other time aligned, and so long that the next part of a row is read while one is taken in.
trial_case far_long_rows(const row_operator& op, const target& t, draw& d) {
  if (d.index() % 2 == 0) return far_rows(op, t, d);
  recipe fill = make_recipe("uniform", {d.seed(), -20, 20});
  const int extra = op.draw_extra(d, 50);
  trial_case c = op.make_case(t, 2, 4 * d.between(1025, 1250), std::move(fill), extra);
  c.find("x")->ld = int64_t{1} << 31;
  c.knobs["schedule"] = "fair";
  return c;
}

// ---- checks ----

void check_shift(const row_operator& op, trial& t) {
  const host_tensor shifted = shifted_input(t);
  const run_result before = t.run();
  judge_rows(op, t, before);
  const run_result after = t.run(t.the_case(), {{"x", shifted}});
  const host_tensor& x = t.input("x");
  const double shift = knob_or(t.the_case(), "shift", 0);
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    const std::vector<double> from = x.row(row), to = shifted.row(row);
    const dtype type = before.at("y").spec.type;
    const double a = before.at("y").value(0, row), b = after.at("y").value(0, row);
    // The difference below is rounded once in double.
    const double allowed = logsumexp_row(from, type).bound() + logsumexp_row(to, type).bound() + 0x1p-52 * std::fabs(b);
    t.require(std::fabs(b - a - shift) <= allowed,
              "y[{}] = {:.9g} becomes {:.9g} when {} is added to every element; {:.3g} is allowed", row, a, b, shift,
              allowed);
  }
}

void check_permutation(const row_operator& op, trial& t) {
  const host_tensor& x = t.input("x");
  const permutation p(x.spec.cols());
  const run_result before = t.run();
  judge_rows(op, t, before);
  const run_result after = t.run(t.the_case(), {{"x", p(x)}});
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    const std::vector<double> values = x.row(row);
    if (!all_finite(values)) continue;
    const double a = before.at("y").value(0, row), b = after.at("y").value(0, row);
    const double allowed = 2 * logsumexp_row(values, before.at("y").spec.type).bound();
    t.require(a == b || std::fabs(a - b) <= allowed,
              "y[{}] = {:.9g} becomes {:.9g} when the row is permuted; a difference of {:.3g} is allowed", row, a, b,
              allowed);
  }
}

void check_spike(const row_operator& op, trial& t) {
  const run_result r = t.run();
  for (int64_t row = 0; row < t.input("x").spec.rows(); ++row) {
    const std::vector<double> values = t.input("x").row(row);
    const double peak = *std::ranges::max_element(values), y = r.at("y").value(0, row);
    if (std::ranges::count(values, op.spike_rest) != static_cast<int64_t>(values.size()) - 1)
      return t.skip(fmt::format("row {} is not one peak among {}", row, op.spike_rest));
    t.require(y == peak, "y[{}] = {:.9g} ({:a}), expected exactly {} in a row of one {} among {}", row, y, y, peak,
              peak, op.spike_rest);
  }
  judge_rows(op, t, r);
}

// Requires most digits of the exact tail ln(1 + e^-t): the absolute bound of a short row is a relative one there.
void check_tail(const row_operator& op, trial& t) {
  if (t.stated().takes_log_of_sum) return t.skip("needs the logarithm of 1 + the other terms");
  const run_result r = t.run();
  judge_rows(op, t, r);
  const host_tensor &x = t.input("x"), &y = r.at("y");
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    const std::vector<double> values = x.row(row);
    const double exact = logsumexp_row(values, y.spec.type).expected(), actual = y.value(0, row);
    // 2^-15 allows the chains of the longest generated rows, and 2^-8 the rounding of a bf16; below the normal range
    // only the bound of the element counts.
    const double relative = size_of(y.spec.type) == 2 ? 0x1p-7 : 0x1p-15;
    if (has_subnormal_terms(values)) continue;
    if (!(exact > reference::min_normal(y.spec.type)) || !(exact < 1)) continue;
    t.require(std::fabs(actual - exact) <= relative * exact,
              "y[{}] = {:.9g}, exact {:.9g}: the tail has lost its digits", row, actual, exact);
  }
}

const property_registration registration([] {
  row_properties p(logsumexp_operator());
  p.add_for_input("within-error-bound", "every result lies within its own bound", any_rows, check_values);
  p.add("exact-shift", "adding a constant that keeps every element exact moves the result by it within the two bounds",
        dyadic_rows, check_shift)
      .knobs = {{"shift", "0", "the constant that is added"}};
  p.add("permutation", "permuting a row changes the result within the two bounds", related_rows, check_permutation);
  p.add("equal-logits-equal-bits", "n equal elements, alone or beside -Inf, lie within the bound", tied_rows,
        check_values);
  p.add("every-element-used", "one peak among -200 is the result, at every position", peak_rows, check_spike);
  p.add("masked-slices", "slices of -Inf drop out", masked_rows, check_values);
  p.add_common("special-values");
  p.add("log1p-tail", "the tail of a dominant element keeps its relative accuracy, down to e^-103", tail_rows,
        check_tail);
  p.add_common("long-accumulation");
  p.add_common("row-isolation");
  p.add_common("misalignment");
  p.add_common("interleaved-rows");
  p.add_common("dispatch-boundaries");
  p.add_common("rows-beyond-grid");
  p.add_common("many-rows-per-block");
  p.add_common("large-offset", far_long_rows);
  property& long_row = p.add("long-row", "rows of more tiles than a block has threads, and many long rows, are right",
                             long_rows, check_values);
  long_row.types = {dtype::f32};
  long_row.share_percent = 2;
  p.add_common("bit-repeatability");
  p.add_reused_storage();
  p.add_batch_invariance();
  p.add_common("no-hazard");
  p.add("empty", "rows without columns give -Inf; without rows nothing is written", empty_rows, check_empty_rows)
      .share_percent = 20;
  p.add_common("rejects-invalid-calls");
  return p.take();
}());

}  // namespace
}  // namespace warpcheck
