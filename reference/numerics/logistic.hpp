// 1 / (1 + e^-z) and the bound of a kernel's, whose argument of exp is off by at most `argument_error`: shared by
// sigmoid and by matmul's epilogue. Derivation: docs/numerics.md, "sigmoid".
#pragma once

#include "reference/numerics/compare.hpp"
#include "reference/numerics/exp_row.hpp"
#include "reference/numerics/stated_sums.hpp"

namespace warpcheck::reference {

// True if a candidate that states so may compute exp(-z) as infinity, and the logistic function as 0. 128 ln 2 exceeds
// the constant by 3.9e-5, and expf errs by 5u; u = 2^-24.
template <class Real>
bool may_overflow(const basic_enclosure<Real>& z, const basic_enclosure<Real>& argument_error) {
  constexpr double k_overflowing = 88.7228;
  return stated_sums::now().exp_overflows && z.value < 0 && abs(z).value + argument_error.value >= k_overflowing;
}

template <class Real>
bounded_value<Real> logistic(const basic_enclosure<Real>& z, const basic_enclosure<Real>& argument_error) {
  using number = basic_enclosure<Real>;
  const number size = abs(z);
  const number e = size.value > k_far_gap ? number(Real(0), k_far_value) : exp(-size);
  const number other = e / (1.0 + e), one = 1.0 / (1.0 + e);  // the smaller and the larger of y and 1 - y
  const bool positive = z.value >= 0;
  const number& y = positive ? one : other;
  const number& rest = positive ? other : one;
  const number t = k_exp_error + (1 + k_exp_error) * expm1(argument_error);
  const number quotient = number(2 * k_unit) / number(1 - k_unit);  // (1 + u)/(1 - u) - 1
  const number spread = rest * t / (1.0 - t);
  const number bound = y * (quotient + spread + quotient * spread) + 4 * k_eta;
  return {y, may_overflow(z, argument_error) ? bound + y : bound};
}

// gamma_2 min(abs(z), 104): the part of the argument's error that the sigmoid itself makes.
template <class Real>
basic_enclosure<Real> logistic_argument_error(const basic_enclosure<Real>& z) {
  using number = basic_enclosure<Real>;
  const number size = abs(z);
  const number gamma = number(2 * k_unit) / number(1 - 2 * k_unit);
  const number capped = size.value < k_exp_range ? size : number(k_exp_range);
  return gamma * capped;
}

}  // namespace warpcheck::reference
