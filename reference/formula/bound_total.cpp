// Reductions of the algebra of bounds.
#include <algorithm>
#include <cfloat>

#include "reference/formula/bound_spill.hpp"

namespace warpcheck::formula {
namespace {

double direction(reduction by) {
  return by == reduction::min || by == reduction::fmin || by == reduction::argmin ? -1 : 1;
}

// The exponent of the lowest bit of x that is set.
int lowest_bit(double x) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  const auto digits = static_cast<int64_t>(std::ldexp(std::fabs(fraction), 53));
  return exponent - 53 + __builtin_ctzll(static_cast<unsigned long long>(digits));
}

}  // namespace

void bound_algebra::total::add(const value& t, int64_t index) {
  ++count_;
  specials_ |= t.s;
  is_unknown_ = is_unknown_ || t.is_unknown();
  is_free_ = is_free_ || t.e == k_inf;
  if (by_ == reduction::sum || by_ == reduction::mean) {
    add_to_sum(t);
  } else if (by_ == reduction::prod) {
    add_to_product(t);
  } else if (by_ == reduction::argmax || by_ == reduction::argmin) {
    choices_.push_back(direction(by_) > 0 ? t : a_->negate(t));
    places_.push_back(index);
  } else {
    add_to_extreme(direction(by_) > 0 ? t : a_->negate(t));
  }
}

bounded bound_algebra::total::result() const {
  if (by_ == reduction::argmax || by_ == reduction::argmin) return choice_result();
  if (is_unknown_) return unknown_value();
  if (by_ == reduction::sum) return sum_result();
  if (by_ == reduction::mean) return a_->binary(code::form::divide, sum_result(), a_->whole(count_), false);
  return by_ == reduction::prod ? product_result() : extreme_result();
}

void bound_algebra::total::add_to_sum(const value& t) {
  if (t.is_finite()) {
    const double next = sum_ + t.v, lost = reference::sum_error(sum_, t.v, next);
    is_inexact_ = is_inexact_ || lost != 0;
    correction_ += lost;
    sum_ = next;
    radii_ += t.r;
    sizes_ += t.size();
    errors_ += t.e;
    positive_ += std::fmax(t.v + t.r + t.e, 0);
    negative_ += std::fmax(t.r + t.e - t.v, 0);
    if (t.v != 0 || t.r + t.e > 0) ++nonzero_;  // adding 0 rounds nothing
    if (a_->c_.of.exact && t.v != 0) lowest_bit_ = std::min(lowest_bit_, lowest_bit(t.v));
  } else if (t.is_beyond()) {
    (t.v > 0 ? beyond_plus_ : beyond_minus_) += t.r;
    ++nonzero_;
  } else {
    special_ += t.v;
    has_special_ = true;
  }
  const factors f = factors_of(t);
  factors_ = {factors_.large + f.large, std::fmin(factors_.small, f.small), factors_.losses + f.losses,
              std::fmax(factors_.most, f.most), factors_.has_signs || f.has_signs || !(t.size() - 2 * t.r > t.e)};
  all_positive_ = all_positive_ && t.low >= 0;
  greatest_low_ = std::fmax(greatest_low_, t.low);
}

