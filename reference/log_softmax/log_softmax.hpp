// Exact model and error bound of log_softmax, z_i = x_i - ln sum_k e^(x_k). Derivation: docs/numerics.md.
//
//   z_i = -d_i - ln s
//   B_i = (u d_i + E_L)(1 + u) + u abs(z_i)
//
// 16-bit outputs add the rounding of the output (numerics/compare.hpp). Interface and special rows as in softmax.hpp,
// except that an element -Inf beside finite ones is exactly -Inf, and a single finite element exactly +0.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reference/numerics/bound_term.hpp"
#include "reference/numerics/compare.hpp"
#include "reference/numerics/exp_row.hpp"
#include "reference/numerics/model_step.hpp"

namespace warpcheck::reference {

class log_softmax_row {
 public:
  log_softmax_row(std::span<const double> x, dtype output, precision policy = precision::adaptive);

  int64_t size() const { return static_cast<int64_t>(row_.x().size()); }
  int64_t argmax() const { return row_.argmax(); }
  judgement judge(int64_t i, double actual) const;
  double expected(int64_t i) const;
  double bound(int64_t i) const;
  std::vector<bound_term> bound_terms(int64_t i) const;  // none if only one value passes
  std::vector<model_step> steps(int64_t i) const;        // of an element with a bound
  template <class Real>
  bounded_value<Real> evaluate(int64_t i) const;
  std::string expected_text(int64_t i) const;

  // The value that the contract fixes for special rows and elements; nothing for others.
  std::optional<double> contract_value(int64_t i) const;

 private:
  exp_row row_;
  dtype output_;
  precision policy_;
};

}  // namespace warpcheck::reference
