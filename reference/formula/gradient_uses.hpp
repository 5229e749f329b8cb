// Places where the values of a formula are read, with the terms of their adjoints; only for the sources of
// gradient.hpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reference/formula/tree.hpp"

namespace warpcheck::formula::derivation {

// One place where a value is read, and its contribution to the adjoint of the element that is read: the sum of
// `adjoint` over the indices `bound` for which all `conditions` hold.
struct use {
  std::vector<expr> subscripts;
  expr adjoint;
  std::vector<binder> bound;
  std::vector<expr> conditions;
};

// Adds a condition, or its parts if all of them must hold.
void add_condition(std::vector<expr>& conditions, const expr& condition);

// Returns the use as seen by the element at the indices `target`: subscripts that are bound indices become indices of
// the target, others fix a bound index or become conditions. The remaining bound indices get names, made by `fresh`,
// that no target index has.
use placed(use from, const std::vector<binder>& target, const std::function<std::string(const std::string&)>& fresh);

// True if subscript i is one bound index alone that runs over the whole extent.
bool is_bound_index(const use& u, size_t i, const expr& extent);

// Removes the conditions that all uses have, and returns them.
std::vector<expr> take_common_conditions(std::vector<use>& uses);

// The sum of placed uses.
expr total_of(const formula_operator& op, std::vector<use> uses);

}  // namespace warpcheck::formula::derivation
