// The algebra of exact values alone, in 50 or 100 digits, for elements whose enclosures in bounded.hpp are too wide.
// The midpoint decides conditions and steps that these digits leave open. Costly to compile.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/formula/bounded.hpp"
#include "reference/formula/functions.hpp"
#include "reference/formula/program.hpp"
#include "reference/formula/walker.hpp"
#include "reference/numerics/multiprecision.hpp"

namespace warpcheck::formula {

template <class Real>
class exact_algebra {
 public:
  using number = basic_enclosure<Real>;
  struct value {
    number x;
    double special = 0;  // not 0: infinite or NaN instead of x
    double approximate() const { return special != 0 ? special : static_cast<double>(x.value); }
  };

  value constant(const code& c) const {
    if (c.what == code::form::scalar) return of(c.number);
    if (c.text == "inf") return {{}, k_inf};
    const Real v(c.text.c_str());
    return {number(v, magnitude(v) * arithmetic<Real>::unit * 4)};
  }
  value whole(int64_t n) const { return {number(static_cast<double>(n))}; }
  value load(const code&, double element) const { return of(element); }
  value outside(const value& a) const { return a; }
  value negate(const value& a) const { return {-a.x, -a.special}; }
  value binary(code::form what, const value& a, const value& b, bool) const {
    const bool by_zero = what == code::form::divide && b.special == 0 && b.x.value == 0;
    if (a.special != 0 || b.special != 0 || by_zero) {
      const double x = a.approximate(), z = b.approximate();
      return of(what == code::form::add        ? x + z
                : what == code::form::subtract ? x - z
                : what == code::form::multiply ? x * z
                                               : x / z);
    }
    return checked(what == code::form::add        ? a.x + b.x
                   : what == code::form::subtract ? a.x - b.x
                   : what == code::form::multiply ? a.x * b.x
                                                  : a.x / b.x);
  }
  value power(const value& a, int k) const {
    value y = whole(1);
    for (int i = 0; i < std::abs(k); ++i) y = binary(code::form::multiply, y, a, false);
    return k < 0 ? binary(code::form::divide, whole(1), y, false) : y;
  }
  value call(function f, const value& a) const;
  value call(function f, const value& a, const value& b) const;
  value cast(const value& a, number_type t) const { return of(round_to_type(t, a.approximate())); }
  value stored(const value& a, number_type) const { return a; }
  value as_output(const value& a, number_type) const { return a; }
  value at_most_zero(const value& a) const { return a; }
  value holds_one(const value& a) const { return a; }
  value neutral(reduction) const { return whole(0); }
  truth compare(kind sign, const value& a, const value& b) const {
    if (a.special != 0 || b.special != 0) return {compare_values(sign, a.approximate(), b.approximate())};
    return {compare_values(sign, a.x.value, b.x.value)};
  }
  value choose(const truth& t, const value& then, const value& otherwise) const { return t.holds ? then : otherwise; }
  int64_t index_of(const value& a) const { return std::llround(a.approximate()); }

  class total {
   public:
    total(const exact_algebra& a, reduction by) : a_(&a), by_(by), y_(a.whole(by == reduction::prod ? 1 : 0)) {
      const bool least = by == reduction::min || by == reduction::fmin;
      if (by == reduction::max || by == reduction::fmax || least) y_ = {{}, least ? k_inf : -k_inf};
    }
    void add(const value& t, int64_t index) {
      const bool is_first = n_++ == 0;
      switch (by_) {
        case reduction::sum:
        case reduction::mean: y_ = a_->binary(code::form::add, y_, t, false); break;
        case reduction::prod: y_ = a_->binary(code::form::multiply, y_, t, false); break;
        case reduction::max: y_ = a_->call(function::max, y_, t); break;
        case reduction::min: y_ = a_->call(function::min, y_, t); break;
        case reduction::fmax: y_ = a_->call(function::fmax, y_, t); break;
        case reduction::fmin: y_ = a_->call(function::fmin, y_, t); break;
        default: {
          const kind better = by_ == reduction::argmax ? kind::greater : kind::less;
          const bool best_is_nan = std::isnan(y_.special), is_nan = std::isnan(t.special);
          if (is_first || (!best_is_nan && (is_nan || a_->compare(better, t, y_).holds))) y_ = t, at_ = index;
        }
      }
    }
    value result() const {
      if (by_ == reduction::argmax || by_ == reduction::argmin) return a_->whole(at_);
      return by_ == reduction::mean ? a_->binary(code::form::divide, y_, a_->whole(n_), false) : y_;
    }

   private:
    const exact_algebra* a_;
    reduction by_;
    value y_;
    int64_t n_ = 0, at_ = 0;
  };

 private:
  static value of(double x) {
    if (!std::isfinite(x)) return {{}, x};
    return {number(x)};
  }
  // A result beyond double's range becomes infinite; its digits decide nothing.
  static value checked(number x) {
    const double v = static_cast<double>(x.value);
    return std::isfinite(v) ? value{std::move(x)} : of(v);
  }
};

template <class Real>
typename exact_algebra<Real>::value exact_algebra<Real>::call(function f, const value& a) const {
  if (a.special != 0) return of(apply_in_double(f, a.special));
  const double v = static_cast<double>(a.x.value);
  const bool outside = (f == function::log && v <= 0) || (f == function::sqrt && v < 0) ||
                       (f == function::rsqrt && v <= 0) || (f == function::log1p && v <= -1) ||
                       (f == function::exp && std::fabs(v) > 700) || (f == function::expm1 && v > 700);
  if (outside) return of(apply_in_double(f, v));
  const auto whole_step = [&](auto step) { return value{number(step(a.x.value), 0)}; };
  switch (f) {
    case function::exp: return {exp(a.x)};
    case function::log: return {formula::log(a.x)};
    case function::log1p: return {log1p(a.x)};
    case function::expm1: return {expm1(a.x)};
    case function::sqrt: return v == 0 ? a : value{sqrt(a.x)};
    case function::rsqrt: return {number(1.0) / sqrt(a.x)};
    case function::tanh: return {formula::tanh(a.x)};
    case function::erf: return {formula::erf(a.x)};
    case function::sin: return {formula::sin(a.x)};
    case function::cos: return {formula::cos(a.x)};
    case function::abs: return {abs(a.x)};
    case function::floor: return whole_step([](const Real& x) { return Real(floor(x)); });
    default: return whole_step([](const Real& x) { return nearest_whole(x); });
  }
}

template <class Real>
typename exact_algebra<Real>::value exact_algebra<Real>::call(function f, const value& a, const value& b) const {
  const bool nan = std::isnan(a.special) || std::isnan(b.special);
  switch (f) {
    case function::max:
    case function::min:
      if (nan) return of(std::nan(""));
      return compare(f == function::max ? kind::greater_equal : kind::less_equal, a, b).holds ? a : b;
    case function::fmax:
    case function::fmin:
      if (nan) return std::isnan(a.special) ? b : a;
      return compare(f == function::fmax ? kind::greater_equal : kind::less_equal, a, b).holds ? a : b;
    default: break;
  }
  const double x = a.approximate(), z = b.approximate();
  if (a.special != 0 || b.special != 0 || x <= 0) {
    if (x < 0 && b.special == 0 && a.special == 0 && z == std::nearbyint(z) && std::fabs(z) < 1e6)
      return power(a, static_cast<int>(z));
    return of(std::pow(x, z));
  }
  return {exp(b.x * formula::log(a.x))};
}

}  // namespace warpcheck::formula
