// softmax on trial: the properties of its contract (kernels/softmax/softmax.hpp), with bounds from
// reference/softmax/softmax.hpp.

#include <cmath>
#include <limits>

#include "kernels/softmax/contract.hpp"
#include "properties/rows/row_properties.hpp"
#include "reference/softmax/softmax.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::softmax_row;

constexpr double k_inf = std::numeric_limits<double>::infinity();

void judge_softmax(trial& t, const run_result& r, int64_t row) {
  const host_tensor& y = r.at("y");
  const std::vector<double> values = t.input("x").row(row);
  const softmax_row model(values, y.spec.type);
  judge_elements(t, y, model, row);
  judge_index(t, r, row, model.argmax());
}

std::vector<bench_row> timed_rows() {
  bench_rows rows(0.97);
  rows.add_listed();
  rows.add_longest();
  for (const int64_t cols : {32, 1024, 4096, 32768}) {
    bench_row& with_index = rows.add((int64_t{1} << 26) / cols, cols);
    with_index.tensors = {{"index", dtype::i64}};
    with_index.note = "argmax";
    with_index.target = 0.96;
  }
  rows.add_small();
  rows.add_misaligned();
  rows.add_half_types();
  return rows.take();
}

row_operator softmax_operator() {
  row_operator op;
  op.described = description_of(softmax_contract());
  op.described.null_kernels = {
      {"interleaved-rows", 25, "of nine cases one has equal elements, and one the answer of the case before"}};
  op.draw_extra = [](draw& d, int percent) { return percent == 100 || (percent > 0 && d.chance(percent)) ? 1 : 0; };
  op.set_extra = [](trial_case& c, int with_index) {
    if (with_index) add_tensor(c, "index", dtype::i64);
  };
  op.extras = {1, 0};
  op.optional_outputs = {"index"};
  op.described.bench = {"rows", timed_rows()};
  op.judge_row = judge_softmax;
  return op;
}

// ---- checks ----

// Sum without rounding error that matters: two-sum compensated (Ogita, Rump & Oishi, SIAM J. Sci. Comput. 26, 2005:
// error <= 2^-53 |sum| + n^2 2^-105 sum|y_i|), far below the bounds it is compared with.
double precise_sum(const host_tensor& t, int64_t row) {
  double sum = 0, rest = 0;
  for (int64_t i = 0; i < t.spec.cols(); ++i) {
    const double v = t.value(row, i), s = sum + v, z = s - sum;
    rest += (sum - (s - z)) + (v - z);
    sum = s;
  }
  return sum + rest;
}

void check_probability_row(const row_operator& op, trial& t) {
  const run_result r = t.run();
  judge_rows(op, t, r);
  const host_tensor &x = t.input("x"), &y = r.at("y");
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    const std::vector<double> values = x.row(row);
    const softmax_row model(values, y.spec.type);
    if (values.empty() || std::isnan(model.expected(0))) continue;
    for (int64_t i = 0; i < x.spec.cols(); ++i) {
      const double p = y.value(row, i);
      t.require(p >= 0 && p <= 1, "y[{},{}] = {:.9g} ({:a}) is not a probability", row, i, p, p);
    }
    const double sum = precise_sum(y, row), allowed = model.sum_of_bounds() + 0x1p-50;
    t.require(std::fabs(sum - 1) <= allowed, "row {} sums to {:.17g}; 1 +- {:.3g} is allowed", row, sum, allowed);
  }
}

void check_equal_logits(const row_operator& op, trial& t) {
  const run_result r = t.run();
  judge_rows(op, t, r);
  const host_tensor &x = t.input("x"), &y = r.at("y");
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    const row_ties ties = require_equal_bits(t, y, row);
    if (ties.maxima == 0 || ties.maxima + ties.masked != x.spec.cols() || !std::isfinite(ties.largest)) continue;
    // k equal maxima, the rest -Inf: exactly RN(1/k) in f32, rounded once more to a 16-bit type.
    const double share =
        decode(y.spec.type, encode(y.spec.type, static_cast<double>(1.0f / static_cast<float>(ties.maxima))));
    for (int64_t i = 0; i < x.spec.cols(); ++i) {
      const double expected = x.value(row, i) == -k_inf ? 0.0 : share;
      t.require(y.bits(row, i) == encode(y.spec.type, expected),
                "y[{},{}] = {:a}, expected exactly {:a} beside {} equal maxima", row, i, y.value(row, i), expected,
                ties.maxima);
    }
  }
}

