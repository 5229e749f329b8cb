// The built-in candidate of a formula: an interpreter that does what the formula says, each operation rounded to f32.
#pragma once

#include "properties/formula/formula_description.hpp"

namespace warpcheck::cli {

// Lets "builtin" stand for the interpreter of a registered formula on device cpu.
void name_interpreter(const formula_trial::shared_formula& f);

}  // namespace warpcheck::cli
