// Exact model and error bounds of gradient histograms. Derivation: docs/numerics.md.
//
//   fixed64    the integers themselves: q = rint(x 2^e), sums of q, times 2^-e; equality of every bit. Against the sum
//              S of m rows: m 2^(-e-1).
//   quantised  sums of integers; equality.
//   float32    (gamma_min(m,16384)(2^-24) + gamma_m(2^-53)) A, A = Sum abs(x_i); float64 gamma_m(2^-53) A.
//   fix        gamma_48(2^-53) (abs(leaf) + Sum abs(slot)).
//
// Rows that are not finite: NaN in fixed64. In the float modes NaN and both infinities are correct, and no finite value
// is.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/numerics/compare.hpp"
#include "reference/numerics/exact_sum.hpp"

namespace warpcheck::reference {

// Row `row` adds to slot `slot`.
struct histogram_update {
  int64_t slot;
  int64_t row;
};

// e = 53 - ceil(log2(max(1, max_rows))) - (ilogb(M) + 1), M the largest finite abs(x_i); 0 if all are zeros.
int fixed_exponent(std::span<const double> x, int64_t max_rows);
// rint(x 2^e), half to even. x is finite and abs(x 2^e) below 2^63.
int64_t on_grid(double x, int e);

// The slots' values in order; NaN if a row is not finite. Every sum is at most 2^53 in magnitude.
std::vector<double> fixed_histogram(std::span<const histogram_update> updates, std::span<const double> x,
                                    int64_t total_bins, int e);
std::vector<int64_t> integer_histogram(std::span<const histogram_update> updates, std::span<const int64_t> x,
                                       int64_t total_bins);

// A sum in f64 arithmetic of a kernel is compared with the terms summed without error, so verdicts compare integers.
class judged_sum {
 public:
  void add(double x);  // counts values that are not finite
  void subtract(double x) { add(-x); }

  // A sum of `count` terms in f32 tiles that are added in f64; beyond FLT_MAX a tile may overflow.
  judgement judge_float32(double actual) const;
  judgement judge_float64(double actual) const;
  judgement judge_fix(double actual) const;
  // A sum on the grid 2^-e of terms that are not on it: the error is at most half a unit for each.
  judgement judge_fixed64(double actual, int e) const;

  double expected() const;
  std::string expected_text() const;
  int64_t count() const { return count_; }

 private:
  using integer = exact_sum::integer;
  // The error may be `weight / scale` times the sum of the terms' sizes.
  judgement judge(double actual, const integer& weight, const integer& scale, bool may_overflow) const;
  judgement judge_within(double actual, const integer& allowed, const integer& scale) const;

  exact_sum sum_, sizes_;
  int64_t count_ = 0;
  int64_t nonfinite_ = 0;
};

}  // namespace warpcheck::reference
