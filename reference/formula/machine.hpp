// The algebra of a kernel that does what a formula says: every operation is rounded to one format. With options it is
// one of many honest kernels, or one of too little precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "reference/formula/bounded.hpp"

namespace warpcheck::formula {

struct machine_options {
  number_type format = number_type::f32;      // of every operation
  number_type accumulate = number_type::f32;  // of sums
  number_type operands = number_type::f64;    // what inputs are rounded to first; f64: they are not
  uint64_t seed = 0;                          // 0: in the order of indices, functions correctly rounded, IEEE division
  double ulps = 2;                            // of functions, with a seed
};

class machine_algebra {
 public:
  using value = double;
  explicit machine_algebra(machine_options o) : o_(o), draws_(o.seed) {}

  value constant(const code& c) const { return r(c.what == code::form::scalar ? c.number : number(c.text)); }
  value whole(int64_t n) const { return r(static_cast<double>(n)); }
  value load(const code&, double element) const { return round_to_type(o_.operands, r_input(element)); }
  value negate(value a) const { return -a; }
  value binary(code::form what, value a, value b, bool) {
    switch (what) {
      case code::form::add: return r(a + b);
      case code::form::subtract: return r(a - b);
      case code::form::multiply: return r(a * b);
      default: return chance() ? r(a * r(1 / b)) : r(a / b);
    }
  }
  value power(value a, int k) {
    if (k < 0) return binary(code::form::divide, 1, power(a, -k), false);
    value y = k == 0 ? 1 : a;
    for (int i = 1; i < k; ++i) y = r(y * a);
    return y;
  }
  value call(function f, value a) {
    const value y = r(apply_in_double(f, a));
    const bool is_exact = f == function::abs || f == function::floor || f == function::round || f == function::sqrt;
    return is_exact ? y : shifted(y);
  }
  value call(function f, value a, value b) {
    const bool nan = std::isnan(a) || std::isnan(b);
    switch (f) {
      case function::max: return nan ? std::nan("") : std::fmax(a, b);
      case function::min: return nan ? std::nan("") : std::fmin(a, b);
      case function::fmax: return std::fmax(a, b);
      case function::fmin: return std::fmin(a, b);
      default: return shifted(r(std::pow(a, b)));
    }
  }
  value cast(value a, number_type t) const { return round_to_type(t, a); }
  value stored(value a, number_type t) { return o_.seed == 0 || chance() ? round_to_type(t, a) : a; }
  value as_output(value a, number_type t) { return stored(a, t); }
  value at_most_zero(value a) const { return a; }
  value holds_one(value a) const { return a; }
  value neutral(reduction by) const { return by == reduction::prod ? 1 : 0; }
  truth compare(kind sign, value a, value b) const { return {compare_values(sign, a, b)}; }
  value choose(const truth& t, value then, value otherwise) const { return t.holds ? then : otherwise; }
  int64_t index_of(value a) const { return std::isfinite(a) ? std::llround(a) : 0; }

  class total {
   public:
    total(machine_algebra& a, reduction by) : a_(&a), by_(by) {}
    void add(value t, int64_t index) {
      terms_.push_back(t);
      places_.push_back(index);
    }
    value result() const;

   private:
    value added() const;

    machine_algebra* a_;
    reduction by_;
    std::vector<value> terms_;
    std::vector<int64_t> places_;
  };

 private:
  static double number(const std::string& text) { return text == "inf" ? k_inf : std::strtod(text.c_str(), nullptr); }
  value r(value x) const { return round_to_type(o_.format, x); }
  value r_input(value x) const { return o_.format == number_type::f64 ? x : round_to_type(number_type::f32, x); }
  bool chance() { return o_.seed != 0 && (draws_() & 1) != 0; }
  // By up to the contract's ulps, but where the result is a fixed point.
  value shifted(value y) {
    if (o_.seed == 0 || !std::isfinite(y) || y == 0 || std::fabs(y) == 1) return y;
    const float_range f = range_of(o_.format);
    int exponent = 0;
    std::frexp(y, &exponent);
    const double unit = std::ldexp(1.0, std::max(exponent - f.digits, f.min_exponent));
    const auto steps = static_cast<double>(draws_() % 5) - 2;
    const value moved = r(y + std::trunc(steps / 2 * o_.ulps) * unit);
    return std::signbit(moved) == std::signbit(y) ? moved : 0;  // a function keeps its sign where it is subnormal
  }

  machine_options o_;
  std::mt19937_64 draws_;
};

inline double machine_algebra::total::added() const {
  std::vector<value> left = terms_;
  if (left.empty()) return 0;
  const auto plus = [&](value a, value b) {
    return round_to_type(a_->o_.accumulate, round_to_type(a_->o_.format, a + b));
  };
  if (a_->o_.seed == 0) {
    value y = left[0];
    for (size_t i = 1; i < left.size(); ++i) y = plus(y, left[i]);
    return y;
  }
  // Any two of what is left are added: every order can come up.
  while (left.size() > 1) {
    const size_t i = a_->draws_() % left.size();
    std::swap(left[i], left.back());
    const value last = left.back();
    left.pop_back();
    const size_t j = a_->draws_() % 2 == 0 ? left.size() - 1 : a_->draws_() % left.size();
    left[j] = plus(left[j], last);
  }
  return left[0];
}

inline double machine_algebra::total::result() const {
  const bool largest = by_ == reduction::max || by_ == reduction::fmax || by_ == reduction::argmax;
  switch (by_) {
    case reduction::sum: return added();
    case reduction::mean: return a_->binary(code::form::divide, added(), static_cast<double>(terms_.size()), false);
    case reduction::prod: {
      value y = 1;
      for (const value t : terms_) y = a_->r(y * t);
      return y;
    }
    case reduction::argmax:
    case reduction::argmin: {
      size_t best = 0;
      for (size_t i = 1; i < terms_.size() && !std::isnan(terms_[best]); ++i)
        if (std::isnan(terms_[i]) || (largest ? terms_[i] > terms_[best] : terms_[i] < terms_[best])) best = i;
      return places_.empty() ? 0 : static_cast<double>(places_[best]);
    }
    default: {
      value y = largest ? -k_inf : k_inf;
      const bool drops = by_ == reduction::fmax || by_ == reduction::fmin;
      for (const value t : terms_) {
        if (!drops && (std::isnan(t) || std::isnan(y))) {
          y = std::nan("");
        } else {
          y = largest ? std::fmax(y, t) : std::fmin(y, t);
        }
      }
      return y;
    }
  }
}

}  // namespace warpcheck::formula
