// Operators that a command is given as a formula: `FILE.op`, `FILE.op:NAME`, a name of the library of formulas, or
// `gradient:` before any of these.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command/commands.hpp"
#include "properties/formula/formula_description.hpp"

namespace warpcheck::cli {

// True if an argument names a formula, and no operator of this build.
bool is_formula_argument(std::string_view argument);
// The operators of `FILE.op`, or the one of `FILE.op:NAME`. A FILE that is not there is looked for in the library: as
// one of its files, then as an operator of one of them. usage_error: no such file or operator, or the text is no
// formula. `gradient:` before it: their backward operators, whose names end with `_gradient`; usage_error where an
// expression has no rule.
std::vector<formula_trial::named_formula> formulas_of(const std::string& argument);

// usage_error unless the argument names one operator.
void require_one_operator(const std::string& argument, size_t operators);

// Registers the formulas among the arguments, each with its interpreter as built-in candidate, and returns the names of
// operators instead: "rms_norm.op".
std::vector<std::string> use_formulas(const std::vector<std::string>& arguments);
// The same for the formula that a case line names in its knob; nothing where it names none. usage_error if the text of
// the formula is another one than that of the line.
void use_formula_of_line(std::string_view line);
// The same for `verify` and `fuzz`. A formula without a candidate runs on device cpu, where its interpreter is.
void use_formulas(verify_options& o, bool has_candidate);

}  // namespace warpcheck::cli
