// The algebra of bounds. It encloses the exact value of every intermediate in double, and bounds how far a kernel's
// value may be from it under a contract of arithmetic. Rules, sources and proof: docs/numerics.md, "formulas".
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "reference/formula/contract.hpp"
#include "reference/formula/program.hpp"
#include "reference/formula/walker.hpp"
#include "reference/numerics/enclosure.hpp"
#include "reference/numerics/two_sum.hpp"

namespace warpcheck::formula {

inline constexpr double k_inf = std::numeric_limits<double>::infinity();

// Values that a kernel may have in place of a finite number.
enum special : uint8_t { plus_infinity = 1, minus_infinity = 2, not_a_number = 4, any_special = 7 };

// The factors of a product, or of all terms of a sum. A kernel may multiply them in another order, divide early, and do
// both to each term. A rounding to a subnormal is then off by half an eta times the factors that follow.
struct factors {
  double large = 0;   // at least any product of some of the factors, added over the terms; 0: the value is one factor
  double small = 1;   // at most any such product
  double losses = 0;  // of all roundings together, in units of eta / 2
  double most = 0;    // at least any such product of one term, and any sum of whole terms
  bool has_signs = false;  // terms of a sum may be 0, or of both signs: their products with Inf may add up to NaN
};

// One intermediate value. Four cases:
//   finite         the exact value lies within r of v, and a finite computed value within e of the exact one
//   special        v is NaN or infinite, r = 0: the extended reals fix it; e is infinite where a computed value may be
//                  anything all the same, else 0
//   beyond         v is infinite, r > 0: the exact value is finite, and it and every finite computed value have that
//                  sign and are at least r in size, which is beyond every format
//   unknown        r and e are infinite
// A computed value may be any of the specials in `s`, too. Finite computed values, and the exact one but for the
// rounding of a function, lie in [low, high].
struct bounded {
  double v = 0, r = 0, e = 0;
  double low = -k_inf, high = k_inf;
  factors product_of;
  uint8_t s = 0;
  bool is_outside = false;  // the value beyond a tensor: a kernel may leave out its product with another

  bool is_finite() const { return std::fabs(v) < k_inf && r < k_inf; }
  bool is_plain() const { return s == 0 && std::fabs(v) + r + e < k_inf; }
  bool is_special() const { return r == 0 && !(std::fabs(v) < k_inf); }
  bool is_beyond() const { return r > 0 && std::fabs(v) == k_inf; }
  bool is_unknown() const { return r == k_inf; }
  bool may_be_infinite() const { return std::fabs(v) == k_inf || (s & (plus_infinity | minus_infinity)) != 0; }
  double size() const { return std::fabs(v) + r; }  // upper bound of the exact value's size, if it is finite
  bool is_exact() const { return e == 0 && r == 0 && s == 0; }
  // Ends of the finite computed values, if the exact value is finite.
  double lower() const { return std::fmax(v - (r + e) * reference::k_inflate, low); }
  double upper() const { return std::fmin(v + (r + e) * reference::k_inflate, high); }
};

// Numbers of the contract, each an upper bound.
struct allowance {
  explicit allowance(const contract& c);
  // gamma_k = k u / (1 - k u): relative error of k roundings (Higham, Accuracy and Stability, 2nd ed., lemma 3.1).
  double roundings(double k) const;
  double sum(double terms) const;  // relative error of a sum of this many nonzero terms

  contract of;
  double u, eta, omega;      // omega: from here on a rounded value may be infinite
  double function, power;    // relative errors
  double one, two, divided;  // of one rounding, two, and a division; slack included
};

class bound_algebra {
 public:
  using value = bounded;
  explicit bound_algebra(const contract& c) : c_(c) {}

  value constant(const code& c) const;
  value whole(int64_t n) const {
    const auto v = static_cast<double>(n);
    value b = rounded_constant(v);
    b.low = n >= 0 ? 0 : -k_inf;
    return b;
  }
  value load(const code& c, double element) const {
    value b;
    b.v = element;
    if (c.from_least >= 0) b.low = 0;
    const number_type format = c_.of.format;
    const bool is_exact = format == c.from_type || format == number_type::f64 ||
                          (format == number_type::f32 && c.from_type != number_type::f64);
    if (!is_exact) return rounded_constant(element);
    return b;
  }
  value outside(value a) const {
    a.is_outside = true;
    return a;
  }
  value negate(value a) const;
  value binary(code::form what, const value& a, const value& b, bool are_same) const {
    if (a.is_plain() && b.is_plain()) {
      value y = what == code::form::multiply ? product(a, b, are_same)
                : what == code::form::divide ? quotient(a, b)
                                             : sum(what, a, b);
      if (std::fabs(y.v) + y.r < k_inf) return in_other_orders(what, y, a, b);
    }
    return in_other_orders(what, binary_of_specials(what, a, b, are_same), a, b);
  }
  value power(const value& a, int k) const;
  value call(function f, const value& a) const;
  value call(function f, const value& a, const value& b) const;
  value cast(const value& a, number_type t) const;
  value stored(const value& a, number_type t) const;
  value as_output(const value& a, number_type t) const {
    return range_of(t).digits < range_of(c_.of.format).digits ? stored(a, t) : a;
  }
  value at_most_zero(value a) const {
    a.high = std::fmin(a.high, 0);
    return a;
  }
  value holds_one(value a) const {
    a.low = std::fmax(a.low, 1 - c_.function);
    return a;
  }
  value neutral(reduction by) const;
  truth compare(kind sign, const value& a, const value& b) const;
  value choose(const truth& t, const value& then, const value& otherwise) const;
  int64_t index_of(const value& a) const { return std::isfinite(a.v) ? std::llround(a.v) : 0; }
  const allowance& numbers() const { return c_; }

