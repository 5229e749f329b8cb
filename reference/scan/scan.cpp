#include "reference/scan/scan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/numerics/multiprecision.hpp"
#include "reference/numerics/stated_sums.hpp"
#include "reference/numerics/two_sum.hpp"

namespace warpcheck::reference {
namespace {

using integer = exact_sum::integer;

constexpr int64_t k_longest_chain = 48;
constexpr int64_t k_never = std::numeric_limits<int64_t>::max();

int64_t chain_of(int64_t terms) {
  return stated_chain_of_plain_sum(terms, std::min(std::max<int64_t>(terms - 1, 0), k_longest_chain));
}

// A power of two by which the arithmetic below neither overflows nor comes near the subnormal range of double.
double scale_for(std::span<const double> x) {
  double largest = 0;
  for (const double v : x)
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  return largest > 0x1p800 ? 0x1p-200 : largest < 0x1p-400 ? 0x1p400 : 1;
}

// The contract leaves the sign of a sum of exact zeros open, except for the sum of no terms.
judgement judge_value(dtype type, double actual, double expected, int64_t terms) {
  return judge_fixed(type, terms > 0 && actual == 0 && expected == 0 ? expected : actual, expected);
}

}  // namespace

// gamma_h = h / (2^p - h), so every comparison with it is one between integers. In units of 2^-1074.
struct scan_row::exact_parts {
  integer above, below;  // Sum of x_j > 0, Sum of -x_j > 0
  integer steps, rest;   // h, 2^p - h

