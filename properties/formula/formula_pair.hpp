// A gradient kernel beside the kernel whose gradient it computes.
#pragma once

#include <string>
#include <utility>

#include "properties/engine/cases/case.hpp"
#include "properties/formula/formula_description.hpp"

namespace warpcheck::formula_trial {

// Registers the property adjoint-identity of a gradient, which formula::gradient made of `primal`, unless an output is
// whole or of 8 bits, or has no adjoint. Both formulas are registered. The forward kernel is of the same candidate, or
// one that name_forward() has named.
void register_pair(const shared_formula& gradient, const shared_formula& primal);
// The operator that a gradient is the gradient of. usage_error if the operator is no gradient, or has no pair.
std::string primal_of(const std::string& gradient_op);
// The forward kernel of all cases that are generated from now on, a candidate's name.
void name_forward(const std::string& gradient_op, const std::string& candidate);
// The operator and candidate of a case's forward kernel, if the case names one; else "".
std::pair<std::string, std::string> forward_of(const engine::trial_case& c);

}  // namespace warpcheck::formula_trial