  // A reduction, term by term; scans ask for the result after each.
  class total {
   public:
    total(const bound_algebra& algebra, reduction by) : a_(&algebra), by_(by) {}
    void add(const value& term, int64_t index);
    // Adds n products of values of at most 24 digits, whose product is a double exactly: the same as add() of each.
    // False, and nothing is added, where one may be special.
    bool add_products(const double* x, int64_t x_step, const double* z, int64_t z_step, int64_t n);
    value result() const;

   private:
    void add_to_sum(const value& t);
    void add_to_product(const value& t);
    void add_to_extreme(const value& t);
    value sum_result() const;
    value product_result() const;
    value extreme_result() const;
    value choice_result() const;
    const bound_algebra* a_;
    reduction by_;
    int64_t count_ = 0, nonzero_ = 0;
    uint8_t specials_ = 0;
    bool is_unknown_ = false, is_free_ = false, all_positive_ = true;  // free: a term has no bound
    // A sum without the terms that are exactly special or beyond every format.
    double sum_ = 0, correction_ = 0, radii_ = 0, sizes_ = 0, errors_ = 0, positive_ = 0, negative_ = 0;
    factors factors_;
    double greatest_low_ = 0, special_ = 0, beyond_plus_ = 0, beyond_minus_ = 0;
    bool is_inexact_ = false, has_special_ = false;
    int lowest_bit_ = 2000;
    // A product.
    value product_;
    double grown_ = 1, large_ = 1, small_ = 1;
    bool has_zero_ = false;
    // A maximum; a minimum is the maximum of the negative values.
    double top_ = -k_inf, exact_low_ = -k_inf, exact_high_ = -k_inf, low_ = -k_inf, high_ = -k_inf;
    double range_low_ = -k_inf, range_high_ = -k_inf, beyond_ = 0;
    bool has_nan_ = false, all_may_be_nan_ = true;
    std::vector<value> choices_;  // of argmax, and their indices
    std::vector<int64_t> places_;
  };

 private:
  friend class total;
  value rounded_constant(double v) const;  // rounded where the format does not hold it
  value sum(code::form what, const value& a, const value& b) const;
  value product(const value& a, const value& b, bool are_same) const;
  value quotient(const value& a, const value& b) const;
  value binary_of_specials(code::form what, const value& a, const value& b, bool are_same) const;
  value beyond_of(code::form what, const value& a, const value& b) const;
  value function_of(function f, const value& a) const;
  value power_function(const value& a, const value& b) const;
  value larger(const value& a, const value& b, double sign, bool drops_nan) const;
  void round(value& y, double relative, double absolute) const;
  double lost(const factors& of, bool is_more) const;
  void keep_sign(value& y, const value& a, const value& b) const;
  void overflow_between(value& y) const;
  value in_other_orders(code::form what, value y, const value& a, const value& b) const;
  void overflow(value& y) const;
  template <class F>
  void spill(value& y, F f, const value& a) const;
  template <class F>
  void spill(value& y, F f, const value& a, const value& b) const;

