// `warpcheck mutants FILE.op`: tests the trial of a formula. Each mutated formula, run by the interpreter, must fail
// it.
#pragma once

#include "command/mutants/mutants.hpp"

namespace warpcheck::cli {

// Returns 0 if every mutant is killed, except those with the formula's exact values in every case; otherwise 1.
int formula_mutants(const mutants_options& o);

}  // namespace warpcheck::cli
