// A number known to lie within `radius` of `value`, and the arithmetic that keeps that true.
//
// Every operation adds to the radius (a) what its operands' radii can do to the result and (b) the rounding of the
// operation itself: `arithmetic<Real>::unit` relatively for + - * /, `arithmetic<Real>::elementary` for exp, expm1,
// log, log1p and sqrt. For double the first is IEEE 754's u = 2^-53. The second rests on one assumption about the host:
// its libm errs by at most 4 ulp (8 u) in these functions. The GNU C Library manual ("Errors in Math Functions") states
// 1 ulp for exp, expm1, log and log1p on x86_64 and aarch64; the test `libm_within_assumption` measures it against 100
// digits. Radii are themselves computed in double: k_inflate covers the rounding of the few operations that make one
// (each at most 2^-53, fewer than 16), k_tiny what underflow can hide.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#ifdef __FAST_MATH__
#error "reference/ relies on IEEE arithmetic: do not build it with -ffast-math"
#endif

namespace warpcheck::reference {

inline constexpr double k_double_unit = 0x1p-53;
inline constexpr double k_inflate = 1 + 0x1p-49;
inline constexpr double k_tiny = std::numeric_limits<double>::min();

template <class Real>
struct arithmetic;

template <>
struct arithmetic<double> {
  static constexpr double unit = k_double_unit;
  static constexpr double elementary = 8 * k_double_unit;
  static double log1p(double x) { return std::log1p(x); }
  static double expm1(double x) { return std::expm1(x); }
};

// An upper bound of |x| as a double. Converting a multiprecision number rounds (2^-53 relatively) and may underflow.
template <class Real>
double magnitude(const Real& x) {
  const double size = std::fabs(static_cast<double>(x));
  return std::is_same_v<Real, double> ? size : size * k_inflate + k_tiny;
}

template <class Real>
struct basic_enclosure {
  Real value{0};
  double radius = 0;

  basic_enclosure() = default;
  // Implicit on purpose: formulas mix enclosures and doubles. A decimal type rounds most doubles.
  basic_enclosure(double exact)  // NOLINT(google-explicit-constructor)
      : value(exact),
        radius(std::is_same_v<Real, double> ? 0 : std::fabs(exact) * arithmetic<Real>::unit * k_inflate) {}
  basic_enclosure(Real v, double r) : value(std::move(v)), radius(r) {}

  // The enclosed number is <= upper() and >= lower().
  double upper() const { return outward(1); }
  double lower() const { return outward(-1); }

  friend basic_enclosure operator-(const basic_enclosure& a) { return {Real(-a.value), a.radius}; }
  friend basic_enclosure operator+(const basic_enclosure& a, const basic_enclosure& b) {
    return rounded(Real(a.value + b.value), a.radius + b.radius);
  }
  friend basic_enclosure operator-(const basic_enclosure& a, const basic_enclosure& b) {
    return rounded(Real(a.value - b.value), a.radius + b.radius);
  }
  friend basic_enclosure operator*(const basic_enclosure& a, const basic_enclosure& b) {
    return rounded(Real(a.value * b.value), magnitude(a.value) * b.radius + (magnitude(b.value) + b.radius) * a.radius);
  }
  // b must not contain 0, else the radius is infinite.
  friend basic_enclosure operator/(const basic_enclosure& a, const basic_enclosure& b) {
    const double size = magnitude(b.value) / k_inflate - b.radius * k_inflate;
    Real quotient(a.value / b.value);
    const double spread = size > 0 ? (a.radius + magnitude(quotient) * k_inflate * b.radius) / size
                                   : std::numeric_limits<double>::infinity();
    return rounded(std::move(quotient), spread * k_inflate);
  }

  friend basic_enclosure abs(const basic_enclosure& a) { return a.value < 0 ? -a : a; }

  // Radii of the arguments below must be at most 1/2: e^r - 1 <= r (1 + r).
  friend basic_enclosure exp(const basic_enclosure& a) {
    using std::exp;
    return elementary(Real(exp(a.value)), [&](double size) { return size * a.radius * (1 + a.radius); });
  }
  friend basic_enclosure expm1(const basic_enclosure& a) {
    return elementary(arithmetic<Real>::expm1(a.value),
                      [&](double size) { return (1 + size) * a.radius * (1 + a.radius); });
  }
  friend basic_enclosure log1p(const basic_enclosure& a) {
    const double slope = 1 / (static_cast<double>(1 + a.value) / k_inflate - a.radius * k_inflate);
    return elementary(arithmetic<Real>::log1p(a.value), [&](double) { return a.radius * slope * k_inflate; });
  }
  // a must be positive with its whole radius, else the radius is infinite. |sqrt(x) - sqrt(v)| <= |x - v| / sqrt(v).
  friend basic_enclosure sqrt(const basic_enclosure& a) {
    using std::sqrt;
    if (!(a.lower() > 0)) return {Real(0), std::numeric_limits<double>::infinity()};
    Real root(sqrt(a.value));
    const double least = magnitude(root) / (k_inflate * k_inflate);
    return elementary(std::move(root), [&](double) { return a.radius / least * k_inflate; });
  }

 private:
  static basic_enclosure rounded(Real v, double spread) {
    const double radius = (spread + arithmetic<Real>::unit * magnitude(v)) * k_inflate + k_tiny;
    return {std::move(v), radius};
  }
  template <class Spread>
  static basic_enclosure elementary(Real v, Spread spread) {
    const double size = magnitude(v) * (1 + 2 * arithmetic<Real>::elementary);
    const double radius = (spread(size) + arithmetic<Real>::elementary * size) * k_inflate + k_tiny;
    return {std::move(v), radius};
  }
  double outward(int direction) const {
    // Two roundings (the conversion of value, the addition) are paid for by two units of the sum of the sizes.
    const double center = static_cast<double>(value);
    return center + direction * ((radius + 4 * k_double_unit * (std::fabs(center) + radius)) * k_inflate + k_tiny);
  }
};

using enclosure = basic_enclosure<double>;

}  // namespace warpcheck::reference
