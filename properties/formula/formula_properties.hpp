// The properties of a formula, as they follow from it.
#pragma once

#include <string>
#include <vector>

#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/trial.hpp"
#include "properties/formula/formula_description.hpp"

namespace warpcheck::formula_trial {

// Why a property is not asked of a formula.
struct unasked_property {
  std::string name, why;
};

struct formula_trial_plan {
  std::vector<engine::property> properties;
  std::vector<unasked_property> unasked;
};
formula_trial_plan plan_of(const shared_formula& f);

// Makes the formula an operator of this process and those forked from it. It may be registered already; usage_error if
// another formula has its name.
void register_formula(const named_formula& f);
// The formula of an operator; null if the operator is none.
shared_formula formula_of(std::string_view op);

// The elements of an output that are judged: all, or ends, neighbours of powers of two and a random choice.
// `operations`: of all outputs.
std::vector<int64_t> judged_elements(int64_t elements, double operations);
// Judges these elements of every output by the reference. Of a case in which all are accepted, the report gets the
// least numbers of the contract that admit them.
void judge_outputs(engine::trial& t, const engine::run_result& r, const named_formula& f);

}  // namespace warpcheck::formula_trial
