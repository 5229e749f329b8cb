// Results of an operation whose operands may be infinite or NaN; only for the sources of bounded.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>

#include "reference/formula/bounded.hpp"

namespace warpcheck::formula {

// A real value of at least this size is beyond every format, with room below double's own range.
inline constexpr double k_beyond = 0x1p1000;

inline bounded special_value(double v) {
  bounded y;
  y.v = v;
  return y;
}

// The possible values of an operand: finite numbers that represent its range, then the specials.
struct candidates {
  std::array<double, 8> at;
  size_t finite = 0, all = 0;

  explicit candidates(const bounded& a) {
    const auto add = [&](double x) { at[all++] = x; };
    if (a.is_beyond()) {
      add(std::copysign(a.r, a.v));
    } else if (!a.is_special()) {
      const double low = std::fmax(a.lower(), -DBL_MAX), high = std::fmin(a.upper(), DBL_MAX);
      add(std::clamp(a.v, -DBL_MAX, DBL_MAX));
      add(low);
      add(high);
      // A factor of a kernel may be 0 if the exact one is tiny, and 0 times Inf is NaN.
      if (low < 0 && high > 0) add(0);
    }
    finite = all;
    if (a.is_special()) add(a.v);
    if (a.s & plus_infinity) add(k_inf);
    if (a.s & minus_infinity) add(-k_inf);
    if (a.s & not_a_number) add(std::nan(""));
  }
};

// Adds the result of an operation for one choice of its operands.
inline void add_result(bounded& y, double result) {
  if (std::isnan(result)) {
    y.s |= not_a_number;
  } else if (result == k_inf) {
    y.s |= plus_infinity;
  } else if (result == -k_inf) {
    y.s |= minus_infinity;
  } else if (y.is_finite()) {
    y.e = std::fmax(y.e, (std::fabs(result - y.v) + y.r) * (1 + 0x1p-45));
    y.low = std::fmin(y.low, result - std::fabs(result) * 0x1p-40);
    y.high = std::fmax(y.high, result + std::fabs(result) * 0x1p-40);
  } else {
    y.e = k_inf;
  }
}

template <class F>
void bound_algebra::spill(value& y, F f, const value& a, const value& b) const {
  if (y.is_unknown()) return;
  const candidates first(a), second(b);
  for (size_t i = 0; i < first.all; ++i)
    for (size_t j = 0; j < second.all; ++j) {
      const bool is_finite = i < first.finite && j < second.finite;
      if (is_finite && y.is_finite()) continue;
      const double result = f(first.at[i], second.at[j]);
      if (is_finite && y.is_beyond()) continue;
      if (y.is_special() && (result == y.v || (std::isnan(result) && std::isnan(y.v)))) continue;
      add_result(y, result);
    }
}

template <class F>
void bound_algebra::spill(value& y, F f, const value& a) const {
  if (y.is_unknown()) return;
  const candidates at(a);
  for (size_t i = 0; i < at.all; ++i) {
    if (i < at.finite && !y.is_special()) continue;
    const double result = f(at.at[i]);
    if (y.is_special() && (result == y.v || (std::isnan(result) && std::isnan(y.v)))) continue;
    add_result(y, result);
  }
}

}  // namespace warpcheck::formula
