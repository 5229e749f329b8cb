#include "reference/formula/bounded.hpp"

#include <algorithm>
#include <cfloat>
#include <cstdlib>

#include "reference/formula/bound_spill.hpp"

namespace warpcheck::formula {
namespace {

using reference::k_double_unit;

// True if double holds a decimal number exactly.
bool is_exact_decimal(const std::string& text) {
  uint64_t digits = 0;
  int places = 0, exponent = 0;
  bool after_point = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.') {
      after_point = true;
    } else if (c == 'e' || c == 'E') {
      exponent = std::atoi(text.c_str() + i + 1);
      break;
    } else {
      if (digits > 1000000000000000) return false;
      digits = digits * 10 + static_cast<uint64_t>(c - '0');
      places += after_point ? 1 : 0;
    }
  }
  if (digits == 0) return true;
  int tens = exponent - places;
  for (; tens > 0; --tens) {
    if (digits > 900000000000000) return false;
    digits *= 10;
  }
  for (; tens < 0; ++tens) {  // d / 10^k is dyadic if 5^k divides d
    if (digits % 5 != 0) return false;
    digits /= 5;
  }
  return digits < (uint64_t{1} << 53);
}

double apply(code::form what, double a, double b) {
  switch (what) {
    case code::form::add: return a + b;
    case code::form::subtract: return a - b;
    case code::form::multiply: return a * b;
    default: return a / b;
  }
}

}  // namespace

bounded unknown_value() {
  bounded y;
  y.r = y.e = k_inf;
  y.s = any_special;
  return y;
}

bool holds(number_type t, double x) { return round_to_type(t, x) == x; }

double round_to_type(number_type t, double x) {
  const float_range f = range_of(t);
  constexpr double k_most_e4m3 = 448;
  if (t == number_type::e4m3 && std::fabs(x) > k_most_e4m3) return std::copysign(k_most_e4m3, x);
  if (t == number_type::f64 || !std::isfinite(x) || x == 0) return x;
  if (t == number_type::f32) return static_cast<double>(static_cast<float>(x));
  int exponent = 0;
  std::frexp(x, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent - f.digits, f.min_exponent));
  const double y = std::nearbyint(x / unit) * unit;
  return std::fabs(y) >= std::ldexp(1.0, f.max_exponent + 1) ? std::copysign(k_inf, x) : y;
}

allowance::allowance(const contract& c) : of(c) {
  const float_range f = range_of(c.format);
  u = std::ldexp(1.0, -f.digits);
  eta =
      std::ldexp(1.0, c.flush ? f.min_exponent + f.digits : f.min_exponent);  // flushing loses a normal number at most
  omega = c.format == number_type::f64 ? DBL_MAX : std::ldexp(2 - u, f.max_exponent);
  one = roundings(1 + c.slack);
  two = roundings(2 + c.slack);
  divided = roundings(c.division + c.slack);
  const auto ulps = [&](double k) {
    return ((2 * k + 1) * u + roundings(c.slack) * (1 + (2 * k + 1) * u)) * reference::k_inflate;
  };
  function = ulps(c.functions);
  power = ulps(c.power);
}

double allowance::roundings(double k) const {
  const double ku = k * u;
  return ku < 1 ? ku / (1 - ku) * reference::k_inflate : k_inf;
}

double allowance::sum(double terms) const {
  // An accumulator that truncates does so for the first product, too.
  double h = of.sum_units == 1 ? terms - 1 : terms;
  if (of.depth) h = std::fmin(h, depth_of(of, terms) + (of.sum_units == 1 ? 0 : 1));
  return roundings(std::fmax(h, 0) * of.sum_units + of.slack);
}

bounded bound_algebra::rounded_constant(double v) const {
  if (!std::isfinite(v)) return special_value(v);
  value y;
  y.v = v;
  y.low = v >= 4 * c_.eta ? v / 2 : v >= 0 ? 0 : -k_inf;  // no rounding loses half of it
  if (holds(c_.of.format, v)) return y;
  y.e = (c_.u * std::fabs(v) + c_.eta / 2) * reference::k_inflate;
  overflow(y);
  return y;
}

