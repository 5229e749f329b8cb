#include "reference/reduce/reduce.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/numerics/exact_sum.hpp"
#include "reference/numerics/exp_row.hpp"
#include "reference/numerics/multiprecision.hpp"
#include "reference/numerics/stated_sums.hpp"

namespace warpcheck::reference {
namespace {

using integer = exact_sum::integer;

// Orders -0 below +0.
bool less_to_the_bit(double a, double b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); }

}  // namespace

// gamma_h = h / (2^p - h), so every comparison with it is one between integers.
struct reduce_row::exact_parts {
  integer sum, absolute;  // Sum x_i, Sum abs(x_i)
  integer steps, rest;    // h, 2^p - h
};

reduce_row::reduce_row(reduction op, std::span<const double> x, dtype type) : type_(type) {
  if (std::ranges::any_of(x, [](double v) { return std::isnan(v); })) {
    fixed_ = std::numeric_limits<double>::quiet_NaN();
  } else if (op == reduction::sum) {
    sum_up(x);
  } else if (op == reduction::min) {
    fixed_ = x.empty() ? k_infinity : *std::ranges::min_element(x, less_to_the_bit);
  } else {
    fixed_ = x.empty() ? -k_infinity : *std::ranges::max_element(x, less_to_the_bit);
  }
  if (fixed_) expected_ = *fixed_;
}

void reduce_row::sum_up(std::span<const double> x) {
  exact_sum positive, negative;
  bool plus = false, minus = false;  // infinities in the row
  for (const double v : x) {
    if (std::isinf(v)) {
      (v > 0 ? plus : minus) = true;
    } else {
      (v > 0 ? positive : negative).add(v);
    }
  }
  const integer above = positive.units(), below = -negative.units();
  const auto n = static_cast<int64_t>(x.size());
  const int64_t h = stated_chain_of_plain_sum(n, chain_length(n));
  const integer scale = integer(1) << format_of(type_).precision;
  exact_parts parts{above - below, above + below, h, scale - h};
  // Units are 2^-1074.
  const integer limit = (integer(1) << (format_of(type_).max_exponent + 1 + 1074)) * parts.rest;
  may_be_plus_ = h > 0 && above * scale >= limit;
  may_be_minus_ = h > 0 && below * scale >= limit;
  may_be_nan_ = (may_be_plus_ || plus) && (may_be_minus_ || minus);
  if (plus || minus) {
    fixed_ = plus && minus ? std::numeric_limits<double>::quiet_NaN() : plus ? k_infinity : -k_infinity;
    may_be_plus_ = may_be_minus_ = false;
    return;
  }
  // A single element, or nothing but zeros: added to +0, so a zero is +0.
  if (h == 0 || parts.absolute == 0) {
    fixed_ = x.size() == 1 ? x[0] + 0.0 : 0.0;
    return;
  }
  expected_ = nearest_double(parts.sum);
  exact_ = std::make_shared<const exact_parts>(std::move(parts));
}

judgement reduce_row::judge(double actual) const {
  const bool overflow =
      std::isnan(actual) ? may_be_nan_ : std::isinf(actual) && (actual > 0 ? may_be_plus_ : may_be_minus_);
  if (overflow) return {.accepted = true, .bound = bound(), .expected = expected_};
  if (fixed_) return judge_fixed(type_, actual, *fixed_);
  judgement j{.expected = expected_};
  j.bound = bound();
  j.error = j.error_ulp = k_infinity;
  if (!std::isfinite(actual)) return j;
  exact_sum term;
  term.add(actual);
  const integer error = abs(integer(term.units() - exact_->sum));
  j.accepted = error * exact_->rest <= exact_->steps * exact_->absolute;
  j.error = nearest_double(error);
  // Shown as doubles that agree with the verdict.
  if (j.accepted) j.error = std::min(j.error, j.bound);
  if (!j.accepted && j.error <= j.bound) j.error = std::nextafter(j.bound, k_infinity);
  j.error_ulp = j.error / ulp(type_, expected_);
  return j;
}

double reduce_row::bound() const {
  if (fixed_) return 0;
  // The quotient in units, rounded up; then the double above the nearest.
  const integer units = (exact_->steps * exact_->absolute + exact_->rest - 1) / exact_->rest;
  return std::nextafter(nearest_double(units), k_infinity);
}

std::vector<bound_term> reduce_row::bound_terms() const {
  if (fixed_) return {};
  return {{"additions, each of a rounded sum", bound()}};
}

std::string reduce_row::expected_text() const {
  if (fixed_) return mp50(*fixed_).str(20);
  return mp50(mp50(exact_->sum.str()) * pow(mp50(2), -1074)).str(20);
}

std::vector<model_step> reduce_steps(reduction op, std::span<const double> x, dtype type, double actual) {
  const double expected = reduce_row(op, x, type).expected();
  if (op == reduction::sum) return sum_steps("sum", x, expected, actual, type);
  const auto column_of = [&](double value) {
    const auto at =
        std::ranges::find_if(x, [&](double v) { return v == value || (std::isnan(v) && std::isnan(value)); });
    return at == x.end() ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(at - x.begin());
  };
  const double column = column_of(expected);
  return {{"column of the element", column, column, column_of(actual)}, {"element", expected, expected, actual}};
}

}  // namespace warpcheck::reference
