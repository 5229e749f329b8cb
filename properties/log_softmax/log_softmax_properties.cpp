// log_softmax on trial: the properties of its contract (kernels/log_softmax/log_softmax.hpp), with bounds from
// reference/log_softmax/log_softmax.hpp.
#include "reference/log_softmax/log_softmax.hpp"

#include <cmath>
#include <limits>

#include "kernels/log_softmax/contract.hpp"
#include "properties/rows/row_properties.hpp"
#include "reference/logsumexp/logsumexp.hpp"
#include "reference/softmax/softmax.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::log_softmax_row;

constexpr double k_inf = std::numeric_limits<double>::infinity();

void judge_log_softmax(trial& t, const run_result& r, int64_t row) {
  const host_tensor& y = r.at("y");
  const std::vector<double> values = t.input("x").row(row);
  judge_elements(t, y, log_softmax_row(values, y.spec.type), row);
}

std::vector<bench_row> timed_rows() {
  bench_rows rows(0.97);
  rows.add_listed();
  rows.add_longest();
  rows.add_small();
  rows.add_misaligned();
  rows.add_half_types();
  return rows.take();
}

row_operator log_softmax_operator() {
  row_operator op;
  op.described = description_of(log_softmax_contract());
  op.described.statements.log_of_sum = true;
  op.described.null_kernels = {
      {"special-values", 45, "a row with a NaN or of equal elements has an answer one can guess"}};
  op.described.bench = {"rows", timed_rows()};
  op.judge_row = judge_log_softmax;
  op.seldom_one_column = true;
  // The result is neither the input nor the maximum.
  op.spike_peak = 5;
  op.spike_rest = -195;
  // Four rows of a block of 128 threads by lanes of a warp, 32 of them by four lanes with two rows each.
  op.rows_beyond_grid = [](const target::variant& v) { return cols_of(v).max == 2048 ? 2048 * 128 + 300 : 2100; };
  return op;
}

// ---- cases ----

// A dominant element beside one, or some, that add only a tail.
trial_case tail_rows(const row_operator& op, const target& t, draw& d) {
  const row_length length = draw_row_length(d, t, most_cols(t));
  const int64_t cols = std::max<int64_t>(2, length.cols);
  const auto at = static_cast<double>(d.one_of({int64_t{0}, cols - 1, d.between(0, cols - 1)}));
  const double tail = 7 - static_cast<double>(d.between(1, 103));
  recipe fill = make_recipe("spike", {at, 7, d.chance(50) ? tail : -k_inf});
  const int64_t other = d.between(0, cols - 1);
  if (other != static_cast<int64_t>(at)) fill.edits.push_back({0, other, tail});
  trial_case c = op.make_case(t, 1, cols, std::move(fill), 0);
  force_variant(c, length);
  return c;
}

// ---- checks ----

void check_equal_logits(const row_operator& op, trial& t) {
  const run_result r = t.run();
  judge_rows(op, t, r);
  for (int64_t row = 0; row < r.at("y").spec.rows(); ++row) require_equal_bits(t, r.at("y"), row);
}

void check_spike(const row_operator& op, trial& t) {
  require_spikes(op, t);
  const run_result r = t.run();
  const host_tensor &x = t.input("x"), &y = r.at("y");
  for (int64_t row = 0; row < x.spec.rows(); ++row)
    for (int64_t i = 0; i < x.spec.cols(); ++i)
      t.require(y.value(row, i) == x.value(row, i) - op.spike_peak,
                "y[{},{}] = {:.9g} ({:a}), expected exactly {} in a row of one {} among {}", row, i, y.value(row, i),
                y.value(row, i), x.value(row, i) - op.spike_peak, op.spike_peak, op.spike_rest);
  judge_rows(op, t, r);
}

// The dominant element's result is -ln(1 + tail): most of its digits, as in logsumexp's property of this name.
void check_tail(const row_operator& op, trial& t) {
  if (t.stated().takes_log_of_sum) return t.skip("needs the logarithm of 1 + the other terms");
  const run_result r = t.run();
  judge_rows(op, t, r);
  const host_tensor &x = t.input("x"), &y = r.at("y");
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    const std::vector<double> values = x.row(row);
    const log_softmax_row model(values, y.spec.type);
    const int64_t top = model.argmax();
    const double exact = model.expected(top), actual = y.value(row, top);
    const double relative = size_of(y.spec.type) == 2 ? 0x1p-7 : 0x1p-15;
    if (has_subnormal_terms(values)) continue;
    if (!(-exact > reference::min_normal(y.spec.type)) || !(-exact < 1)) continue;
    t.require(std::fabs(actual - exact) <= -relative * exact,
              "y[{},{}] = {:.9g}, exact {:.9g}: the tail has lost its digits", row, top, actual, exact);
  }
}

