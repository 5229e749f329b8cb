// Elementary functions of enclosures, beyond those of numerics/enclosure.hpp: log, tanh, erf, sin, cos, rsqrt, pow,
// floor and round. As there, a function of a double rests on the host's libm erring by at most 4 ulp, and one of a
// multiprecision number on arithmetic<Real>::elementary; the test `functions_within_assumption` measures both.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "reference/numerics/enclosure.hpp"

namespace warpcheck::formula {

using reference::arithmetic, reference::basic_enclosure, reference::k_inflate, reference::k_tiny, reference::magnitude;

// A function's value with its evaluation error, and `spread`, the effect of the argument's radius.
template <class Real>
basic_enclosure<Real> evaluated(Real v, double spread) {
  const double size = magnitude(v) * (1 + 2 * arithmetic<Real>::elementary);
  const double radius = (spread + arithmetic<Real>::elementary * size) * k_inflate + k_tiny;
  return {std::move(v), radius};
}

// A function with values in [-1, 1] and slopes of at most `slope`.
template <class Real, class Function>
basic_enclosure<Real> lipschitz(const basic_enclosure<Real>& a, double slope, Function f) {
  return evaluated<Real>(f(a.value), std::fmin(a.radius * slope, 2));
}

template <class Real>
Real tanh_of(const Real& x) {
  if constexpr (std::is_same_v<Real, double>) {
    return std::tanh(x);
  } else {
    if (x > 200 || x < -200) return Real(x > 0 ? 1 : -1);  // 1 - tanh(200) < 1e-173
    const Real t = arithmetic<Real>::expm1(Real(2 * x));
    return Real(t / (t + 2));
  }
}

// 2/sqrt(pi) e^(-x^2) sum 2^n x^(2n+1) / (2n+1)!!, whose terms are positive: Abramowitz and Stegun 7.1.6.
template <class Real>
Real erf_of(const Real& x) {
  if constexpr (std::is_same_v<Real, double>) {
    return std::erf(x);
  } else {
    const Real a = x < 0 ? Real(-x) : x;
    if (a > 16) return Real(x > 0 ? 1 : -1);  // 1 - erf(16) < 1e-112
    Real term = a, sum = a;
    const Real square = 2 * a * a;
    for (int n = 1; term > sum * std::numeric_limits<Real>::epsilon() * 1e-6; ++n) {
      term *= square / (2 * n + 1);
      sum += term;
    }
    const Real pi = acos(Real(-1));
    const Real y = 2 / sqrt(pi) * exp(Real(-a * a)) * sum;
    return x < 0 ? Real(-y) : y;
  }
}

template <class Real>
basic_enclosure<Real> log(const basic_enclosure<Real>& a) {
  using std::log;
  const double least = static_cast<double>(a.value) / k_inflate - a.radius * k_inflate;
  if (!(least > 0)) return {Real(0), std::numeric_limits<double>::infinity()};
  return evaluated<Real>(Real(log(a.value)), a.radius / least * k_inflate);
}
template <class Real>
basic_enclosure<Real> tanh(const basic_enclosure<Real>& a) {
  return lipschitz(a, 1, [](const Real& x) { return tanh_of(x); });
}
template <class Real>
basic_enclosure<Real> erf(const basic_enclosure<Real>& a) {
  return lipschitz(a, 1.13, [](const Real& x) { return erf_of(x); });
}
template <class Real>
basic_enclosure<Real> sin(const basic_enclosure<Real>& a) {
  using std::sin;
  return lipschitz(a, 1, [](const Real& x) { return Real(sin(x)); });
}
template <class Real>
basic_enclosure<Real> cos(const basic_enclosure<Real>& a) {
  using std::cos;
  return lipschitz(a, 1, [](const Real& x) { return Real(cos(x)); });
}

// The nearest whole number, ties to even.
template <class Real>
Real nearest_whole(const Real& x) {
  using std::floor;
  Real whole(floor(x));
  const Real rest = x - whole;
  if (rest > 0.5) return Real(whole + 1);
  if (rest < 0.5) return whole;
  return Real(floor(Real(whole / 2)) * 2) == whole ? whole : Real(whole + 1);
}

// A step function: exact where the whole enclosure gives one value.
template <class Real, class Function>
basic_enclosure<Real> stepped(const basic_enclosure<Real>& a, Function f) {
  const Real v = f(a.value);
  if (a.radius == 0) return {v, 0};
  const double low = std::fabs(static_cast<double>(Real(f(Real(a.value - Real(a.radius * k_inflate))) - v)));
  const double high = std::fabs(static_cast<double>(Real(f(Real(a.value + Real(a.radius * k_inflate))) - v)));
  return {v, std::fmax(low, high)};
}

}  // namespace warpcheck::formula
