// Known answers of $op: closed forms and published field bugs.
#include "golden/row_golden.hpp"
#include "reference/$op/$op.hpp"

namespace warpcheck::golden {
namespace {

std::vector<golden_file> known_answers() {
  row_answers answers("$op");
#error "golden/${op}/${op}_golden.cpp: add answers whose values have another source than the reference (step 5)"
  return answers.take();
}

std::vector<row_model> models(const engine::trial_case&, const std::vector<double>& x) {
  return {element_model("y", static_cast<int64_t>(x.size()), reference::${op}_row(x))};
}

const operator_golden data = row_golden("$op", {dtype::f32}, known_answers, models);

}  // namespace

operator_golden ${op}_golden() { return data; }

}  // namespace warpcheck::golden
