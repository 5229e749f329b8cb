// Formulas whose outputs are polynomials of their floating-point inputs: sums and products whose conditions and
// subscripts depend on no value of these, such as matrix products and convolutions.
#pragma once

#include <optional>

#include "reference/formula/tree.hpp"

namespace warpcheck::formula {

struct polynomial {
  int degree = 0;  // the largest total degree of an output
  // The operator with the absolute value of each term. Let M be one of its outputs for inputs of ones. For whole inputs
  // of absolute value at most m >= 1, every partial sum and product of the operator's output, expanded or not, is a
  // whole number of absolute value at most M * m^degree.
  formula_operator majorant;
};

// Returns nothing if an output is no polynomial, a coefficient is no whole number (scalars that are not whole have
// their usual value), or a value is stored in a type narrower than f32.
std::optional<polynomial> as_polynomial(const formula_operator& op);

}  // namespace warpcheck::formula
