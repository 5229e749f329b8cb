// reduce on trial: the properties of its contract (kernels/reduce/reduce.hpp); bounds of reference/reduce/reduce.hpp.
#include "reference/reduce/reduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/reduce/contract.hpp"
#include "properties/engine/trials/polynomial_identity.hpp"
#include "properties/rows/row_properties.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::reduce_row;
using reference::reduction;

// The knob `op`: which reduction (contract).
constexpr int k_sum = 0, k_min = 1, k_max = 2;

double code_of(const trial_case& c) { return knob_or(c, "op", k_sum); }
reduction reduction_of(const trial& t) { return static_cast<reduction>(static_cast<int>(code_of(t.the_case()))); }

void judge_reduction(trial& t, const run_result& r, int64_t row) {
  const std::vector<double> values = t.input("x").row(row);
  const host_tensor& y = r.at("y");
  const reduce_row model(reduction_of(t), values, y.spec.type);
  const double actual = y.value(0, row);
  t.judge("y", 0, row, values.empty() ? 0.0 : values.front(), actual, model.judge(actual),
          [&] { return model.expected_text(); });
}

row_operator reduce_operator() {
  row_operator op;
  op.described = description_of(reduce_contract());
  op.described.null_kernels = {
      {"special-values", 70, "a row with a NaN or an infinity has one of three answers, its mean among them"},
      {"", 35, "the first element may be the least or greatest, the mean of equal ones is each of them"}};
  op.draw_extra = [](draw& d, int) { return static_cast<int>(d.between(k_sum, k_max)); };
  op.set_extra = [](trial_case& c, int op) { set_knob(c, "op", format_number(op)); };
  op.extras = {k_sum, k_min, k_max};
  op.described.bench = {"rows", reduction_bench_rows(false)};
  op.judge_row = judge_reduction;
  op.draw_fill = draw_sum_fill;
  op.spike_peak = 1;
  op.spike_rest = 0;
  op.seldom_one_column = true;
  op.rows_beyond_grid = rows_beyond_reduction_grid;
  op.tiled_grids = tiled_reduction_grids();
  return op;
}

// ---- cases ----

trial_case reduce_spikes(const row_operator& op, const target& t, draw& d) {
  trial_case c = spike_rows(op, t, d);
  // Another peak in each case, for it is the answer; below 0 for the minimum, which is to find it, too.
  const double peak = 1 + static_cast<double>(d.index() % 13);
  c.find("x")->fill.arguments[2] = code_of(c) == k_min ? -peak : peak;
  return c;
}

// -Inf shows no fault of a sum or a minimum, so mostly maxima.
trial_case masked_maxima(const row_operator& op, const target& t, draw& d) {
  trial_case c = masked_rows(op, t, d);
  if (d.index() % 4) c.knobs["op"] = format_number(k_max);
  return c;
}

bool is_sum(const trial_case& c) { return code_of(c) == k_sum && c.at("x").elements() > 0; }

// Among zeros a spike below 0 is no maximum, and one above 0 no minimum.
bool is_spike_found(const trial_case& c) {
  const recipe& fill = c.at("x").fill;
  if (c.at("x").elements() == 0) return false;
  return fill.distribution != "diagonal" || code_of(c) != (fill.arguments[2] < 0 ? k_max : k_min);
}

trial_case integer_rows(const row_operator& op, const target& t, draw& d) {
  const auto fill = [&](int64_t cols) {
    // The sizes of all elements add up to less than 2^24, so that every partial sum is exact.
    const double most = std::min(1000.0, std::floor(0x1p24 / static_cast<double>(cols + 1)));
    return d.chance(20) ? make_recipe("constant", {1}) : make_recipe("integers", {d.seed(), -most, most});
  };
  return filled_rows(op, t, d, fill, k_sum);
}

trial_case chain_rows(const row_operator& op, const target& t, draw& d) {
  const int64_t cols = std::max<int64_t>(2, draw_extent_of_variant(d, t, d.index(), most_cols(t)));
  const auto at = static_cast<double>(d.one_of({int64_t{0}, int64_t{0}, cols - 1, d.between(0, cols - 1)}));
  // The others are just below the unit roundoff: added one by one to 1, every one of them is lost.
  return op.make_case(t, 1, cols, make_recipe("spike", {at, 1, t.type == dtype::f64 ? 0x1.fp-54 : 0x1.fp-25}), k_sum);
}

// A zero of either sign as the least or greatest element, beside what special_rows draws.
trial_case special_reductions(const row_operator& op, const target& t, draw& d) {
  trial_case c = special_rows(op, t, d);
  if (d.index() % 3) return c;
  tensor_spec& x = *c.find("x");
  x.fill = d.chance(50) ? make_recipe("alternating", {0.0, -0.0}) : make_recipe("constant", {d.one_of({0.0, -0.0})});
  x.fill.edits.push_back({0, d.between(0, x.cols() - 1), d.one_of({0.0, -0.0})});
  c.knobs["op"] = format_number(d.between(k_min, k_max));
  return c;
}

trial_case refused_reductions(const row_operator& op, const target& t, draw& d) {
  trial_case c = refused_rows(op, t, d);
  if (d.index() % 2) c.knobs["op"] = d.one_of({"3", "-1", "1e9", "nan", "0.5"});
  return c;
}

// ---- checks ----

