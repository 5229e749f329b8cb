// Commands that read formulas (formula_arguments.hpp) and print formulas.
#pragma once

#include <string>

namespace warpcheck::cli {

// Prints the operators in their canonical form.
int format_formulas(const std::string& argument);
// Prints the backward operator of each as a formula. Throws usage_error if an expression has no rule.
int print_gradients(const std::string& argument);

}  // namespace warpcheck::cli