// exp(y) is softmax, and x - y is logsumexp, within the bounds of both.
void check_cross_operator(const row_operator& op, trial& t) {
  const run_result r = t.run();
  judge_rows(op, t, r);
  const host_tensor &x = t.input("x"), &y = r.at("y");
  const tensor_spec& spec = x.spec;
  const run_result p =
      run_other(t, "softmax", "within-error-bound", {output_matrix("y", spec.type, spec.rows(), spec.cols())});
  const run_result l = run_other(t, "logsumexp", "within-error-bound", {output_vector("y", spec.type, spec.rows())});
  for (int64_t row = 0; row < spec.rows(); ++row) {
    const std::vector<double> values = x.row(row);
    if (!all_finite(values)) continue;
    const log_softmax_row model(values, spec.type);
    const reference::softmax_row probabilities(values, spec.type);
    const double sum = l.at("y").value(0, row), sum_bound = reference::logsumexp_row(values, spec.type).bound();
    if (!std::isfinite(sum)) continue;  // beyond the range of a 16-bit type
    for (int64_t i = 0; i < spec.cols(); ++i) {
      const double z = y.value(row, i);
      if (!std::isfinite(z)) continue;
      // e^(z + b) - e^z is what an error b of z is worth; the host's exp and the differences round in double.
      const double share = p.at("y").value(row, i), b = model.bound(i), e = std::exp(z), above = std::exp(z + b);
      const double allowed = (above - e) + probabilities.bound(i) + 0x1p-50 * above;
      t.require(std::fabs(e - share) <= allowed,
                "exp(y[{},{}]) = {:.9g}, but softmax gives {:.9g}; a difference of {:.3g} is allowed", row, i, e, share,
                allowed);
      const double v = x.value(row, i), difference = v - z;
      t.require(std::fabs(difference - sum) <= b + sum_bound + 0x1p-52 * (std::fabs(v) + std::fabs(z) + std::fabs(sum)),
                "x[{},{}] - y = {:.9g}, but logsumexp gives {:.9g}; a difference of {:.3g} is allowed", row, i,
                difference, sum, b + sum_bound);
    }
  }
}

void check_empty(const row_operator&, trial& t) {
  require_empty(t);
  t.run();
}

const property_registration registration([] {
  row_properties p(log_softmax_operator());
  p.add_for_input("within-error-bound", "every element lies within its own bound", any_rows, check_values);
  p.add_for_input("equal-logits-equal-bits", "equal logits get equal bits", tied_rows, check_equal_logits);
  p.add("exact-shift", "adding a constant that keeps every logit exact changes no bit", dyadic_rows, check_exact_shift)
      .knobs = {{"shift", "0", "the constant that is added"}};
  p.add("permutation", "permuting a row permutes its outputs within the two bounds", related_rows,
        check_element_permutation<log_softmax_row>);
  p.add("every-element-used", "one 5 among -195 gives exactly 0 there and exactly -200 elsewhere, at every position",
        spike_rows, check_spike);
  p.add("masked-slices", "a row with slices of -Inf is right elsewhere and exactly -Inf there", masked_rows,
        check_values);
  p.add_common("special-values");
  p.add("log1p-tail", "a dominant element keeps the relative accuracy of its tail, down to e^-103", tail_rows,
        check_tail);
  p.add("cross-operator", "exp of the result is softmax, x less the result logsumexp, within the bounds of both",
        related_rows, check_cross_operator);
  p.add_common("long-accumulation");
  p.add_common("row-isolation");
  p.add_common("in-place-equals-out-of-place");
  p.add_common("misalignment", misaligned_or_team_rows);
  p.add_common("interleaved-rows");
  p.add_common("dispatch-boundaries").share_percent = 50;
  p.add_common("many-rows-per-block");
  p.add_common("rows-beyond-grid").share_percent = 10;
  p.add_common("large-offset");
  property& wide = p.add("wide-row", "a row of more than 2^24 elements lies within its bounds", wide_row, check_values);
  wide.types = {dtype::f32};
  wide.share_percent = 1;
  p.add_common("bit-repeatability");
  p.add_reused_storage();
  p.add_batch_invariance();
  p.add_common("no-hazard");
  p.add("empty", "no rows or no columns: nothing is written", empty_rows, check_empty).share_percent = 5;
  p.add_common("rejects-invalid-calls");
  return p.take();
}());

}  // namespace
}  // namespace warpcheck