  allowance c_;
};

// The nearest value of a float type, ties to even, infinite beyond its range; of e4m3, which has no infinity, 448.
double round_to_type(number_type t, double x);
bool holds(number_type t, double x);
bounded unknown_value();
double apply_in_double(function f, double x);

inline factors factors_of(const bounded& a) {
  if (a.product_of.large > 0) return a.product_of;
  const double most = a.size() + a.e;
  if (!a.is_finite() || !(most > 0)) return {1, 1, 0, 1};
  return {std::fmax(most, 1), std::fmin(std::fmax(std::fabs(a.v) - a.r - a.e, 0), 1), 0, std::fmax(most, 1)};
}

// A divisor as a whole is one factor, its reciprocal, which may be rounded to a subnormal, too.
inline factors reciprocal_of(const bounded& b) {
  const double least = std::fmax(std::fabs(b.v) - (b.r + b.e) * reference::k_inflate, b.low);
  if (!b.is_finite() || !(least > 0)) return {1, 1, 0, 1};
  const double inverse = std::fmax(1 / least * reference::k_inflate, 1);
  return {inverse, std::fmin(1 / (b.size() + b.e), 1) * (1 - 0x1p-50), inverse, inverse};
}

// The factors of a product of two values.
inline factors joined(const factors& p, const factors& q) {
  const double large = p.large * q.large * reference::k_inflate;
  return {large, p.small * q.small, (p.losses * q.large + q.losses * p.large) * reference::k_inflate + large,
          p.most * q.most * reference::k_inflate, p.has_signs || q.has_signs};
}

// The absolute error of a product of these factors; if `is_more`, of more than two.
inline double bound_algebra::lost(const factors& of, bool is_more) const {
  const bool may_be_subnormal = of.small < std::ldexp(c_.eta, range_of(c_.of.format).digits);
  return c_.eta / 2 * (is_more && may_be_subnormal && c_.of.slack > 0 ? std::fmax(of.losses, 1) : 1);
}

// A partial product may be infinite in one order of the factors and not in others, and 0 beside an infinite factor.
inline void bound_algebra::overflow_between(value& y) const {
  if (c_.of.slack == 0) return;
  if (y.product_of.most >= c_.omega) {
    y.s = any_special;
  } else if (y.may_be_infinite() && y.product_of.small < c_.eta) {
    y.s |= not_a_number;
  }
  if (c_.of.overflow_free && y.s != 0) y.e = k_inf;
}

inline bounded bound_algebra::in_other_orders(code::form what, value y, const value& a, const value& b) const {
  const bool is_product = what == code::form::multiply;
  if (!is_product && what != code::form::divide) return y;
  if (y.product_of.large == 0) y.product_of = joined(factors_of(a), is_product ? factors_of(b) : reciprocal_of(b));
  const bool is_infinite = is_product ? b.may_be_infinite() : b.lower() <= 0 && b.upper() >= 0;
  const bool may_cancel =
      (a.product_of.has_signs && is_infinite) || (is_product && b.product_of.has_signs && a.may_be_infinite());
  if (may_cancel && c_.of.slack > 0) y.s |= not_a_number;
  if (a.product_of.large > 0 || (is_product && b.product_of.large > 0)) overflow_between(y);
  return y;
}

// A product's or quotient's rounding keeps the sign, also where it underflows.
inline void bound_algebra::keep_sign(value& y, const value& a, const value& b) const {
  if (!(y.e >= std::fabs(y.v) - y.r)) return;
  const auto sign = [](const value& x) { return x.lower() >= 0 ? 1 : x.upper() <= 0 ? -1 : 0; };
  const int both = sign(a) * sign(b);
  if (both > 0) y.low = std::fmax(y.low, 0);
  if (both < 0) y.high = std::fmin(y.high, 0);
}

inline bounded bound_algebra::product(const value& a, const value& b, bool are_same) const {
  value y;
  y.v = a.v * b.v;
  const double x = a.size(), z = b.size();
  y.r = (std::fabs(a.v) * b.r + z * a.r + reference::k_double_unit * std::fabs(y.v)) * reference::k_inflate +
        reference::k_tiny;
  if (a.r == 0 && b.r == 0 && std::fma(a.v, b.v, -y.v) == 0 && (std::fabs(y.v) > 0x1p-900 || a.v == 0 || b.v == 0))
    y.r = 0;
  y.e = x * b.e + (z + b.e) * a.e;
  if (are_same || (a.low >= 0 && b.low >= 0)) y.low = 0;
  y.product_of = joined(factors_of(a), factors_of(b));
  if (y.v == 0 && y.r + y.e == 0) y.product_of.losses = 0, y.product_of.small = 1;  // 0 loses nothing
  if (c_.of.exact && y.r == 0 && y.e == 0 && holds(c_.of.format, y.v)) return y;
  round(y, c_.one, lost(y.product_of, a.product_of.large + b.product_of.large > 0));
  keep_sign(y, a, b);
  return y;
}

inline bounded bound_algebra::sum(code::form what, const value& a, const value& b) const {
  value y;
  const double other = what == code::form::add ? b.v : -b.v;
  y.v = a.v + other;
  const bool is_exact_sum = reference::sum_error(a.v, other, y.v) == 0;
  y.r = (a.r + b.r + (is_exact_sum ? 0 : reference::k_double_unit * std::fabs(y.v))) * reference::k_inflate;
  y.e = a.e + b.e;
  if (what == code::form::add && a.low >= 0 && b.low >= 0) y.low = std::fmax(a.low, b.low);
  // Adding 0 rounds nothing.
  if ((a.v == 0 && a.r + a.e == 0) || (b.v == 0 && b.r + b.e == 0)) {
    y.e *= reference::k_inflate;
    return y;
  }
  if (c_.of.exact && y.r == 0 && y.e == 0 && holds(c_.of.format, y.v)) return y;
  round(y, c_.one, 0);
  return y;
}

// Adds the rounding of a result that is off by y.e before it: running error analysis (Higham 3.3).
inline void bound_algebra::round(value& y, double relative, double absolute) const {
  const double size = y.size() + y.e;
  y.e = (y.e + relative * size + (size > 0 ? absolute : 0)) * reference::k_inflate;
  if (size + y.e >= c_.omega) overflow(y);
}

}  // namespace warpcheck::formula
