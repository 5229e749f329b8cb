// A case of a formula in words: the named steps of one element, the parts of its bound, and the one change of the
// formula that explains wrong results.
#pragma once

#include "properties/engine/trials/explanation.hpp"
#include "properties/formula/formula_description.hpp"

namespace warpcheck::formula_trial {

// Explains the report's worst element, or the first one of the first output.
engine::explained_call explain_formula(const named_formula& f, const engine::observed_call& call);

}  // namespace warpcheck::formula_trial
