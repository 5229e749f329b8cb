// Exact model and error bound of softmax, y_i = e^(x_i) / sum_k e^(x_k). Derivation: docs/numerics.md.
//
//   g_i = e^(-d_i) / s
//   B_i = g_i [(1 + tau_i(2,0)) (1 + u) / (1 - D) - 1] + 4 eta / (1 - D)^2,    D = Delta_s / s
//
// 16-bit outputs add the rounding of the output (numerics/compare.hpp).
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

class softmax_row {
 public:
  // x: the row's inputs as rounded to the kernel's type, exactly as doubles (f32, f16 or bf16 values); kept by
  // reference. output: the type of y, f32, f16 or bf16. Not safe for concurrent use.
  softmax_row(std::span<const double> x, dtype output, precision policy = precision::adaptive);

  int64_t size() const { return static_cast<int64_t>(row_.x().size()); }

  // The first NaN, else the first maximum; -1 if the row is empty.
  int64_t argmax() const { return row_.argmax(); }

  // Verdict on y_i = actual (the output value as a double). 0 <= i < size().
  judgement judge(int64_t i, double actual) const;

  // The exact value to the nearest double or almost (relatively 1e-12); NaN in a row of NaN.
  double expected(int64_t i) const;

  // The bound on abs(y_i - exact), output rounding included, rounded up. 0 where only one value passes.
  double bound(int64_t i) const;
  double sum_of_bounds() const;
  std::vector<bound_term> bound_terms(int64_t i) const;  // none where only one value passes
  std::vector<model_step> steps(int64_t i) const;        // of an element with a bound

  // Enclosures of the exact value and of B (without the rounding to a 16-bit output). Real is double, mp50 or mp100;
  // only for elements that `judge` decides by the bound.
  template <class Real>
  bounded_value<Real> evaluate(int64_t i) const;

  // The exact value with 20 significant digits (sums the whole row with 50 digits: about 4 us per element).
  std::string expected_text(int64_t i) const;

  // The output bits that the contract fixes, as a value: rows with NaN or +Inf or nothing but -Inf (NaN), elements -Inf
  // (+0), a single finite element (1), and k <= 2^24 equal maxima beside nothing but -Inf (1/k rounded to f32, then to
  // the output). `judge` demands the first three; ties it judges by the bound.
  std::optional<double> contract_value(int64_t i) const;

 private:
  std::optional<double> fixed(int64_t i) const;

  exp_row row_;
  dtype output_;
  precision policy_;
};

}  // namespace warpcheck::reference