void check_spike(const row_operator& op, trial& t) {
  const run_result r = t.run();
  const host_tensor& x = t.input("x");
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    double expected = 0;
    int64_t spikes = 0;
    for (int64_t i = 0; i < x.spec.cols(); ++i)
      if (const double v = x.value(row, i); v != 0) expected = v, ++spikes;
    if (spikes != 1) return t.skip(fmt::format("row {} is not one spike among 0", row));
    const double y = r.at("y").value(0, row);
    t.require(y == expected, "y[{}] = {:.9g} ({:a}), expected exactly {} in a row of one {} among 0", row, y, y,
              expected, expected);
  }
  judge_rows(op, t, r);
}

void check_integer_sum(const row_operator&, trial& t) {
  const host_tensor& x = t.input("x");
  const permutation p(x.spec.cols());
  std::vector<double> sums;
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    double sum = 0, sizes = 0;
    for (const double v : x.row(row)) {
      if (v != std::floor(v)) return t.skip(fmt::format("row {} holds {}, which is not an integer", row, v));
      sum += v;
      sizes += std::fabs(v);
    }
    if (!(sizes < 0x1p24)) return t.skip(fmt::format("the sizes in row {} add up to {}, not below 2^24", row, sizes));
    sums.push_back(sum);
  }
  for (const run_result& r : {t.run(), t.run(t.the_case(), {{"x", p(x)}})})
    for (int64_t row = 0; row < x.spec.rows(); ++row) {
      const double y = r.at("y").value(0, row), expected = sums[static_cast<size_t>(row)];
      t.judge("y", 0, row, x.spec.cols() > 0 ? x.value(row, 0) : 0.0, y,
              reference::judge_fixed(x.spec.type, y, expected));
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
    const double a = before.at("y").value(0, row), b = after.at("y").value(0, row);
    if (!std::isfinite(a) || !std::isfinite(b)) continue;  // a running sum may overflow either way
    const double allowed = 2 * reduce_row(reduction_of(t), values, x.spec.type).bound();
    t.require(std::fabs(a - b) <= allowed,
              "y[{}] = {:.17g} becomes {:.17g} when the row is permuted; a difference of {:.3g} is allowed", row, a, b,
              allowed);
  }
}

// The largest element is the one that argmax finds.
void check_cross_operator(const row_operator& op, trial& t) {
  if (code_of(t.the_case()) != k_max) return t.skip("op is not the maximum");
  const run_result r = t.run();
  judge_rows(op, t, r);
  const host_tensor& x = t.input("x");
  const run_result found =
      run_other(t, "argmax", "within-error-bound", {output_vector("index", dtype::i64, x.spec.rows())});
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    const auto index = static_cast<int64_t>(found.at("index").bits(0, row));
    t.require(index >= 0 && index < x.spec.cols(), "argmax gives {} for row {}", index, row);
    const double best = x.value(row, index), y = r.at("y").value(0, row);
    t.require(best == y || (std::isnan(best) && std::isnan(y)), "y[{}] = {:.9g}, but argmax finds x[{},{}] = {:.9g}",
              row, y, row, index, best);
  }
}

trial_case maxima(const row_operator& op, const target& t, draw& d) {
  trial_case c = d.index() % 2 ? tied_maxima(op, t, d) : special_rows(op, t, d);
  c.knobs["op"] = format_number(k_max);
  return c;
}

void check_refusals(const row_operator&, trial& t) { check_code_refusals(t, "op", 3); }

const property_registration registration([] {
  row_properties p(reduce_operator());
  p.add_for_input("within-error-bound", "every sum lies within its bound; minimum and maximum are exact", any_rows,
                  check_values);
  p.add("integer-sum", "integers whose sizes add up to less than 2^24 are summed exactly, in any order", integer_rows,
        check_integer_sum)
      .holds = is_sum;
  property& identity = p.add("usual", "", integer_rows, check_integer_sum);
  identity.holds = is_sum;
  identity.share_percent = 30;
  make_polynomial_identity(identity, 1);
  p.add_common("long-accumulation", chain_rows);
  p.add("permutation", "permuting a row changes a sum within the two bounds, and no minimum or maximum", related_rows,
        check_permutation);
  p.add("every-element-used", "one spike among 0 is summed and found at every position", reduce_spikes, check_spike)
      .holds = is_spike_found;
  p.add("masked-slices", "slices of -Inf are seen by sum and minimum and passed over by the maximum", masked_maxima,
        check_values);
  p.add_common("special-values", special_reductions);
  p.add("cross-operator", "the maximum is the element that argmax finds", maxima, check_cross_operator).types = {
      dtype::f32};
  p.add_common("row-isolation");
  p.add_common("misalignment");
  p.add_common("interleaved-rows");
  p.add_common("dispatch-boundaries");
  p.add_common("rows-beyond-grid");
  p.add_common("many-rows-per-block");
  p.add_common("large-offset");
  property& long_row =
      p.add("long-row", "rows whose tiles are more than a block has threads are right", wide_row, check_values);
  long_row.types = {dtype::f32};
  long_row.share_percent = 1;
  p.add_common("bit-repeatability");
  p.add_reused_storage();
  p.add_batch_invariance();
  p.add_common("device-agreement");
  p.add_common("no-hazard");
  p.add("empty", "rows without columns give +0, +Inf, -Inf; without rows nothing is written", empty_rows,
        check_empty_rows)
      .share_percent = 20;
  p.add_common("rejects-invalid-calls", refused_reductions, check_refusals);
  return p.take();
}());

}  // namespace
}  // namespace warpcheck
