// The built-in candidate of a formula: an interpreter of the formula, with each operation rounded to f32.
#pragma once

#include <string>

#include "properties/formula/formula_description.hpp"

namespace warpcheck::cli {

// Makes "builtin" an alias of the interpreter of a registered formula on device cpu.
void name_interpreter(const formula_trial::shared_formula& f);
// Makes `name` an interpreter that accepts calls of `f` and returns the results of a changed formula.
void name_changed_interpreter(const formula_trial::shared_formula& f, const formula::formula_operator& changed,
                              const std::string& name);

}  // namespace warpcheck::cli
