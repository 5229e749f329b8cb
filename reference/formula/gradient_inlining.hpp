// Definitions that need no name: of use to the sources of gradient.hpp alone.
#pragma once

#include <vector>

#include "reference/formula/tree.hpp"

namespace warpcheck::formula::derivation {

// Replaces by their values the definitions that are another name of one value, and those that are used once, where this
// repeats no work. Outputs of `op` stay.
void inline_definitions(const formula_operator& op, std::vector<definition>& definitions);

}  // namespace warpcheck::formula::derivation
