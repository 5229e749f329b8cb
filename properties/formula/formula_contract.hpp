// The contract and the cases of a formula, in words.
#pragma once

#include <vector>

#include "properties/engine/trials/explanation.hpp"
#include "properties/formula/formula_description.hpp"

namespace warpcheck::formula_trial {

// The contract of a registered formula: its exact value and bound, the arithmetic that a kernel may use, what an
// element depends on, the cases that are drawn, the properties that follow, and why others do not.
std::vector<engine::explanation_section> contract_in_words(const shared_formula& f);

}  // namespace warpcheck::formula_trial
