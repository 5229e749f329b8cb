// argmax on trial: the properties of its contract (kernels/argmax/argmax.hpp); only one answer is right
// (reference/argmax/argmax.hpp).
#include "reference/argmax/argmax.hpp"

#include "kernels/argmax/contract.hpp"
#include "properties/rows/row_properties.hpp"

namespace warpcheck {
namespace {

using namespace engine;

// As an element, so that the report counts what was compared.
void judge_argmax(trial& t, const run_result& r, int64_t row) {
  const std::vector<double> values = t.input("x").row(row);
  const int64_t expected = reference::argmax(values);
  judge_index(t, r, row, expected);
  t.judge("index", 0, row, expected < 0 ? 0 : values[static_cast<size_t>(expected)], static_cast<double>(expected),
          reference::judge_fixed(dtype::f64, static_cast<double>(expected), static_cast<double>(expected)));
}

row_operator argmax_operator() {
  row_operator op;
  op.described = description_of(argmax_contract());
  op.described.statements = {.sums = false, .batch_invariant = false};
  op.described.null_kernels = {{"", 30, "index 0 is right wherever the first element is the largest"}};
  op.described.bench = {"rows", reduction_bench_rows(true)};
  op.judge_row = judge_argmax;
  op.seldom_one_column = true;
  op.rows_beyond_grid = rows_beyond_reduction_grid;
  op.tiled_grids = tiled_reduction_grids();
  return op;
}

// The maximum at an end of a row, where vectors and tiles are ragged, or where tiles meet.
trial_case misaligned_rows_with_peak(const row_operator& op, const target& t, draw& d) {
  trial_case c = misaligned_rows(op, t, d);
  tensor_spec& x = *c.find("x");
  const int64_t row = d.between(0, x.rows() - 1);
  const int64_t meeting = draw_meeting_place(d, x.cols());
  x.fill.edits.push_back({row, d.one_of({int64_t{0}, x.cols() - 1, meeting, meeting}), 30.0});
  return c;
}

int64_t index_of(const run_result& r, int64_t row) { return static_cast<int64_t>(r.at("index").bits(0, row)); }

// The element at the index is the same, up to ties.
void check_permutation(const row_operator& op, trial& t) {
  const host_tensor& x = t.input("x");
  const permutation p(x.spec.cols());
  const run_result before = t.run();
  judge_rows(op, t, before);
  const host_tensor permuted = p(x);
  const run_result after = t.run(t.the_case(), {{"x", permuted}});
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    const int64_t i = index_of(before, row), j = index_of(after, row);
    t.require(j >= 0 && j < x.spec.cols(), "index[{}] is {} when the row is permuted", row, j);
    const double a = x.value(row, i), b = permuted.value(row, j);
    t.require(a == b || (std::isnan(a) && std::isnan(b)),
              "x[{},{}] = {:.9g} is the largest, {:.9g} at {} when the row is permuted", row, i, a, b, j);
  }
}

void check_first_index(const row_operator& op, trial& t) {
  const run_result r = t.run();
  const host_tensor& x = t.input("x");
  for (int64_t row = 0; row < x.spec.rows(); ++row) {
    const int64_t index = index_of(r, row);
    if (x.spec.cols() == 0) break;  // -1, as judge_rows has it
    t.require(index >= 0 && index < x.spec.cols(), "index[{}] is {}, which no element has", row, index);
    const double best = x.value(row, index);
    for (int64_t i = 0; i < x.spec.cols(); ++i) {
      const double v = x.value(row, i);
      const bool wins =
          std::isnan(best) ? std::isnan(v) && i < index : std::isnan(v) || v > best || (v == best && i < index);
      t.require(!wins, "index[{}] is {} ({:.9g}), but x[{},{}] = {:.9g}", row, index, best, row, i, v);
    }
  }
  judge_rows(op, t, r);
}

// The optional index of softmax has the bits of argmax.
void check_cross_operator(const row_operator& op, trial& t) {
  const run_result r = t.run();
  judge_rows(op, t, r);
  const tensor_spec& x = t.the_case().at("x");
  const run_result fused =
      run_other(t, "softmax", "within-error-bound",
                {output_matrix("y", x.type, x.rows(), x.cols()), output_vector("index", dtype::i64, x.rows())});
  for (int64_t row = 0; row < x.rows(); ++row)
    t.require(index_of(fused, row) == index_of(r, row), "index[{}] is {}, that of softmax {}", row, index_of(r, row),
              index_of(fused, row));
}

void check_empty(const row_operator&, trial& t) {
  require_empty(t);
  const run_result r = t.run();
  for (int64_t row = 0; row < r.at("index").spec.cols(); ++row) judge_index(t, r, row, -1);
}

const property_registration registration([] {
  row_properties p(argmax_operator());
  p.add_for_input("within-error-bound", "every index is that of the first maximum, or of the first NaN", any_rows,
                  check_values);
  p.add("first-index", "no earlier element equals the one at the index, and none is larger", tied_maxima,
        check_first_index);
  p.add("exact-shift", "adding a constant that keeps every element exact changes no index", dyadic_rows,
        check_exact_shift)
      .knobs = {{"shift", "0", "the constant that is added"}};
  p.add("permutation", "permuting a row leaves the element at the index what it was", related_rows, check_permutation);
  p.add("every-element-used", "one 0 among -200 is found at every position", spike_rows, check_values);
  p.add("masked-slices", "slices of -Inf are never taken while anything else is there", masked_rows, check_values);
  p.add_common("special-values");
  p.add_common("row-isolation");
  p.add_common("misalignment", misaligned_rows_with_peak);
  p.add_common("dispatch-boundaries");
  p.add_common("rows-beyond-grid");
  p.add_common("many-rows-per-block");
  p.add_common("large-offset");
  property& wide = p.add("index-beyond-2-to-24", "an index that no f32 holds is exact", wide_row, check_values);
  wide.types = {dtype::f32};
  wide.share_percent = 1;
  p.add("cross-operator", "the index is that of softmax on the same rows", related_rows, check_cross_operator);
  p.add_common("bit-repeatability");
  p.add_reused_storage();
  p.add_batch_invariance();
  p.add_common("device-agreement");
  p.add_common("no-hazard");
  p.add("empty", "rows without columns get index -1; without rows nothing is written", empty_rows, check_empty)
      .share_percent = 20;
  p.add_common("rejects-invalid-calls");
  return p.take();
}());

}  // namespace
}  // namespace warpcheck