bool bound_algebra::total::add_products(const double* x, int64_t x_step, const double* z, int64_t z_step, int64_t n) {
  const allowance& c = a_->c_;
  if (c.of.exact || c.of.format != number_type::f32) return false;
  double sum = 0, correction = 0, sizes = 0, positive = 0, most = 0, large = 0, small = 1, most_large = 1;
  int64_t nonzero = 0;
  bool is_inexact = false, underflows = false;
  for (int64_t i = 0; i < n; ++i) {
    const double p = x[i * x_step] * z[i * z_step], size = std::fabs(p), next = sum + p;
    const double lost = reference::sum_error(sum, p, next);
    is_inexact |= lost != 0;
    correction += lost;
    sum = next;
    sizes += size;
    positive += std::fmax(p, 0);
    nonzero += size > 0 ? 1 : 0;
    underflows |= p == 0 && x[i * x_step] != 0 && z[i * z_step] != 0;
    most = std::fmax(most, size);
    const double left = std::fabs(x[i * x_step]), right = std::fabs(z[i * z_step]);
    const double both = std::fmax(left, 1) * std::fmax(right, 1);
    large += both;
    most_large = std::fmax(most_large, both);
    small = std::fmin(small, size > 0 ? std::fmin(left, 1) * std::fmin(right, 1) : 1);
  }
  // add() takes products that may overflow, or are infinite or NaN.
  if (!(most * (1 + 2 * c.one) + c.eta < c.omega) || !(sizes < k_inf) || underflows) return false;
  const double errors = (c.one * sizes + c.eta / 2 * static_cast<double>(nonzero)) * reference::k_inflate;
  count_ = n;
  nonzero_ = nonzero;
  sum_ = sum;
  correction_ = correction;
  is_inexact_ = is_inexact;
  sizes_ = sizes;
  errors_ = errors;
  factors_ = {large, small, large, most_large, nonzero < n};
  positive_ = positive + errors;
  negative_ = sizes - positive + errors + sizes * 0x1p-40;
  all_positive_ = positive == sizes;  // no product is below 0, and rounding keeps that
  return true;
}

bounded bound_algebra::total::sum_result() const {
  const allowance& c = a_->c_;
  const auto n = static_cast<double>(count_);
  const double inflation = 1 + (n + 64) * 0x1p-51;
  const double gamma = c.sum(static_cast<double>(nonzero_));
  value y;
  if (has_special_) {
    y = special_value(special_);
  } else if (beyond_plus_ > 0 || beyond_minus_ > 0) {
    const double least = std::fmax(beyond_plus_, beyond_minus_) - sizes_ - errors_;
    if ((beyond_plus_ > 0 && beyond_minus_ > 0) || !(least * 0.5 >= std::fmin(c.omega, k_beyond)))
      return unknown_value();
    y = special_value(beyond_plus_ > 0 ? k_inf : -k_inf);
    y.r = std::fmin(least * 0.5, DBL_MAX);
    y.s = beyond_plus_ > 0 ? plus_infinity : minus_infinity;
  } else {
    y.v = sum_ + correction_;
    if (!std::isfinite(y.v) || !std::isfinite(sizes_)) return unknown_value();
    // Ogita, Rump and Oishi: an error of u |sum| and of n^2 u^2 times the sum of sizes.
    if (is_inexact_) y.r = 0x1p-52 * std::fabs(y.v) + n * n * 0x1p-104 * sizes_ + reference::k_tiny;
    y.r = (y.r + radii_) * inflation;
    const bool every_order_is_exact = c.of.exact && errors_ == 0 && radii_ == 0 &&
                                      sizes_ <= std::ldexp(1.0, range_of(c.of.format).digits + lowest_bit_);
    y.e = every_order_is_exact || nonzero_ == 0 ? errors_ : errors_ + gamma * (sizes_ + errors_);
    y.e = std::isnan(y.e) ? k_inf : y.e * inflation;
    if (all_positive_) y.low = greatest_low_;
  }
  // As one factor, a sum may be smaller than each of its terms.
  const double least = y.is_finite() ? std::fmax(std::fabs(y.v) - y.r - y.e, 0) : 1;
  y.product_of = {factors_.large * inflation, std::fmin(factors_.small, least), factors_.losses * inflation,
                  std::fmax(factors_.most, (sizes_ + errors_) * (1 + gamma) * inflation),
                  factors_.has_signs || (positive_ > 0 && negative_ > 0) || has_special_};
  if (is_free_) y.e = k_inf;
  y.s |= specials_;
  // A partial sum may overflow whatever the sum is.
  const bool may_overflow = nonzero_ > 1 && !std::isnan(y.v);
  if (may_overflow && y.v != -k_inf && positive_ * (1 + gamma) * inflation >= c.omega) y.s |= plus_infinity;
  if (may_overflow && y.v != k_inf && negative_ * (1 + gamma) * inflation >= c.omega) y.s |= minus_infinity;
  if (may_overflow && y.v == k_inf && negative_ * (1 + gamma) * inflation >= c.omega) y.s |= not_a_number;
  if (may_overflow && y.v == -k_inf && positive_ * (1 + gamma) * inflation >= c.omega) y.s |= not_a_number;
  const bool both = (y.s & plus_infinity) && (y.s & minus_infinity);
  if (both || (y.v == k_inf && (y.s & minus_infinity)) || (y.v == -k_inf && (y.s & plus_infinity))) y.s |= not_a_number;
  // If partial sums may overflow to both sides, a special result may be any special.
  if (both && y.is_special()) y.s = any_special;
  if (c.of.overflow_free && y.s != 0) y.e = k_inf;
  return y;
}

