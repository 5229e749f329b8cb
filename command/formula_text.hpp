// Commands that read a formula and print one.
#pragma once

#include <string>
#include <vector>

#include "reference/formula/tree.hpp"

namespace warpcheck::cli {

// The operators of `FILE.op`, or the one of `FILE.op:NAME`. environment_error: the file cannot be read; usage_error: it
// is no formula, or has no operator NAME.
std::vector<formula::formula_operator> formulas_in(const std::string& argument);

// Prints the operators in their canonical form.
int format_formulas(const std::string& argument);
// Prints the backward operator of each as a formula. usage_error where an expression has no rule.
int print_gradients(const std::string& argument);

}  // namespace warpcheck::cli
