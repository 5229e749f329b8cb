// Exact model and error bound of sigmoid, y = 1 / (1 + e^-z), z = (x - mu) sigma. Derivation: docs/numerics.md.
//
//   t = (1 + eps_e) e^(gamma_2 min(abs(z), 104)) - 1
//   B = y [(1 + u)/(1 - u) (1 + (1 - y) t/(1 - t)) - 1] + 4 eta
//
// 16-bit outputs add the rounding of the output (numerics/compare.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reference/numerics/bound_term.hpp"
#include "reference/numerics/compare.hpp"
#include "reference/numerics/model_step.hpp"

namespace warpcheck::reference {

class sigmoid_model {
 public:
  // mu and sigma: f32 values. output: the type of x and y.
  sigmoid_model(double mu, double sigma, dtype output, precision policy = precision::adaptive)
      : mu_(mu), sigma_(sigma), output_(output), policy_(policy) {}

  // Verdict on y(x) = actual; x a value of the kernel's type.
  judgement judge(double x, double actual) const;
  double expected(double x) const;
  double bound(double x) const;
  std::vector<bound_term> bound_terms(double x) const;  // none where only one value passes
  // Of an element with a bound; the kernel gave `actual`.
  std::vector<model_step> steps(double x, double actual) const;
  std::string expected_text(double x) const;

  // The value that the contract fixes: NaN for NaN, Inf * 0 and Inf - Inf, 1 and +0 for z = +-Inf (x - mu counts as
  // infinite if it overflows f32), 0.5 for x = mu and for sigma = 0.
  std::optional<double> contract_value(double x) const;

  template <class Real>
  bounded_value<Real> evaluate(double x) const;

 private:
  double mu_, sigma_;
  dtype output_;
  precision policy_;
};

}  // namespace warpcheck::reference
