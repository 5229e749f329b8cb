// Shared parts of softmax, log_softmax and logsumexp: the maximum of a row, the sum of its exponentials, and the error
// that a kernel's f32 sum may have. Symbols as in docs/numerics.md:
//
//   m = max x_i      d_i = m - x_i      a = lowest index of m
//   r = sum over i != a of e^(-d_i)     s = 1 + r
//
// Elements that are -Inf drop out of every sum.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "reference/numerics/enclosure.hpp"

namespace warpcheck::reference {

// The unit roundoff and smallest subnormal of the arithmetic inside the kernels, f32.
inline constexpr double k_unit = 0x1p-24;
inline constexpr double k_eta = 0x1p-149;
// Relative errors of expf, and of logf and log1pf: 2 and 1 ulp against the correctly rounded result (CUDA C Programming
// Guide, table of mathematical functions), so 2.5 and 1.5 ulp, one ulp being at most 2 u.
inline constexpr double k_exp_error = 5 * k_unit;
inline constexpr double k_log_error = 3 * k_unit;
// e^-104 < eta / 2: the eta terms of the bound cover smaller exponentials as an absolute error.
inline constexpr double k_exp_range = 104;
// Beyond this d the reference encloses e^-d as 0 +- k_far_value: a double near 1e-304 keeps its relative accuracy, one
// far below would not. k_far_value > e^-700 (1 + 4 ulp).
inline constexpr double k_far_gap = 700;
inline constexpr double k_far_value = 1e-303;

// The allowances of a kernel for a row of n elements: the longest chain of additions h, the number q of times that one
// term is rescaled, and the slack T by which a lazily raised reference may lag behind the running maximum.
struct row_allowance {
  int64_t chain = 0;
  int rescales = 2;
  int slack = 0;
};

// h(n) = min(n - 1, 32 + 2 ceil(log2 n) + ceil(n / 2^14)), at least 0; or what the candidate states (stated_sums.hpp).
int64_t chain_length(int64_t n);
row_allowance softmax_allowance(int64_t n);    // q = 2 up to n = 2^22, then q = 16, T = 8; log_softmax has the same
row_allowance logsumexp_allowance(int64_t n);  // q = 2 up to n = 1024, then q = 16, T = 8

enum class row_kind : uint8_t {
  empty,
  has_nan,
  has_infinity,    // +Inf, no NaN
  minus_infinity,  // nothing but -Inf
  finite           // some finite values, the rest -Inf
};

// The sum of a row, and the relative errors that a kernel's f32 sums may have within the row's allowances.
template <class Real>
struct exp_sum {
  basic_enclosure<Real> tail;       // r
  basic_enclosure<Real> sum_error;  // Delta_s / s
  basic_enclosure<Real> log_sum;    // ln s
  basic_enclosure<Real> log_error;  // E_L: of log1pf(r^) or, if stated, logf(s^) against ln s
};

// The model of one row. Keeps a reference to x. The sums with 50 and 100 digits are computed at their first use, over
// the terms that matter; not safe for concurrent use.
class exp_row {
 public:
  exp_row(std::span<const double> x, const row_allowance& allowance);
  ~exp_row();
  exp_row(exp_row&&) noexcept;
  exp_row& operator=(exp_row&&) noexcept;

  std::span<const double> x() const { return x_; }
  row_kind kind() const { return kind_; }
  int64_t argmax() const { return argmax_; }  // first NaN, else first maximum; -1 if empty
  double max() const { return max_; }         // m of a finite row
  int64_t finite_count() const { return finite_; }
  int64_t max_count() const { return ties_; }  // elements equal to m

  // For finite rows only: d_i and e^(-d_i) for a finite x_i, and the sum. Real is double, mp50 or mp100.
  template <class Real>
  basic_enclosure<Real> gap(int64_t i) const;
  template <class Real>
  basic_enclosure<Real> exponential(int64_t i) const;
  template <class Real>
  const exp_sum<Real>& sum() const;

 private:
  template <class Real>
  struct moments;
  struct slow_sums;

  moments<double> moments_in_double() const;
  template <class Real>
  moments<Real> moments_in_digits(double cut, int taylor_terms) const;
  template <class Real>
  exp_sum<Real> with_errors(const moments<Real>& row) const;

  std::span<const double> x_;
  row_allowance allowance_;
  row_kind kind_ = row_kind::empty;
  int64_t argmax_ = -1;
  double max_ = -std::numeric_limits<double>::infinity();
  double second_gap_ = std::numeric_limits<double>::infinity();  // the least d_i over i != a
  int64_t finite_ = 0;
  int64_t ties_ = 0;
  exp_sum<double> fast_;
  mutable std::unique_ptr<slow_sums> slow_;
};

// tau_i(2, 0) for the gap d_i: the relative error of one exponential, argument rounding and two rescales included.
template <class Real>
basic_enclosure<Real> exponential_error(const basic_enclosure<Real>& gap);

}  // namespace warpcheck::reference