void bound_algebra::total::add_to_product(const value& t) {
  if (count_ == 1) product_ = special_value(1);
  if (!t.is_finite() || !product_.is_finite()) {
    specials_ = any_special;
    if (t.is_beyond() || product_.is_beyond()) is_unknown_ = true;
    product_.v *= t.v;
    if (!t.is_finite()) product_.r = 0;
    if (product_.is_finite() || (t.is_finite() && t.r > 0 && std::fabs(t.v) <= t.r)) is_unknown_ = true;
    return;
  }
  const double v = product_.v * t.v;
  product_.r = (std::fabs(product_.v) * t.r + t.size() * product_.r + reference::k_double_unit * std::fabs(v)) *
                   reference::k_inflate +
               reference::k_tiny;
  if (t.v == 0 && t.r == 0) product_.r = 0;
  product_.v = v;
  if (!std::isfinite(v) || !(product_.r < k_inf)) is_unknown_ = true;
  if (!(std::fabs(t.v) == 1 && t.r + t.e == 0)) ++nonzero_;  // multiplying by 1 rounds nothing
  grown_ *= (t.size() + t.e) * reference::k_inflate;
  large_ *= std::fmax(t.size() + t.e, 1);
  small_ *= std::fmin(std::fmax(std::fabs(t.v) - t.r - t.e, 0), 1);
  has_zero_ = has_zero_ || (t.v == 0 && t.r + t.e == 0);
  all_positive_ = all_positive_ && t.low >= 0;
}

bounded bound_algebra::total::product_result() const {
  const allowance& c = a_->c_;
  if (count_ == 0) return special_value(1);
  value y = product_;
  const auto n = static_cast<double>(nonzero_);
  y.s = specials_ == 0 ? 0 : any_special;  // Inf times 0, or a partial product's overflow
  y.low = all_positive_ ? 0 : -k_inf;
  if (is_free_) y.e = k_inf;
  if (!y.is_finite()) return y;
  y.product_of = has_zero_ ? factors{large_, 1, 0, large_} : factors{large_, small_, n * large_, large_};
  // Higham, lemma 3.1, and the loss of a subnormal partial product times the factors after it.
  const double rest = std::fmax(std::fabs(y.v) - y.r, 0);
  y.e = grown_ * (1 + c.roundings(std::fmax(n - 1, 0) * (1 + c.of.slack))) - rest;
  if (small_ < std::ldexp(c.eta, range_of(c.of.format).digits)) y.e += n * c.eta * large_;
  if (nonzero_ <= 1 && y.r == 0 && grown_ <= std::fabs(y.v) * (1 + 0x1p-40) && !is_free_) y.e = std::fmax(y.e, 0);
  y.e = has_zero_ && !is_free_ ? 0 : std::isnan(y.e) || is_free_ ? k_inf : std::fmax(y.e, 0) * (1 + n * 0x1p-50);
  if (large_ >= c.omega) {
    y.s |= plus_infinity | minus_infinity;
    if (has_zero_ || small_ < c.eta) y.s |= not_a_number;
  }
  return y;
}

