// The backward operator of a formula, as a formula.
#pragma once

#include <set>
#include <string>

#include "reference/formula/tree.hpp"

namespace warpcheck::formula {

// Returns the operator that computes the gradient of `op` by reverse-mode differentiation (Griewank and Walther,
// Evaluating Derivatives, 2008, section 3.2). Its inputs are those of `op` and `d_y` for each output y; its outputs are
// `d_x` for each floating-point input x.
//
// At a kink the result is one subgradient: if a and b are equal, that of max(a, b) and min(a, b) goes to a; the
// elements that attain a maximum share it evenly (as in torch.amax); relu and abs have 0 at 0. floor, round,
// comparisons, argmax and argmin have derivative 0, and a rounding (`as type`) has 1.
//
// Throws formula_error if an expression has no rule, or if the result is too large.
formula_operator gradient(const formula_operator& op);

// Returns the definitions whose value changes no output, such as the maximum that a softmax subtracts: each is a
// maximum or minimum t, and adding any number to an element of t leaves every output unchanged. Their adjoint is 0.
std::set<std::string> definitions_without_influence(const formula_operator& op);

}  // namespace warpcheck::formula