  integer sum() const { return above - below; }
  integer absolute() const { return above + below; }
};

scan_row::scan_row(prefix kind, std::span<const double> x, dtype type)
    : kind_(kind),
      x_(x),
      type_(type),
      nan_from_(k_never),
      plus_from_(k_never),
      minus_from_(k_never),
      nonzero_from_(k_never),
      scale_(scale_for(x)) {
  const size_t n = x.size();
  for (std::vector<double>* v : {&sum_, &rest_, &absolute_}) v->reserve(n + 1);
  precise_sum sum;
  double absolute = 0;
  const auto keep = [&] {
    sum_.push_back(sum.high);
    rest_.push_back(sum.low);
    absolute_.push_back(absolute);
  };
  keep();
  for (size_t i = 0; i < n; ++i) {
    const double v = x[i];
    const auto terms = static_cast<int64_t>(i) + 1;
    if (std::isnan(v)) {
      nan_from_ = std::min(nan_from_, terms);
    } else if (std::isinf(v)) {
      int64_t& from = v > 0 ? plus_from_ : minus_from_;
      from = std::min(from, terms);
    } else {
      if (v != 0) nonzero_from_ = std::min(nonzero_from_, terms);
      const double term = v * scale_;
      sum.add(term);
      absolute += std::fabs(term);
    }
    keep();
  }
  overflow_plus_from_ = overflow_from(true);
  overflow_minus_from_ = overflow_from(false);
}

scan_row::exact_parts scan_row::exactly(int64_t terms) const {
  exact_sum positive, negative;
  for (int64_t j = 0; j < terms; ++j)
    if (const double v = x_[static_cast<size_t>(j)]; std::isfinite(v)) (v > 0 ? positive : negative).add(v);
  const int64_t h = chain_of(terms);
  const integer scale = integer(1) << format_of(type_).precision;
  return {positive.units(), -negative.units(), h, scale - h};
}

int64_t scan_row::overflow_from(bool positive) const {
  const double limit = std::ldexp(scale_, format_of(type_).max_exponent);  // half of what may overflow, scaled
  if (!(absolute_.back() >= limit)) return k_never;
  double sum = 0;
  for (size_t i = 0; i < x_.size(); ++i) {
    const double v = x_[i];
    if (!std::isfinite(v) || (v > 0) != positive) continue;
    sum += std::fabs(v) * scale_;
    const auto terms = static_cast<int64_t>(i) + 1;
    if (sum < limit * 2 * (1 - 1e-5)) continue;
    // Double arithmetic errs by far less than 1e-5, and gamma_48 is less than it.
    if (sum > limit * 2 * (1 + 1e-5)) return terms;
    const exact_parts parts = exactly(terms);
    const integer whole = (integer(1) << (format_of(type_).max_exponent + 1 + 1074)) * parts.rest;
    if ((positive ? parts.above : parts.below) * (parts.steps + parts.rest) >= whole) return terms;
  }
  return k_never;
}

std::optional<double> scan_row::contract_value(int64_t i) const {
  const int64_t terms = terms_of(i);
  if (terms >= nan_from_ || (terms >= plus_from_ && terms >= minus_from_))
    return std::numeric_limits<double>::quiet_NaN();
  if (terms >= plus_from_) return k_infinity;
  if (terms >= minus_from_) return -k_infinity;
  if (terms == 0) return 0.0;
  if (terms == 1) return x_[0];
  if (terms < nonzero_from_) return 0.0;
  return std::nullopt;
}

std::optional<judgement> scan_row::judge_special(int64_t i, double actual) const {
  const int64_t terms = terms_of(i);
  const bool may_be_plus = terms >= std::min(overflow_plus_from_, plus_from_);
  const bool may_be_minus = terms >= std::min(overflow_minus_from_, minus_from_);
  bool overflow = false;
  if (terms < nan_from_ && !std::isfinite(actual))
    overflow = std::isnan(actual) ? may_be_plus && may_be_minus
               : actual > 0       ? terms >= overflow_plus_from_ && terms < minus_from_
                                  : terms >= overflow_minus_from_ && terms < plus_from_;
  if (overflow) return judgement{.accepted = true, .bound = bound(i), .expected = expected(i)};
  if (const auto fixed = contract_value(i)) return judge_value(type_, actual, *fixed, terms);
  if (std::isfinite(actual)) return std::nullopt;
  judgement j{.expected = expected(i)};
  j.bound = bound(i);
  j.error = j.error_ulp = k_infinity;
  return j;
}

judgement scan_row::judge(int64_t i, double actual) const {
  if (const auto j = judge_special(i, actual)) return *j;
  if (is_tiny(i)) return judge_exactly(i, actual);
  const auto terms = static_cast<size_t>(terms_of(i));
  const auto n = static_cast<double>(terms);
  const double h = static_cast<double>(chain_of(terms_of(i))), u = unit_roundoff(type_), absolute = absolute_[terms];
  const double bound = h * u / (1 - h * u) * absolute;
  // Both differences round once; sum + rest errs by at most gamma_n(2^-53)^2 Sum abs(x_j).
  const double rough = sum_[terms] - actual * scale_;
  const double error = std::fabs(rough + rest_[terms]);
  const double uncertainty =
      0x1p-50 * (std::fabs(rough) + std::fabs(rest_[terms])) + n * n * 0x1p-104 * absolute + (n + 8) * 0x1p-52 * bound;
  const bool accepted = error + uncertainty <= bound;
  if (!accepted && !(error - uncertainty > bound)) return judge_exactly(i, actual);
  judgement j{.accepted = accepted, .error = error / scale_, .bound = bound / scale_, .expected = expected(i)};
  if (!accepted && j.error <= j.bound) j.error = std::nextafter(j.bound, k_infinity);
  j.error_ulp = j.error / ulp(type_, j.expected);
  return j;
}

judgement scan_row::judge_exactly(int64_t i, double actual) const {
  if (const auto j = judge_special(i, actual)) return *j;
  const exact_parts parts = exactly(terms_of(i));
  exact_sum term;
  term.add(actual);
  const integer error = abs(integer(term.units() - parts.sum()));
  judgement j{.accepted = error * parts.rest <= parts.steps * parts.absolute(),
              .error = nearest_double(error),
              .bound = bound(i),
              .expected = nearest_double(parts.sum())};
  // Shown as doubles that agree with the verdict.
  if (j.accepted) j.error = std::min(j.error, j.bound);
  if (!j.accepted && j.error <= j.bound) j.error = std::nextafter(j.bound, k_infinity);
  j.error_ulp = j.error / ulp(type_, j.expected);
  return j;
}

double scan_row::expected(int64_t i) const {
  if (const auto fixed = contract_value(i)) return *fixed;
  if (is_tiny(i)) return nearest_double(exactly(terms_of(i)).sum());
  const auto terms = static_cast<size_t>(terms_of(i));
  return (sum_[terms] + rest_[terms]) / scale_;
}

double scan_row::bound(int64_t i) const {
  if (contract_value(i)) return 0;
  if (is_tiny(i)) {
    const exact_parts parts = exactly(terms_of(i));
    const integer units = (parts.steps * parts.absolute() + parts.rest - 1) / parts.rest;
    return std::nextafter(nearest_double(units), k_infinity);
  }
  const auto terms = static_cast<size_t>(terms_of(i));
  const double h = static_cast<double>(chain_of(terms_of(i))), u = unit_roundoff(type_);
  const double relative = h * u / (1 - h * u) * (1 + static_cast<double>(terms + 8) * 0x1p-52);
  return std::nextafter(relative * absolute_[terms] / scale_, k_infinity);
}

std::vector<bound_term> scan_row::bound_terms(int64_t i) const {
  if (contract_value(i)) return {};
  return {{"additions, each of a rounded sum", bound(i)}};
}

std::vector<model_step> scan_row::steps(int64_t i, std::span<const double> actual) const {
  std::vector<model_step> steps;
  const auto add = [&](const char* what, int64_t at) {
    const double plain = plain_sum(type_, x_.first(static_cast<size_t>(terms_of(at))));
    steps.push_back({what, expected(at), plain});
    if (!actual.empty()) steps.back().implied = actual[static_cast<size_t>(at)];
  };
  if (i > 0) add("prefix before", i - 1);
  add("prefix", i);
  return steps;
}

std::string scan_row::expected_text(int64_t i) const {
  if (const auto fixed = contract_value(i)) return mp50(*fixed + 0.0).str(20);
  return mp50(mp50(exactly(terms_of(i)).sum().str()) * pow(mp50(2), -1074)).str(20);
}

}  // namespace warpcheck::reference
