// The algebra of a kernel that evaluates a formula and rounds every operation to one format. With options it is one of
// many honest kernels, or one of too little precision.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "reference/formula/bounded.hpp"

namespace warpcheck::formula {

struct machine_options {
  number_type format = number_type::f32;      // of every operation
  number_type accumulate = number_type::f32;  // of sums
  number_type operands = number_type::f64;    // inputs are first rounded to this type; f64: they are not
  uint64_t seed = 0;                          // 0: in the order of indices, functions correctly rounded, IEEE division
  double ulps = 2;                            // of functions, with a seed
};

class machine_algebra {
 public:
  using value = double;
  explicit machine_algebra(machine_options o) : o_(o) {}

  value constant(const code& c) const { return r(c.what == code::form::scalar ? c.number : number(c.text)); }
  value whole(int64_t n) const { return r(static_cast<double>(n)); }
  value load(const code&, double element) const { return round_to_type(o_.operands, r_input(element)); }
  value outside(value a) const { return a; }
  value negate(value a) const { return -a; }
  value binary(code::form what, value a, value b, bool) const {
    switch (what) {
      case code::form::add: return r(a + b);
      case code::form::subtract: return r(a - b);
      case code::form::multiply: return r(a * b);
      default: return chance(a, b) ? r(a * r(1 / b)) : r(a / b);
    }
  }
  value power(value a, int k) const {
    if (k < 0) return binary(code::form::divide, 1, power(a, -k), false);
    value y = k == 0 ? 1 : a;
    for (int i = 1; i < k; ++i) y = r(y * a);
    return y;
  }
  value call(function f, value a) const {
    const value y = r(apply_in_double(f, a));
    const bool is_exact = f == function::abs || f == function::floor || f == function::round || f == function::sqrt;
    return is_exact ? y : shifted(y, drawn(a, static_cast<double>(f)));
  }
  value call(function f, value a, value b) const {
    const bool nan = std::isnan(a) || std::isnan(b);
    switch (f) {
      case function::max: return nan ? std::nan("") : std::fmax(a, b);
      case function::min: return nan ? std::nan("") : std::fmin(a, b);
      case function::fmax: return std::fmax(a, b);
      case function::fmin: return std::fmin(a, b);
      default: return shifted(r(std::pow(a, b)), drawn(a, b));
    }
  }
  value cast(value a, number_type t) const { return round_to_type(t, a); }
  value stored(value a, number_type t) const { return o_.seed == 0 || chance(a) ? round_to_type(t, a) : a; }
  value as_output(value a, number_type t) const { return stored(a, t); }
  value at_most_zero(value a) const { return a; }
  value holds_one(value a) const { return a; }
  value neutral(reduction by) const { return by == reduction::prod ? 1 : 0; }
  truth compare(kind sign, value a, value b) const { return {compare_values(sign, a, b)}; }
  value choose(const truth& t, value then, value otherwise) const { return t.holds ? then : otherwise; }
  int64_t index_of(value a) const { return std::isfinite(a) ? std::llround(a) : 0; }

  class total {
   public:
    total(const machine_algebra& a, reduction by) : a_(&a), by_(by) {}
    void add(value t, int64_t index);
    value result() const;

   private:
    value plus(value a, value b) const { return round_to_type(a_->o_.accumulate, round_to_type(a_->o_.format, a + b)); }
    value added_in_any_order() const;

    const machine_algebra* a_;
    reduction by_;
    std::vector<value> terms_;  // of a sum in any order
    int64_t count_ = 0, place_ = 0;
    value running_ = 0;  // sum, product or extreme of the terms so far
  };

