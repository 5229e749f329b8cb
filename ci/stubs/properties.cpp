// $op on trial: the properties of its contract (kernels/$op/$op.hpp), with bounds from reference/$op/$op.hpp.
#include "reference/$op/$op.hpp"

#include "kernels/$op/contract.hpp"
#include "properties/rows/row_properties.hpp"

namespace warpcheck {
namespace {

using namespace engine;

void judge_row(trial& t, const run_result& r, int64_t row) {
  judge_elements(t, r.at("y"), reference::${op}_row(t.input("x").row(row)), row);
}

std::vector<bench_row> timed_rows() {
  bench_rows rows(0.97);  // the fraction of the limit that they aim at
#error "properties/$op/${op}_properties.cpp: list the shapes whose time matters (step 4)"
  rows.add_listed();
  rows.add_small();
  return rows.take();
}

row_operator ${op}_operator() {
  row_operator op;
  op.described = description_of(${op}_contract());
  op.described.bench = {"rows", timed_rows()};
  op.judge_row = judge_row;
  return op;
}

const property_registration registration([] {
  row_properties p(${op}_operator());
  p.add_for_input("within-error-bound", "every element lies within its own bound", any_rows, check_values);
#error "${op}_properties.cpp: add what else must hold of every case: algebra, special values, layouts (step 4)"
  p.add_common("special-values");
  p.add_common("row-isolation");
  p.add_common("misalignment");
  p.add_common("dispatch-boundaries");
  p.add_common("rows-beyond-grid");
  p.add_common("large-offset");
  p.add_common("bit-repeatability");
  p.add_reused_storage();
  p.add_common("no-hazard");
  p.add_common("rejects-invalid-calls");
  return p.take();
}());

}  // namespace
}  // namespace warpcheck
