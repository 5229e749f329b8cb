// Exact model and error bound of the row reductions. Derivation: docs/numerics.md.
//
//   sum        B = gamma_h Sum abs(x_i), h = h(n), u that of the type (f32: 2^-24, f64: 2^-53); additions of subnormals
//              are exact. Where a running sum may overflow, an infinity or NaN is right too (see judge).
//   min, max   exact to the bit, -0 < +0.
//
// NaN in the row gives NaN. Empty rows: sum +0, min +Inf, max -Inf.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reference/numerics/bound_term.hpp"
#include "reference/numerics/compare.hpp"
#include "reference/numerics/model_step.hpp"

namespace warpcheck::reference {

enum class reduction : uint8_t { sum, min, max };

// One row, one value. The sum is formed without error, so its verdicts need no enclosures: judgement::digits is 0.
class reduce_row {
 public:
  // x: values of `type`, f32 or f64; only read here. y has the same type.
  reduce_row(reduction op, std::span<const double> x, dtype type);

  // Sum: besides values within B, +Inf passes where the positive terms alone may overflow,
  // (1 + gamma_h) Sum of x_i > 0 >= 2^(emax + 1), -Inf likewise, NaN where both may (or one and the opposite
  // infinity is in the row).
  judgement judge(double actual) const;

  double expected() const { return expected_; }  // RN to double; may be infinite for f64
  std::vector<bound_term> bound_terms() const;   // none where only one value passes
  double bound() const;                          // rounded up; 0 where only one value passes
  std::string expected_text() const;

  // The value that the contract fixes: min, max, special rows, n <= 1, and rows of zeros (+0).
  std::optional<double> contract_value() const { return fixed_; }

 private:
  void sum_up(std::span<const double> x);

  dtype type_;
  double expected_ = 0;
  std::optional<double> fixed_;
  bool may_be_plus_ = false, may_be_minus_ = false, may_be_nan_ = false;  // by overflow of a running sum
  struct exact_parts;
  std::shared_ptr<const exact_parts> exact_;  // of a sum that is not fixed
};

// The kernel gave `actual`. A smallest or largest element has a column, that of the value.
std::vector<model_step> reduce_steps(reduction op, std::span<const double> x, dtype type, double actual);

}  // namespace warpcheck::reference