void bound_algebra::total::add_to_extreme(const value& t) {
  if (t.is_unknown()) return;
  const bool drops = by_ == reduction::fmax || by_ == reduction::fmin;
  all_may_be_nan_ = all_may_be_nan_ && (std::isnan(t.v) || (t.s & not_a_number));
  if (std::isnan(t.v)) {
    has_nan_ = has_nan_ || !drops;
    // An exact NaN may be computed as -Inf, and then another term is the result.
    if (!drops && (t.s & minus_infinity) != 0) is_free_ = true;
    return;
  }
  // A term that may be special may be dropped, or be less than all others.
  if (t.s == 0) range_low_ = std::fmax(range_low_, t.low);
  range_high_ = std::fmax(range_high_, t.high);
  if (t.is_beyond() && t.v > 0) beyond_ = std::fmax(beyond_, t.r);
  top_ = std::fmax(top_, t.v);
  if (!t.is_finite()) {
    high_ = t.v > 0 ? k_inf : high_;
    // The exact maximum may be computed as a smaller value, so that another term is the result.
    if (t.v > 0 && (t.s & (drops ? minus_infinity | not_a_number : minus_infinity))) is_free_ = true;
    return;
  }
  exact_low_ = std::fmax(exact_low_, t.v - t.r);
  exact_high_ = std::fmax(exact_high_, t.v + t.r);
  if (t.s == 0) low_ = std::fmax(low_, t.lower());
  high_ = std::fmax(high_, t.upper());
}

bounded bound_algebra::total::extreme_result() const {
  value y;
  const bool drops = by_ == reduction::fmax || by_ == reduction::fmin;
  y.v = has_nan_ ? std::nan("") : top_;
  y.s = specials_;
  if (drops && !all_may_be_nan_) y.s &= static_cast<uint8_t>(~not_a_number);
  if (direction(by_) < 0)
    y.s = static_cast<uint8_t>((y.s & not_a_number) | ((y.s & plus_infinity) ? minus_infinity : 0) |
                               ((y.s & minus_infinity) ? plus_infinity : 0));
  if (beyond_ > 0 && y.v == k_inf) y.r = beyond_;
  if (std::isfinite(y.v)) {
    y.r = std::fmax(exact_high_ - y.v, y.v - exact_low_) * reference::k_inflate;
    const double e = std::fmax(high_ - y.v, y.v - low_);
    y.e = e <= 0 ? 0 : (e + y.r) * reference::k_inflate;
    y.low = range_low_;
    y.high = range_high_;
  }
  if (is_free_) y.e = k_inf;
  return direction(by_) < 0 ? a_->negate(y) : y;
}

// Returns the first of the largest; another index may be chosen if its value may be as large.
bounded bound_algebra::total::choice_result() const {
  if (choices_.empty()) return special_value(0);
  const auto key = [](const value& t) { return std::isnan(t.v) ? k_inf : t.v; };
  size_t first = 0;
  for (size_t i = 1; i < choices_.size(); ++i)
    if (std::isnan(choices_[first].v)) {
      break;
    } else if (std::isnan(choices_[i].v) || key(choices_[i]) > key(choices_[first])) {
      first = i;
    }
  const bool all_exact = std::ranges::all_of(
      choices_, [](const value& t) { return (t.is_exact() || t.is_special()) && t.s == 0 && t.e == 0; });
  value y = special_value(static_cast<double>(places_[first]));
  const double best = choices_[first].is_finite() && choices_[first].s == 0 ? choices_[first].lower() : -k_inf;
  for (size_t i = 0; i < choices_.size() && !all_exact; ++i)
    if (i != first && (choices_[i].s != 0 || !(choices_[i].upper() < best))) y.e = k_inf;
  return y;
}

}  // namespace warpcheck::formula
