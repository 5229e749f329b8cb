// `warpcheck mutants FILE.op`: how good is the trial of a formula? Each mutated formula, run by the interpreter, has to
// fail it.
#pragma once

#include "command/mutants/mutants.hpp"

namespace warpcheck::cli {

// Exit code 0 where every mutant is killed, but for those that have the formula's exact values in every case; else 1.
int formula_mutants(const mutants_options& o);

}  // namespace warpcheck::cli
