// Elementary functions of the algebra of bounds.
#include <algorithm>
#include <cfloat>

#include "reference/formula/bound_spill.hpp"
#include "reference/formula/functions.hpp"

namespace warpcheck::formula {
namespace {

using reference::enclosure;

// The exact value of a function of an enclosed number.
enclosure exact_of(function f, const enclosure& a) {
  switch (f) {
    case function::exp:
      return evaluated<double>(std::exp(a.value), std::exp(a.value) * std::expm1(a.radius) * 1.0000001);
    case function::log: return log(a);
    case function::log1p: {
      const double least = (1 + a.value) * (1 - 0x1p-50) - a.radius * k_inflate;
      if (!(least > 0)) return {0, k_inf};
      return evaluated<double>(std::log1p(a.value), a.radius / least * k_inflate);
    }
    case function::expm1:
      return evaluated<double>(std::expm1(a.value), std::exp(a.value) * std::expm1(a.radius) * 1.0000001);
    case function::sqrt:
    case function::rsqrt: {
      if (f == function::sqrt && a.value == 0 && a.radius == 0) return {0, 0};
      const double least = a.value * (1 - 0x1p-50) - a.radius * k_inflate, root = std::sqrt(a.value);
      if (!(least > 0)) return {0, k_inf};
      if (f == function::sqrt) return evaluated<double>(root, a.radius / std::sqrt(least));
      return evaluated<double>(1 / root, a.radius / (least * std::sqrt(least)));
    }
    case function::tanh: return tanh(a);
    case function::erf: return erf(a);
    case function::sin: return sin(a);
    case function::cos: return cos(a);
    case function::abs: return {std::fabs(a.value), a.radius};
    default: return stepped(a, [&](double x) { return apply_in_double(f, x); });
  }
}

// How far f of the computed argument is from `exact`, f of the exact argument, before f's own error.
double propagated(function f, const bounded& a, const enclosure& exact) {
  const double e = a.e, size = std::fabs(exact.value) + exact.radius, v = std::fabs(a.v);
  if (e == 0) return 0;
  const auto down_to = [&](double shift) {
    return std::fmax((a.v - a.r - e) * (a.v > 0 ? 1 - 0x1p-50 : 1), a.low) + shift;
  };
  const double sure = a.v * (1 - 0x1p-50) - a.r;  // a lower bound of the exact argument
  switch (f) {
    case function::exp: return size * std::expm1(e);
    case function::expm1: return std::exp(a.v + a.r) * std::expm1(e);
    case function::log: return down_to(0) > 0 ? std::log1p(e / down_to(0)) : k_inf;
    case function::log1p: return down_to(1) > 0 ? std::log1p(e / down_to(1)) : k_inf;
    case function::sqrt: {
      const double low = down_to(0);
      if (low < 0) return k_inf;
      return sure > 0 ? std::fmin(e / (std::sqrt(sure) + std::sqrt(low)), std::sqrt(e)) : std::sqrt(e);
    }
    case function::rsqrt: {
      const double low = down_to(0);
      if (!(low > 0 && sure > 0)) return k_inf;
      return e / (std::sqrt(sure) * std::sqrt(low) * (std::sqrt(sure) + std::sqrt(low)));
    }
    case function::tanh: {
      const double t = std::tanh(std::fmax(v - a.r - e, 0) * (1 - 0x1p-50));
      return std::fmin(2, e * (1 - t * t * (1 - 0x1p-49)));
    }
    case function::erf: {
      const double x = std::fmax(v - a.r - e, 0);
      return std::fmin(2, e * 1.1283791670955128 * std::exp(-x * x * (1 - 0x1p-49)));
    }
    case function::sin:
    case function::cos: return std::fmin(2, e);
    case function::abs: return e;
    default: {
      const double low = apply_in_double(f, a.lower()), high = apply_in_double(f, a.upper());
      return std::fmax(high - exact.value, exact.value - low) + exact.radius;
    }
  }
}

bool takes_negative(function f) { return f != function::log && f != function::sqrt && f != function::rsqrt; }

}  // namespace

double apply_in_double(function f, double x) {
  switch (f) {
    case function::exp: return std::exp(x);
    case function::log: return std::log(x);
    case function::log1p: return std::log1p(x);
    case function::expm1: return std::expm1(x);
    case function::sqrt: return std::sqrt(x);
    case function::rsqrt: return 1 / std::sqrt(x);
    case function::tanh: return std::tanh(x);
    case function::erf: return std::erf(x);
    case function::sin: return std::sin(x);
    case function::cos: return std::cos(x);
    case function::abs: return std::fabs(x);
    case function::floor: return std::floor(x);
    default: return std::nearbyint(x);
  }
}

bounded bound_algebra::function_of(function f, const value& a) const {
  const bool is_exact_step = f == function::abs || f == function::floor || f == function::round;
  enclosure exact = exact_of(f, {a.v, a.r});
  // The exponential of a number that is at most 0, such as x - max(x), is at most 1.
  const bool is_part = f == function::exp && a.high <= 0;
  if (is_part && !(exact.value + exact.radius < 2)) exact = {0.5, 0.5};
  value y;
  y.v = exact.value;
  y.r = exact.radius;
  if (f == function::exp && !(exact.value < DBL_MAX)) {
    if (a.v - a.r - a.e < 700) return unknown_value();
    y = special_value(k_inf);
    y.r = k_beyond;
    y.s = plus_infinity;
    return y;
  }
  if (!(std::fabs(y.v) + y.r < k_inf)) return unknown_value();
  y.e = propagated(f, a, exact);
  if (std::isnan(y.e)) y.e = k_inf;
  const bool keeps_sign = f == function::tanh || f == function::erf || f == function::expm1 || f == function::log1p ||
                          f == function::floor || f == function::round;
  if (f == function::exp || f == function::sqrt || f == function::rsqrt || f == function::abs ||
      (keeps_sign && a.low >= 0))
    y.low = 0;
  if (is_exact_step) {
    y.e *= k_inflate;
    if (f != function::abs) {
      y.low = apply_in_double(f, a.lower());
      y.high = apply_in_double(f, a.upper());
    }
    return y;
  }
  double relative = c_.function;
  if (f == function::exp) relative += c_.of.rescales * (c_.function + c_.u);
  if (f == function::exp && c_.of.exp_by_exp2) relative += 1.23 * c_.u * std::fmin(a.size() + a.e, 200);
  // An ulp may be an eta, and each rescale rounds a subnormal once more.
  const double absolute =
      y.v != 0 || y.r > 0 ? c_.eta * c_.function / (2 * c_.u) + (f == function::exp ? c_.of.rescales * c_.eta : 0) : 0;
  round(y, relative, absolute + (y.size() + y.e > 0 ? c_.eta / 2 : 0));
  if (f == function::tanh || f == function::erf || f == function::sin || f == function::cos)
    y.e = std::fmin(y.e, 2 + c_.function);
  if (is_part) {
    y.high = 1 + c_.function;
    y.e = std::fmin(y.e, y.high);
    y.s &= static_cast<uint8_t>(~plus_infinity);
  }
  return y;
}

bounded bound_algebra::call(function f, const value& a) const {
  if (a.is_unknown()) return f == function::sin || f == function::cos || f == function::tanh ? unknown_value() : a;
  if (f == function::exp && c_.of.exp_by_exp2 && (a.size() + a.e) * 1.4427 >= c_.omega && a.is_finite()) {
    value spilled = a;
    spilled.s |= a.v > 0 ? plus_infinity : minus_infinity;
    value y = function_of(f, a);
    spill(
        y, [&](double x) { return apply_in_double(f, x); }, spilled);
    return y;
  }
  value y;
  if (a.is_beyond()) {
    const bool positive = a.v > 0;
    if (f == function::abs || ((f == function::exp || f == function::expm1) && positive)) {
      y = special_value(k_inf);
      y.r = a.r;
      y.s = plus_infinity;
    } else if (f == function::floor || f == function::round) {
      y = a;
    } else if (f == function::exp) {
      y.r = k_tiny;
      y.e = c_.eta;
      y.low = 0;
    } else if (f == function::tanh || f == function::erf || f == function::expm1) {
      y.v = positive ? 1 : -1;
      y.r = 0x1p-1000;
      round(y, c_.function, 0);
    } else {
      return unknown_value();
    }
  } else if (a.is_special()) {
    y = special_value(apply_in_double(f, a.v));
    if (y.v == 0 || std::isfinite(y.v)) round(y, y.v == 0 ? 0 : c_.function, 0);
    if (f == function::exp || f == function::abs) y.low = 0;
  } else {
    const bool at_edge = f == function::log1p ? a.v - a.r <= -1 : !takes_negative(f) && a.v - a.r <= 0;
    if (at_edge && !(f == function::sqrt && a.v == 0 && a.r == 0)) {
      // The argument reaches the end of the function's domain, or lies beyond it.
      if (a.r > 0 && a.v + a.r >= (f == function::log1p ? -1 : 0)) return unknown_value();
      y = special_value(apply_in_double(f, a.v == 0 ? 0.0 : a.v));
    } else {
      y = function_of(f, a);
    }
  }
  const bool is_limited = f == function::sin || f == function::cos || f == function::tanh || f == function::erf;
  if (a.e == k_inf && (a.is_special() || y.is_special() || !(y.high < k_inf || is_limited))) y.e = k_inf;
  if (a.s != 0 || a.is_special() || y.is_special())
    spill(
        y, [&](double x) { return apply_in_double(f, x); }, a);
  // If the computed argument may lie below the domain, the result may be NaN.
  const double edge = f == function::log1p ? -1 : 0;
  if ((f == function::log1p || !takes_negative(f)) && a.is_finite() && a.lower() < edge) y.s |= not_a_number;
  // At the edge the result is infinite; the sign of a zero is free, and so is that of its rsqrt.
  const bool at_zero = a.is_finite() && a.lower() <= edge && a.upper() >= edge;
  if (f == function::rsqrt && at_zero) y.s |= plus_infinity | minus_infinity;
  if ((f == function::log || f == function::log1p) && at_zero && a.e > 0) y.s |= minus_infinity;
  return y;
}

bounded bound_algebra::power_function(const value& a, const value& b) const {
  if (!a.is_plain() || !b.is_plain()) return unknown_value();
  const bool whole = b.is_exact() && b.v == std::nearbyint(b.v);
  const double low = a.lower(), high = a.upper();
  if (!(low > 0 || (a.is_exact() && (a.v > 0 || (a.v == 0 && b.lower() > 0) || whole)))) return unknown_value();
  value y;
  y.v = std::pow(a.v, b.v);
  if (!std::isfinite(y.v)) return unknown_value();
  double least = y.v, most = y.v, exact_least = y.v, exact_most = y.v;
  for (const double x : {low, high})
    for (const double z : {b.lower(), b.upper()}) {
      const double p = std::pow(x, z);
      least = std::fmin(least, p);
      most = std::fmax(most, p);
    }
  for (const double x : {a.v - a.r, a.v + a.r})
    for (const double z : {b.v - b.r, b.v + b.r}) {
      const double p = std::pow(x, z);
      exact_least = std::fmin(exact_least, p);
      exact_most = std::fmax(exact_most, p);
    }
  const double size = std::fmax(std::fabs(least), std::fabs(most));
  y.r = (std::fmax(exact_most - y.v, y.v - exact_least) + 16 * reference::k_double_unit * size) * k_inflate + k_tiny;
  y.e = std::fmax(most - y.v, y.v - least) + y.r;
  if (low >= 0) y.low = 0;
  if (!(y.e < k_inf)) return unknown_value();
  round(y, c_.power, y.size() > 0 ? c_.eta * (c_.power / (2 * c_.u) + 0.5) : 0);
  return y;
}

bounded bound_algebra::larger(const value& a, const value& b, double sign, bool drops_nan) const {
  if (a.is_unknown() || b.is_unknown()) return unknown_value();
  const auto f = [&](double x, double z) {
    if (std::isnan(x) || std::isnan(z)) return drops_nan ? (std::isnan(x) ? z : x) : std::nan("");
    return sign > 0 ? std::fmax(x, z) : std::fmin(x, z);
  };
  if (!a.is_finite() || !b.is_finite()) {
    const double v = f(a.v, b.v);
    const value& taken = std::isnan(v) || (v == a.v && !(std::isnan(a.v))) ? a : b;
    value y = std::isnan(v) ? special_value(v) : taken;
    if (a.is_beyond() && b.is_beyond() && a.v == b.v) y.r = sign * a.v > 0 ? std::fmax(a.r, b.r) : std::fmin(a.r, b.r);
    y.s = 0;
    if (y.is_beyond()) y.s = taken.s;
    if (a.e == k_inf || b.e == k_inf) y.e = k_inf;
    spill(y, f, a, b);
    return y;
  }
  const value p = sign > 0 ? a : negate(a), q = sign > 0 ? b : negate(b);
  value y;
  y.v = std::fmax(p.v, q.v);
  y.r = std::fmax(std::fmax(p.v + p.r, q.v + q.r) - y.v, y.v - std::fmax(p.v - p.r, q.v - q.r)) * k_inflate;
  const double low = std::fmax(p.lower(), q.lower()), high = std::fmax(p.upper(), q.upper());
  y.e = (std::fmax(high - y.v, y.v - low) + y.r) * k_inflate;
  if (p.e == 0 && q.e == 0) y.e = 0;
  y.low = std::fmax(p.low, q.low);
  y.high = std::fmax(p.high, q.high);
  if (sign < 0) y = negate(y);
  if ((a.s | b.s) != 0) spill(y, f, a, b);
  return y;
}

bounded bound_algebra::call(function f, const value& a, const value& b) const {
  switch (f) {
    case function::max: return larger(a, b, 1, false);
    case function::min: return larger(a, b, -1, false);
    case function::fmax: return larger(a, b, 1, true);
    case function::fmin: return larger(a, b, -1, true);
    default: return power_function(a, b);
  }
}

}  // namespace warpcheck::formula
