// Replaces definitions that need no name; only for the sources of gradient.hpp.
#pragma once

#include <vector>

#include "reference/formula/tree.hpp"

namespace warpcheck::formula::derivation {

// Replaces by their values the definitions that only rename a value, and those that are used once, if this repeats no
// work. Outputs of `op` stay.
void inline_definitions(const formula_operator& op, std::vector<definition>& definitions);

}  // namespace warpcheck::formula::derivation