bounded bound_algebra::constant(const code& c) const {
  if (c.what == code::form::scalar) return rounded_constant(c.number);
  if (c.text == "inf") return special_value(k_inf);
  value y = rounded_constant(std::strtod(c.text.c_str(), nullptr));
  if (is_exact_decimal(c.text)) return y;
  y.r = (std::fabs(y.v) * k_double_unit) * reference::k_inflate + reference::k_tiny;
  y.e = (c_.u * (std::fabs(y.v) + y.r) + c_.eta / 2 + y.r) * reference::k_inflate;
  return y;
}

bounded bound_algebra::negate(value a) const {
  a.v = -a.v;
  std::swap(a.low, a.high);
  a.low = -a.low;
  a.high = -a.high;
  const uint8_t nan = a.s & not_a_number;
  a.s = nan | ((a.s & plus_infinity) ? minus_infinity : 0) | ((a.s & minus_infinity) ? plus_infinity : 0);
  return a;
}

void bound_algebra::overflow(value& y) const {
  if (y.upper() >= c_.omega) y.s |= plus_infinity;
  if (y.lower() <= -c_.omega) y.s |= minus_infinity;
  if (c_.of.overflow_free && (y.s & (plus_infinity | minus_infinity))) y.e = k_inf;
}

bounded bound_algebra::quotient(const value& a, const value& b) const {
  value y;
  // A lower bound of the exact divisor.
  const double size = std::fmax(std::fabs(b.v) - b.r * reference::k_inflate, b.low);
  if (!(size > 0)) {
    y.r = k_inf;
    return y;
  }
  y.v = a.v / b.v;
  const double magnitude = std::fabs(y.v);
  y.r = ((a.r + magnitude * reference::k_inflate * b.r) / size + k_double_unit * magnitude) * reference::k_inflate +
        reference::k_tiny;
  if (a.v == 0 && a.r == 0) y.r = 0;
  double margin = size - b.e;
  if (b.low > 0) margin = std::fmax(margin, b.low);
  if (a.low >= 0 && b.low >= 0) y.low = 0;
  if (!(margin > 0)) {
    y.e = k_inf;
    y.s = any_special;
    return y;
  }
  y.e = (a.e + (magnitude + y.r) * b.e) / margin;
  y.product_of = joined(factors_of(a), reciprocal_of(b));
  double absolute = lost(y.product_of, a.product_of.large > 0);
  if (c_.of.division > 1) {
    // A product with the reciprocal, which may be subnormal or overflow.
    const double most = b.size() + b.e, numerator = a.size() + a.e;
    if (most > std::ldexp(1.0, range_of(c_.of.format).max_exponent - 1)) absolute += c_.eta / 2 * numerator;
    if (1 / margin >= c_.omega) {
      if (a.upper() > 0) y.s |= b.v > 0 ? plus_infinity : minus_infinity;
      if (a.lower() < 0) y.s |= b.v > 0 ? minus_infinity : plus_infinity;
      if (a.lower() <= 0 && a.upper() >= 0) y.s |= not_a_number;  // 0 times Inf
    }
  }
  round(y, c_.divided, absolute);
  keep_sign(y, a, b);
  return y;
}

// Results if an operand is beyond every format.
bounded bound_algebra::beyond_of(code::form what, const value& a, const value& b) const {
  const auto least = [](const value& x) { return x.is_beyond() ? x.r : std::fmax(std::fabs(x.v) - x.r - x.e, 0); };
  const auto made = [&](double v, double size) {
    if (!(size * (1 - 0x1p-40) >= std::fmin(c_.omega, k_beyond))) return unknown_value();
    value y = special_value(std::copysign(k_inf, v));
    y.r = std::fmin(size * (1 - 0x1p-40), DBL_MAX);
    y.s = v > 0 ? plus_infinity : minus_infinity;
    return y;
  };
  if (a.is_special() || b.is_special()) {
    if (what == code::form::divide && a.is_beyond()) return special_value(b.v != b.v ? b.v : 0.0);
    return special_value(apply(what, a.v, b.v));
  }
  switch (what) {
    case code::form::multiply:
      if ((a.v == 0 && a.r + a.e == 0) || (b.v == 0 && b.r + b.e == 0)) return special_value(0);
      return made(a.v * b.v, least(a) * least(b));
    case code::form::divide: {
      if (a.is_beyond() && b.is_beyond()) return unknown_value();
      if (a.is_beyond()) return made(a.v / b.v, b.size() + b.e > 0 ? a.r / (b.size() + b.e) : 0);
      value y;
      y.r = a.size() / b.r * reference::k_inflate + reference::k_tiny;
      y.e = 2 * (a.size() + a.e) / b.r * reference::k_inflate + reference::k_tiny;
      if (a.low >= 0 && b.v > 0) y.low = 0;
      round(y, c_.divided, c_.eta / 2);
      return y;
    }
    default: {
      const double other = what == code::form::add ? b.v : -b.v;
      if (a.is_beyond() && b.is_beyond()) return a.v == other ? made(a.v, std::fmax(a.r, b.r)) : unknown_value();
      const value& finite = a.is_beyond() ? b : a;
      return made(a.is_beyond() ? a.v : other,
                  std::fmax(a.is_beyond() ? a.r : 0, b.is_beyond() ? b.r : 0) - finite.size() - finite.e);
    }
  }
}

