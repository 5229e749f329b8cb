// Formulas to text: the canonical form, which parses to the same trees.
#pragma once

#include <string>

#include "reference/formula/tree.hpp"

namespace warpcheck::formula {

std::string to_text(const expr& e);
std::string to_text(const formula_operator& op);  // several lines, the last one with its newline
// The shortest decimal number that reads back as x.
std::string to_text(double x);

}  // namespace warpcheck::formula
