// The comparator: the only place where an actual value is accepted or rejected.
//
// Policy. Let y be the exact value, B the operator's bound on abs(result - y) before the output is rounded to its type,
// u_o, eta_o and Omega the unit roundoff, smallest subnormal and overflow threshold of the output type.
// - A value is accepted only by a comparison that holds (`error <= bound`); no test is of the form "reject if greater",
//   so NaN never passes where a number is expected, and no state is carried from one element to the next.
// - f32 and f64 outputs: abs(actual - y) <= B. 16-bit outputs are rounded once more:
//   abs(actual - y) <= B + u_o (abs(y) + B) + eta_o / 2.
// - +-Inf where y is finite: accepted only where y +- B reaches the threshold, i.e. Omega - y <= B for +Inf. A y beyond
//   Omega is thereby judged after one correct rounding: Inf passes, the largest finite number only within B.
// - Subnormal values are ordinary values: nothing is flushed, nothing is skipped; operators put the eta terms into B.
// - Where the contract fixes the value (special rows: `judge_fixed`) the bound is 0 and only that value passes: any NaN
//   for NaN, the same infinity, and a zero only with the same sign. Elsewhere the sign of a zero is not judged.
// - The verdict is that of the exact real numbers. y and B come as enclosures; where these cannot decide, both are
//   computed again with 50, then 100 digits.
//   At 100 digits the midpoints decide: the enclosures are then narrower than 1e-80 of B, and a tie within that width
//   is an acceptance.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "reference/numerics/dtype.hpp"
#include "reference/numerics/enclosure.hpp"
#include "reference/numerics/float_value.hpp"

namespace warpcheck::reference {

// The precision of the reference. digits100 serves to prove that escalation changes no verdict.
enum class precision : uint8_t { adaptive, digits50, digits100 };

struct judgement {
  bool accepted = false;
  double error = 0;      // abs(actual - exact); `accepted == (error <= bound)` holds for these doubles too
  double bound = 0;      // the largest error allowed, the rounding to a 16-bit output included
  double error_ulp = 0;  // error in units of the output type's spacing at the exact value
  double expected = 0;   // the exact value to the nearest double (within 1e-12 relatively when digits == 0)
  int digits = 0;        // digits of the deciding arithmetic: 0 double, 50 or 100