bounded bound_algebra::binary_of_specials(code::form what, const value& a, const value& b, bool are_same) const {
  if (a.is_unknown() || b.is_unknown()) return unknown_value();
  if (what == code::form::multiply && (a.is_outside || b.is_outside)) return unknown_value();  // NaN, or no term
  value y;
  const bool is_division = what == code::form::divide;
  if (a.is_beyond() || b.is_beyond()) {
    y = beyond_of(what, a, b);
  } else if (a.is_finite() && b.is_finite()) {
    y = what == code::form::multiply ? product(a, b, are_same) : is_division ? quotient(a, b) : sum(what, a, b);
    if (std::isnan(y.e)) y.e = k_inf;  // an operand without a bound times 0
    if (is_division && b.v == 0 && b.r == 0) {
      y = special_value(a.v / b.v);
      if (std::isinf(y.v)) y.s = plus_infinity | minus_infinity;  // the sign of a zero is free
      if (a.r > 0 && std::fabs(a.v) <= a.r) return unknown_value();
    } else if (!(std::fabs(y.v) + y.r < k_inf)) {
      // The result exceeds double. If every factor is far from 0, the computed value exceeds it, too.
      const auto least = [](const value& x) { return std::fabs(x.v) - x.r - x.e; };
      const bool far = what == code::form::multiply ? least(a) > 0 && least(b) > 0 && y.e < k_inf
                       : is_division                ? least(a) > 0 && y.e < k_inf
                                                    : a.e + b.e < k_beyond;
      if (!far || std::isnan(y.v) || std::fabs(y.v) < k_inf || y.r != y.r) return unknown_value();
      const double v = y.v;
      y = special_value(v);
      y.r = k_beyond;
      y.s = v > 0 ? plus_infinity : minus_infinity;
    }
  } else {
    const auto sign_is_open = [](const value& x) { return x.is_finite() && x.r > 0 && std::fabs(x.v) <= x.r; };
    if (what == code::form::multiply && (sign_is_open(a) || sign_is_open(b))) return unknown_value();
    if (is_division && sign_is_open(b)) return unknown_value();
    y = special_value(apply(what, a.v, b.v));
    // The sign of a zero is free, and so is that of Inf / 0.
    const bool by_zero = is_division && b.is_finite() && b.lower() <= 0 && b.upper() >= 0;
    if (by_zero && !std::isnan(a.v)) y.s |= plus_infinity | minus_infinity;
  }
  if (a.e == k_inf || b.e == k_inf) y.e = k_inf;
  spill(
      y, [&](double x, double z) { return apply(what, x, z); }, a, b);
  return y;
}

