// Exact model and error bound of logsumexp, y = ln sum_k e^(x_k). Derivation: docs/numerics.md.
//
//   y = m + ln s
//   B = E_L (1 + u) + u abs(y)        absolute: relative errors mean nothing near y = 0
//
// Special rows: NaN gives NaN, else +Inf gives +Inf, nothing but -Inf (or nothing) gives -Inf, a single finite element
// x gives x exactly.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reference/numerics/bound_term.hpp"
#include "reference/numerics/compare.hpp"
#include "reference/numerics/exp_row.hpp"
#include "reference/numerics/model_step.hpp"

namespace warpcheck::reference {

// One row, one value. x as in softmax.hpp; output: the type of y, that of x or f32.
class logsumexp_row {
 public:
  logsumexp_row(std::span<const double> x, dtype output, precision policy = precision::adaptive);

  judgement judge(double actual) const;
  double expected() const;
  double bound() const;
  std::vector<bound_term> bound_terms() const;  // none if only one value passes
  std::vector<model_step> steps() const;        // of a row with a bound
  // The index is ignored: a row has one value.
  template <class Real>
  bounded_value<Real> evaluate(int64_t index = 0) const;
  std::string expected_text() const;
  std::optional<double> contract_value() const;

 private:
  exp_row row_;
  dtype output_;
  precision policy_;
};

}  // namespace warpcheck::reference
