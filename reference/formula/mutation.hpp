// Mutated formulas: each has one small change, such as an index off by one, a term left out or another function.
#pragma once

#include <string>
#include <vector>

#include "reference/formula/tree.hpp"

namespace warpcheck::formula {

struct formula_mutant {
  std::string change;  // what was changed: "index + 1: y[i] = x[i + 1]"
  formula_operator op;
};

// The mutants of an operator that are valid formulas, in the order of the text; each differs from `op` in one place.
std::vector<formula_mutant> mutants_of(const formula_operator& op);
// The numbers of its expressions but 0, in the order of the text.
std::vector<double> numbers_of(const formula_operator& op);

}  // namespace warpcheck::formula