bounded bound_algebra::power(const value& a, int k) const {
  if (k < 0) {
    const value one = rounded_constant(1);
    return binary(code::form::divide, one, power(a, -k), false);
  }
  if (k == 0) return rounded_constant(1);
  if (k == 1) return a;
  if (a.is_plain()) {
    value y = a;
    const auto n = static_cast<double>(k);
    double size = a.size(), exact = size, grown = size + a.e;
    for (int i = 1; i < k; ++i) {
      y.v *= a.v;
      exact *= size;
      grown *= size + a.e;
    }
    if (exact < k_inf && grown < k_inf) {
      y.r = (std::pow(size, k) - std::pow(std::fmax(std::fabs(a.v) - a.r, 0), k) + n * 0x1p-51 * exact) +
            reference::k_tiny;
      if (a.r == 0 && k == 2 && std::fma(a.v, a.v, -y.v) == 0 && (y.v > 0x1p-900 || a.v == 0)) y.r = 0;
      y.e = (a.e > 0 ? grown - exact * (1 - n * 0x1p-51) : 0);
      y.low = k % 2 == 0 || a.low >= 0 ? 0 : -k_inf;
      y.high = k_inf;
      y.product_of = factors_of(a);
      for (int i = 1; i < k; ++i) y.product_of = joined(y.product_of, factors_of(a));
      if (a.product_of.large > 0) overflow_between(y);
      if (c_.of.exact && y.r == 0 && y.e == 0 && holds(c_.of.format, y.v)) return y;
      const double absolute = std::fmax((n - 1) * c_.eta / 2, lost(y.product_of, a.product_of.large > 0));
      round(y, c_.roundings(n - 1 + c_.of.slack), absolute);
      return y;
    }
  }
  value y = a;
  for (int i = 1; i < k; ++i) y = binary(code::form::multiply, y, a, k == 2);
  return y;
}

namespace {
// A rounded value of at least this size may be infinite.
double overflow_of(number_type t) {
  if (t == number_type::f64) return DBL_MAX;
  if (t == number_type::e4m3) return 464;  // between 448 and 480, which is NaN
  const float_range f = range_of(t);
  return std::ldexp(2 - std::ldexp(1.0, -f.digits), f.max_exponent);
}
// A conversion to 8 bits of a value beyond the range saturates in one mode, and gives Inf or NaN in the other.
bounded without_bound(bounded y) {
  y.e = k_inf;
  y.s = any_special;
  return y;
}
}  // namespace

bounded bound_algebra::stored(const value& a, number_type t) const {
  value y = a;
  if (!a.is_finite()) return y;
  const float_range f = range_of(t);
  const double u = std::ldexp(1.0, -f.digits), size = a.size() + a.e;
  y.e = (a.e + u * size + (size > 0 ? std::ldexp(0.5, f.min_exponent) : 0)) * reference::k_inflate;
  const double omega = overflow_of(t);
  if (has_8_bits(t) && (y.upper() >= omega || y.lower() <= -omega)) return without_bound(y);
  y.product_of.large *= 1 + 2 * u;
  y.product_of.most *= 1 + 2 * u;
  y.low = std::fmin(y.low, round_to_type(t, y.low));
  y.high = std::fmax(y.high, round_to_type(t, y.high));
  if (y.upper() >= omega) y.s |= plus_infinity;
  if (y.lower() <= -omega) y.s |= minus_infinity;
  return y;
}

bounded bound_algebra::cast(const value& a, number_type t) const {
  if (!a.is_finite()) return a.is_beyond() || (has_8_bits(t) && !std::isnan(a.v)) ? unknown_value() : a;
  const double r = a.r * reference::k_inflate;
  const double middle = round_to_type(t, a.v), low = round_to_type(t, a.v - r), high = round_to_type(t, a.v + r);
  value y = a;
  y.v = middle;
  y.product_of = {};
  if (low != high && !(std::fabs(low) < k_inf && std::fabs(high) < k_inf)) return unknown_value();
  y.r = std::isinf(middle) ? 0 : std::fmax(high - middle, middle - low);
  const double least = round_to_type(t, a.lower()), most = round_to_type(t, a.upper());
  y.low = round_to_type(t, a.low);
  y.high = round_to_type(t, a.high);
  const double omega = has_8_bits(t) ? overflow_of(t) : k_inf;
  if (a.upper() >= omega || a.lower() <= -omega) return without_bound(y);
  if (std::isinf(middle)) {
    y.e = least == most ? 0 : k_inf;
    return y;
  }
  y.e = (std::fmax(most - middle, middle - least) + y.r) * reference::k_inflate;
  if (y.e == k_inf || std::isnan(y.e)) {
    y.s |= (most == k_inf ? plus_infinity : 0) | (least == -k_inf ? minus_infinity : 0);
    y.e = a.e == k_inf ? k_inf : std::ldexp(4.0, range_of(t).max_exponent);
  }
  return y;
}