  // The error as a fraction of the bound, > 1 exactly for a rejected element; infinite for an error beyond a bound of
  // 0.
  double error_ratio() const {
    if (!(bound > 0)) return accepted ? 0 : std::numeric_limits<double>::infinity();
    return accepted ? error / bound : std::max(1 + std::numeric_limits<double>::epsilon(), error / bound);
  }
};

// The exact value of one element and the bound B, each enclosed.
template <class Real>
struct bounded_value {
  basic_enclosure<Real> exact;
  basic_enclosure<Real> bound;
};

// B, and for a 16-bit output the error of its last rounding.
template <class Real>
basic_enclosure<Real> output_bound(dtype output, const bounded_value<Real>& c) {
  if (!is_float(output) || size_of(output) > 2) return c.bound;
  return c.bound + basic_enclosure<Real>(unit_roundoff(output)) * (abs(c.exact) + c.bound) + min_subnormal(output) / 2;
}

// Decides with the enclosures of `c`, or returns nothing if they are too wide and this is not the `last` attempt.
template <class Real>
std::optional<judgement> settle(dtype output, double actual, const bounded_value<Real>& c, int digits, bool last) {
  judgement j;
  j.digits = digits;
  j.expected = static_cast<double>(c.exact.value);
  const double spacing = ulp(output, j.expected);
  if (std::isnan(actual)) {
    j.error = j.error_ulp = std::numeric_limits<double>::infinity();
    j.bound = output_bound(output, c).upper();
    return j;
  }
  basic_enclosure<Real> error, bound;
  if (std::isinf(actual)) {
    // The least error of an unrounded result that rounds to this infinity.
    error = basic_enclosure<Real>(overflow_threshold(output)) - (actual > 0 ? c.exact : -c.exact);
    if (error.value < 0) error = 0;
    bound = c.bound;
  } else {
    error = abs(c.exact - basic_enclosure<Real>(actual));
    bound = output_bound(output, c);
  }
  const basic_enclosure<Real> margin = bound - error;
  const double center = static_cast<double>(margin.value);
  if (!last && !(std::fabs(center) > margin.radius * k_inflate)) return std::nullopt;
  j.accepted = margin.value >= 0;
  // Converted to doubles that agree with the verdict.
  j.error = static_cast<double>(error.value);
  j.bound = static_cast<double>(bound.value);
  if (j.accepted && !(j.error <= j.bound)) j.bound = j.error;
  if (!j.accepted && j.error <= j.bound) j.error = std::nextafter(j.bound, std::numeric_limits<double>::infinity());
  j.error_ulp = j.error / spacing;
  return j;
}

// Decides element `index` of a model that offers `evaluate<Real>(index)`, a bounded_value, for double and the two types
// of numerics/multiprecision.hpp, which this header does not include: the caller names them.
template <class Digits50, class Digits100, class Model>
judgement decide(dtype output, double actual, precision policy, const Model& model, int64_t index) {
  if (policy == precision::adaptive) {
    const bounded_value<double> c = model.template evaluate<double>(index);
    if (const auto j = settle(output, actual, c, 0, false)) return *j;
  }
  if (policy != precision::digits100) {
    const bounded_value<Digits50> c = model.template evaluate<Digits50>(index);
    if (const auto j = settle(output, actual, c, 50, false)) return *j;
  }
  const bounded_value<Digits100> c = model.template evaluate<Digits100>(index);
  return *settle(output, actual, c, 100, true);
}

// Judges an element whose value the contract fixes. `expected` may be NaN, +-Inf or any value of the output type.
inline judgement judge_fixed(dtype output, double actual, double expected) {
  judgement j;
  j.expected = expected;
  if (std::isnan(expected)) {
    j.accepted = std::isnan(actual);
  } else {
    j.accepted = actual == expected && std::signbit(actual) == std::signbit(expected);
  }
  if (j.accepted) return j;
  const double distance = std::fabs(actual - expected);
  // A wrong class (NaN, infinity) is infinitely far; a wrong sign of zero counts as the smallest step.
  j.error = std::isnan(distance) ? std::numeric_limits<double>::infinity() : std::max(distance, min_subnormal(output));
  j.error_ulp = j.error / ulp(output, std::isnan(expected) ? 1.0 : expected);
  return j;
}

// Totals of comparisons over elements, rows and cases.
struct tally {
  int64_t compared = 0;
  int64_t rejected = 0;
  int64_t needed_50_digits = 0;   // elements that 50 digits decided
  int64_t needed_100_digits = 0;  // elements that 100 digits decided
  double max_error_ulp = 0;
  double sum_error_ulp_squared = 0;
  double max_error_ratio = 0;  // > 1 exactly if an element was rejected
  int64_t worst_index = -1;    // of max_error_ratio, the first one; -1 if nothing was compared

  void add(int64_t index, const judgement& j) {
    ++compared;
    if (!j.accepted) ++rejected;
    if (j.digits == 50) ++needed_50_digits;
    if (j.digits == 100) ++needed_100_digits;
    max_error_ulp = std::max(max_error_ulp, j.error_ulp);
    sum_error_ulp_squared += j.error_ulp * j.error_ulp;
    consider(index, j.error_ratio());
  }

  // `offset` is added to the indices of `other`, so that rows can be tallied apart.
  void merge(const tally& other, int64_t offset = 0) {
    compared += other.compared;
    rejected += other.rejected;
    needed_50_digits += other.needed_50_digits;
    needed_100_digits += other.needed_100_digits;
    max_error_ulp = std::max(max_error_ulp, other.max_error_ulp);
    sum_error_ulp_squared += other.sum_error_ulp_squared;
    if (other.worst_index >= 0) consider(other.worst_index + offset, other.max_error_ratio);
  }

  double rms_error_ulp() const {
    return compared == 0 ? 0 : std::sqrt(sum_error_ulp_squared / static_cast<double>(compared));
  }

 private:
  void consider(int64_t index, double ratio) {
    if (worst_index >= 0 && ratio <= max_error_ratio) return;
    max_error_ratio = ratio;
    worst_index = index;
  }
};

}  // namespace warpcheck::reference
