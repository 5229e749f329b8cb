// Text to formulas.
#pragma once

#include <string_view>
#include <vector>

#include "reference/formula/tree.hpp"

namespace warpcheck::formula {

// Returns the operators of a file, checked. Throws formula_error with `file`, line, column and what was expected there.
std::vector<formula_operator> parse_file(std::string_view text, std::string_view file = "formula");
// Parses one expression without checking its names.
expr parse_expression(std::string_view text);
// Finds the extents of all definitions. Throws formula_error if a name is unknown, an index has no extent, a definition
// uses a later one, or the operator is larger than the limits. parse_file() calls it.
void check(formula_operator& op, std::string_view file = "formula");

}  // namespace warpcheck::formula