truth bound_algebra::compare(kind sign, const value& a, const value& b) const {
  truth t;
  t.holds = compare_values(sign, a.v, b.v);
  if (a.is_unknown() || b.is_unknown()) return {t.holds, false, false};
  const bool exact = a.is_exact() && b.is_exact();
  if (exact) return t;
  if (a.is_finite() && b.is_finite()) {
    t.exact_is_sure = (a.r == 0 && b.r == 0) || std::fabs(a.v - b.v) > (a.r + b.r) * (1 + 0x1p-40);
    t.computed_is_sure = (a.s | b.s) == 0 &&
                         ((a.e == 0 && b.e == 0 && t.exact_is_sure) || a.lower() > b.upper() || a.upper() < b.lower());
    return t;
  }
  const auto away = [](const value& far, const value& x) { return !far.is_beyond() || x.size() + x.e < far.r; };
  if (a.is_beyond() && b.is_beyond()) {
    t.exact_is_sure = a.v != b.v;
  } else {
    t.exact_is_sure =
        (!a.is_beyond() || b.is_special() || away(a, b)) && (!b.is_beyond() || a.is_special() || away(b, a));
  }
  const auto sticks = [](const value& x) {
    const uint8_t same = x.is_beyond() ? (x.v > 0 ? plus_infinity : minus_infinity) : 0;
    return x.e < k_inf && (x.s & ~same) == 0;
  };
  t.computed_is_sure = t.exact_is_sure && sticks(a) && sticks(b) && !std::isnan(a.v) && !std::isnan(b.v);
  // If a value is NaN in every kernel, every kernel decides its comparisons in the same way.
  const auto is_always_nan = [](const value& x) {
    return std::isnan(x.v) && x.e < k_inf && (x.s & ~not_a_number) == 0;
  };
  if (is_always_nan(a) || is_always_nan(b)) t.computed_is_sure = true;
  return t;
}

bounded bound_algebra::choose(const truth& t, const value& then, const value& otherwise) const {
  const value &a = t.holds ? then : otherwise, &b = t.holds ? otherwise : then;
  if (a.is_unknown() || b.is_unknown()) return unknown_value();
  value y = a;
  y.s = a.s | b.s;
  y.low = std::fmin(a.low, b.low);
  y.high = std::fmax(a.high, b.high);
  const factors p = factors_of(a), q = factors_of(b);
  y.product_of = {std::fmax(p.large, q.large), std::fmin(p.small, q.small), std::fmax(p.losses, q.losses),
                  std::fmax(p.most, q.most), p.has_signs || q.has_signs};
  if (a.is_finite() && b.is_finite()) {
    const double gap = std::fabs(a.v - b.v) + a.r + b.r;
    if (!t.exact_is_sure) y.r = (gap + a.r) * reference::k_inflate;
    y.e = (std::fmax(a.e, gap + b.e) + (t.exact_is_sure ? 0 : gap)) * reference::k_inflate;
    return y;
  }
  if (!t.exact_is_sure) return unknown_value();
  if (b.is_special() && !std::isnan(b.v)) y.s |= b.v > 0 ? plus_infinity : minus_infinity;
  if (b.is_special() && std::isnan(b.v)) y.s |= not_a_number;
  if (a.is_finite()) {
    if (b.is_beyond() || b.e == k_inf) y.e = k_inf;
  } else if (!b.is_special() || b.e == k_inf) {
    y.e = k_inf;
  }
  if (!a.is_finite() && a.is_beyond()) return unknown_value();
  return y;
}

bounded bound_algebra::neutral(reduction by) const {
  switch (by) {
    case reduction::sum: return rounded_constant(0);
    case reduction::prod: return rounded_constant(1);
    case reduction::max:
    case reduction::fmax:
    case reduction::argmax: return special_value(-k_inf);
    case reduction::min:
    case reduction::fmin:
    case reduction::argmin: return special_value(k_inf);
    default: return unknown_value();  // the number of terms of a mean is unknown
  }
}

}  // namespace warpcheck::formula
