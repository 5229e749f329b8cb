// Text to formulas.
#pragma once

#include <string_view>
#include <vector>

#include "reference/formula/tree.hpp"

namespace warpcheck::formula {

// The operators of a file, checked. formula_error names `file`, line and column, and what was expected there.
std::vector<formula_operator> parse_file(std::string_view text, std::string_view file = "formula");
// One expression, whose names are not checked.
expr parse_expression(std::string_view text);
// Finds the extents of all definitions, and throws formula_error where a name is unknown, an index has no extent, a
// definition uses what comes later, and where the operator is larger than the limits. parse_file() has done it.
void check(formula_operator& op, std::string_view file = "formula");

}  // namespace warpcheck::formula