void check_spike(const row_operator& op, trial& t) {
  require_spikes(op, t);
  const run_result r = t.run();
  const host_tensor &x = t.input("x"), &y = r.at("y");
  for (int64_t row = 0; row < x.spec.rows(); ++row)
    for (int64_t i = 0; i < x.spec.cols(); ++i) {
      const double expected = x.value(row, i) == 0.0 ? 1.0 : 0.0;
      t.require(y.bits(row, i) == encode(y.spec.type, expected),
                "y[{},{}] = {:.9g} ({:a}), expected exactly {} in a row of one 0 among -200", row, i, y.value(row, i),
                y.value(row, i), expected);
    }
  if (!t.the_case().find("index")) return;
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    const auto index = static_cast<int64_t>(r.at("index").bits(0, row));
    t.require(index >= 0 && index < x.spec.cols() && x.value(row, index) == 0.0, "index[{}] = {} is not the spike's",
              row, index);
  }
}

void check_empty(const row_operator&, trial& t) {
  require_empty(t);
  const run_result r = t.run();
  if (!t.the_case().find("index")) return;
  for (int64_t row = 0; row < r.at("index").spec.cols(); ++row) judge_index(t, r, row, -1);
}

const property_registration registration([] {
  row_properties p(softmax_operator());
  p.add_for_input("within-error-bound", "every element lies within its own bound, and the index is the first maximum's",
                  any_rows, check_values);
  p.add_for_input("sums-to-one", "every value is in [0, 1] and a row's values sum to 1 within the sum of their bounds",
                  any_rows, check_probability_row);
  p.add_for_input("equal-logits-equal-bits",
                  "equal logits get equal bits; k equal maxima among -Inf get exactly RN(1/k)", tied_rows,
                  check_equal_logits);
  p.add("exact-shift", "adding a constant that keeps every logit exact changes no bit", dyadic_rows, check_exact_shift)
      .knobs = {{"shift", "0", "the constant that is added"}};
  p.add("permutation", "permuting a row permutes its outputs within the two bounds", related_rows,
        check_element_permutation<softmax_row>);
  p.add("every-element-used", "one 0 among -200 gives exactly 1 there and exactly +0 elsewhere, at every position",
        spike_rows, check_spike);
  p.add("masked-slices", "a row with slices of -Inf is right elsewhere and exactly +0 there", masked_rows,
        check_values);
  p.add_common("special-values");
  p.add_common("row-isolation");
  p.add_common("in-place-equals-out-of-place");
  p.add_common("misalignment", misaligned_or_team_rows);
  p.add_common("interleaved-rows");
  p.add_common("dispatch-boundaries");
  p.add_common("rows-beyond-grid").share_percent = 12;
  p.add_common("many-rows-per-block");
  p.add_common("large-offset");
  p.add_common("bit-repeatability");
  p.add_reused_storage();
  p.add_batch_invariance();
  p.add("first-index", "the index is that of the first NaN, otherwise of the first largest logit", tied_maxima,
        check_values);
  property& wide = p.add("index-beyond-2-to-24",
                         "an index that no f32 holds is exact, and the results of such a row lie within their bounds",
                         wide_row, check_values);
  wide.types = {dtype::f32};
  wide.share_percent = 1;
  p.add_common("long-accumulation");
  p.add_common("no-hazard");
  p.add("empty", "no rows or no columns: nothing is written but index -1", empty_rows, check_empty).share_percent = 20;
  p.add_common("rejects-invalid-calls");
  return p.take();
}());

}  // namespace
}  // namespace warpcheck
