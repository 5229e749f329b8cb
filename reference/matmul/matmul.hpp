// Exact model and error bound of one element of C = alpha A B + beta C with bias and sigmoid. Derivation:
// docs/numerics.md, "matmul".
//
//   v = alpha Sum_l a_l b_l + beta c + bias            G = abs(alpha) Sum abs(a_l b_l), H = abs(beta c), J = abs(bias)
//   B = [(1+E)(1+u)^r - 1] G + [(1+u)^q - 1] H + [(1+u)^j - 1] J + (1+u)^r N        E, N: dot_bound.hpp
//
// r, q and j are the numbers of roundings between the sum, beta c and bias, and v: at most 3, 2 and 1; q may be 3 for
// kernels without our plan, which may round beta c. With a sigmoid the bound is that of the operator sigmoid, with the
// error of its argument. In f32 without tensor cores v is known bit for bit.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "reference/numerics/compare.hpp"
#include "reference/numerics/dot_bound.hpp"

namespace warpcheck::reference {

struct matmul_setting {
  dot_arithmetic arithmetic = dot_arithmetic::ieee;
  dtype output = dtype::f32;
  dot_slices slices;
  int64_t promotion = k_promotion;  // of all but ieee
  bool halves = false;              // adds_in_halves() of the machine
  double alpha = 1, beta = 0;       // f32 values
  bool has_bias = false;
  bool sigmoid = false;
  double mu = 0, sigma = 1;  // f32 values
};

// The operands of an element, each a value of its type: a row of op(A), a column of op(B), C before the call (unused if
// beta is 0), the bias of the column (unused if there is none).
struct matmul_operands {
  std::span<const double> a, b;
  double c = 0;
  double bias = 0;
};

// One element of C. Stores references to the data of both arguments.
class matmul_element {
 public:
  // Throws std::invalid_argument if a and b have different lengths.
  matmul_element(const matmul_setting& setting, const matmul_operands& operands);

  // Accepts values within the bound, and the contract's value if it fixes one. If an intermediate result may overflow,
  // it also accepts infinities and NaN, or the sigmoid of them.
  judgement judge(double actual, precision policy = precision::adaptive) const;

  double expected() const;  // to the nearest double, or the value that the contract fixes
  double bound() const;     // rounded up; 0 if only one value passes
  std::string expected_text() const;

  // The NaN or infinity that follows from the products and scalars before any rounding, with the sigmoid applied.
  std::optional<double> contract_value() const { return fixed_; }
  bool may_overflow() const { return may_overflow_; }

  // Real: double, mp50, mp100. The index is not used.
  template <class Real>
  bounded_value<Real> evaluate(int64_t index) const;

 private:
  template <class Real>
  struct sums;
  template <class Real>
  sums<Real> sum() const;
  template <class Real>
  bounded_value<Real> linear() const;  // v
  void classify();
  std::optional<double> sign_of_sum() const;
  std::optional<double> beside_mu() const;

  matmul_setting setting_;
  matmul_operands operands_;  // a and b are empty if they are not read
  dot_chains chains_;
  std::optional<double> fixed_;
  bool may_overflow_ = false;
};

// v of arithmetic ieee, bit for bit, without the sigmoid: a chain of FMAs for each slice, from +0 and in ascending
// order, then the slices in ascending order, then alpha P, fma(beta, c, .) unless beta is 0, and + bias. In another
// arithmetic what a kernel gets that multiplies in f32: a slice is the sum from +0 of a chain for each `promotion`
// products, which in 16-bit types is the sum from +0 of a chain for each k_16_bit_chain. The payload of a NaN is
// unspecified. Any scalars are allowed.
inline constexpr int64_t k_16_bit_chain = 8;
float chained_value(const matmul_setting& setting, const matmul_operands& operands);

}  // namespace warpcheck::reference
