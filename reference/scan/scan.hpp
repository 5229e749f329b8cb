// Exact model and error bound of the prefix sums of a row. Derivation: docs/numerics.md.
//
//   B_i = gamma_h Sum abs(x_j) over the k terms of prefix i, h = min(k - 1, 48), u that of the type (f32: 2^-24,
//   f64: 2^-53); exact for k <= 1; additions of subnormals are exact.
//
// Specials are causal: after a NaN or both infinities NaN, after one infinity that one. Where a partial sum may
// overflow, an infinity or NaN is right too (see judge). Integers wrap modulo 2^64.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reference/numerics/bound_term.hpp"
#include "reference/numerics/compare.hpp"
#include "reference/numerics/exact_sum.hpp"
#include "reference/numerics/model_step.hpp"

namespace warpcheck::reference {

enum class prefix : uint8_t { inclusive, exclusive };

// One row; `x` must outlive the model.
class scan_row {
 public:
  // x: values of `type`, f32 or f64. y has the same type.
  scan_row(prefix kind, std::span<const double> x, dtype type);

  // The verdict on y[i]. Besides values within B_i, +Inf passes where the positive terms alone may overflow,
  // (1 + gamma_h) Sum of x_j > 0 >= 2^(emax + 1), -Inf likewise, NaN where both may (or one of them meets the opposite
  // infinity among the terms). In double arithmetic where that decides, else exactly: judgement::digits is 0.
  judgement judge(int64_t i, double actual) const;
  // The same by integers of any size, at the cost of adding up the prefix.
  judgement judge_exactly(int64_t i, double actual) const;

  // The value that the contract fixes, up to the sign of a zero: k <= 1, only zeros, specials.
  std::optional<double> contract_value(int64_t i) const;
  double expected(int64_t i) const;                      // within 1e-12 of Sum abs(x_j)
  std::vector<bound_term> bound_terms(int64_t i) const;  // none where only one value passes
  double bound(int64_t i) const;                         // rounded up; 0 if contract_value has the value
  // The kernel gave the row `actual`, which may be empty.
  std::vector<model_step> steps(int64_t i, std::span<const double> actual) const;
  std::string expected_text(int64_t i) const;

 private:
  struct exact_parts;
  exact_parts exactly(int64_t terms) const;
  int64_t terms_of(int64_t i) const { return kind_ == prefix::inclusive ? i + 1 : i; }
  std::optional<judgement> judge_special(int64_t i, double actual) const;
  // True if the prefix, scaled, is so small that products of it may lose digits.
  bool is_tiny(int64_t i) const { return absolute_[static_cast<size_t>(terms_of(i))] < 0x1p-700; }
  // The number of terms, if it is at most n, from which on those of the sign may overflow.
  int64_t overflow_from(bool positive) const;

  prefix kind_;
  std::span<const double> x_;
  dtype type_;
  int64_t nan_from_, plus_from_, minus_from_, nonzero_from_;  // terms that reach the first of the kind
  int64_t overflow_plus_from_, overflow_minus_from_;          // terms from which on a sum may overflow
  double scale_;                                              // a power of two; what follows is scaled by it
  std::vector<double> sum_, rest_, absolute_;  // of the first k finite terms: Sum x_j in two parts, Sum abs(x_j)
};

// Prefix sums modulo 2^64.
inline std::vector<uint64_t> scan_integers(prefix kind, std::span<const uint64_t> x) {
  std::vector<uint64_t> y(x.size());
  uint64_t sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    y[i] = kind == prefix::inclusive ? sum + x[i] : sum;
    sum += x[i];
  }
  return y;
}

}  // namespace warpcheck::reference