 private:
  static double number(const std::string& text) { return text == "inf" ? k_inf : std::strtod(text.c_str(), nullptr); }
  value r(value x) const { return round_to_type(o_.format, x); }
  value r_input(value x) const { return o_.format == number_type::f64 ? x : round_to_type(number_type::f32, x); }
  // A kernel computes an operation on the same operands alike, wherever it repeats it: so a choice follows from these.
  uint64_t drawn(value a, value b = 0) const {
    uint64_t h = o_.seed;
    for (const value x : {a, b}) {
      h = (h ^ std::bit_cast<uint64_t>(x)) * 0x9e3779b97f4a7c15;
      h = (h ^ h >> 32) * 0xd6e8feb86659fd93;
      h ^= h >> 29;
    }
    return h;
  }
  bool chance(value a, value b = 0) const { return o_.seed != 0 && (drawn(a, b) & 1) != 0; }
  // By up to the contract's ulps, but where the result is a fixed point.
  value shifted(value y, uint64_t choice) const {
    if (o_.seed == 0 || !std::isfinite(y) || y == 0 || std::fabs(y) == 1) return y;
    const float_range f = range_of(o_.format);
    int exponent = 0;
    std::frexp(y, &exponent);
    const double unit = std::ldexp(1.0, std::max(exponent - f.digits, f.min_exponent));
    const auto steps = static_cast<double>(choice % 5) - 2;
    const value moved = r(y + std::trunc(steps / 2 * o_.ulps) * unit);
    return std::signbit(moved) == std::signbit(y) ? moved : 0;  // a function keeps its sign where it is subnormal
  }

  machine_options o_;
};

inline void machine_algebra::total::add(value t, int64_t index) {
  const bool is_first = count_++ == 0;
  const bool largest = by_ == reduction::max || by_ == reduction::fmax || by_ == reduction::argmax;
  switch (by_) {
    case reduction::sum:
    case reduction::mean:
      if (a_->o_.seed != 0) terms_.push_back(t);
      running_ = is_first ? t : plus(running_, t);
      return;
    case reduction::prod: running_ = is_first ? a_->r(t) : a_->r(running_ * t); return;
    case reduction::argmax:
    case reduction::argmin: {
      const bool is_better = largest ? t > running_ : t < running_;
      if (is_first || (!std::isnan(running_) && (std::isnan(t) || is_better))) running_ = t, place_ = index;
      return;
    }
    default: {
      const bool drops = by_ == reduction::fmax || by_ == reduction::fmin;
      if (is_first) running_ = largest ? -k_inf : k_inf;
      if (!drops && (std::isnan(t) || std::isnan(running_))) {
        running_ = std::nan("");
      } else {
        running_ = largest ? std::fmax(running_, t) : std::fmin(running_, t);
      }
    }
  }
}

// Any two of the remaining terms are added, so every order is possible.
inline double machine_algebra::total::added_in_any_order() const {
  std::vector<value> left = terms_;
  uint64_t choice = 0;
  for (const value t : terms_) choice = a_->drawn(t, static_cast<double>(choice >> 12));
  std::mt19937_64 draws(choice);
  while (left.size() > 1) {
    const size_t i = draws() % left.size();
    std::swap(left[i], left.back());
    const value last = left.back();
    left.pop_back();
    const size_t j = draws() % 2 == 0 ? left.size() - 1 : draws() % left.size();
    left[j] = plus(left[j], last);
  }
  return left.empty() ? 0 : left[0];
}

inline double machine_algebra::total::result() const {
  const bool largest = by_ == reduction::max || by_ == reduction::fmax;
  switch (by_) {
    case reduction::sum:
    case reduction::mean: {
      const value sum = a_->o_.seed == 0 ? running_ : added_in_any_order();
      return by_ == reduction::sum ? sum : a_->binary(code::form::divide, sum, static_cast<double>(count_), false);
    }
    case reduction::prod: return count_ == 0 ? 1 : running_;
    case reduction::argmax:
    case reduction::argmin: return static_cast<double>(place_);
    default: return count_ > 0 ? running_ : largest ? -k_inf : k_inf;
  }
}

}  // namespace warpcheck::formula
