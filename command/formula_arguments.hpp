// Formula operators as arguments of a command: `FILE.op`, `FILE.op:NAME`, a name in the library of formulas, or
// `gradient:` before any of these.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command/commands.hpp"
#include "properties/formula/formula_description.hpp"

namespace warpcheck::cli {

// True if an argument names a formula and not an operator of this build.
bool is_formula_argument(std::string_view argument);
// Returns the operators of `FILE.op`, or the one of `FILE.op:NAME`. A FILE that does not exist is looked up in the
// library, first as a file, then as an operator. Throws usage_error: no such file or operator, or the text is not a
// valid formula. With `gradient:` before it returns the backward operators, whose names end with `_gradient`; throws
// usage_error if an expression has no rule.
std::vector<formula_trial::named_formula> formulas_of(const std::string& argument);

// Throws usage_error unless the argument names one operator.
void require_one_operator(const std::string& argument, size_t operators);

// Registers the formulas among the arguments, each with its interpreter as the built-in candidate, and replaces them in
// the result by the names of their operators: "rms_norm.op".
std::vector<std::string> use_formulas(const std::vector<std::string>& arguments);
// The same for the formula that a case line names in its knob; does nothing if it names none. Throws usage_error if the
// formula's text differs from that of the line.
void use_formula_of_line(std::string_view line);
// The same for `verify` and `fuzz`. A formula without a candidate runs on device cpu, like its interpreter.
void use_formulas(verify_options& o, bool has_candidate);

}  // namespace warpcheck::cli
