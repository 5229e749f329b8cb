// softmax, log_softmax and logsumexp in steps: maximum, differences, exponentials, their sum, and the results. Bounds:
// reference/<op>/<op>.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "properties/rows/explanation_support.hpp"
#include "reference/log_softmax/log_softmax.hpp"
#include "reference/logsumexp/logsumexp.hpp"
#include "reference/softmax/softmax.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::exp_row;
using reference::row_kind;

std::string what_a_special_row_demands(const exp_row& row) {
  switch (row.kind()) {
    case row_kind::has_nan: return "The row holds a NaN, which reaches every result.";
    case row_kind::has_infinity: return "The row holds +Inf and no NaN.";
    case row_kind::minus_infinity: return "The row holds nothing but -Inf.";
    default: return "An element -Inf has no share; a lone finite element has it all.";
  }
}

std::string sum_sentence(const exp_row& row, double exact, double implied, double tolerance) {
  doubles terms;
  for (size_t k = 0; k < row.x().size(); ++k)
    terms.push_back(std::isfinite(row.x()[k]) ? row.exponential<double>(static_cast<int64_t>(k)).value : 0);
  std::string text = fmt::format(
      "The sum of the exponentials is the first wrong step: the results are those of a sum of {} in place of {}",
      digits(implied), digits(exact));
  const std::string missing = missing_terms(terms, exact - implied, tolerance);
  return text + (missing.empty() ? "." : fmt::format(", as if {}.", missing));
}

// The value that all elements which imply one, `implied(k)`, agree on, if they do.
template <class Implied>
bool agree(const explained_row& row, const doubles& actual, double slack, const Implied& implied, double& common) {
  doubles seen;
  for (size_t k = 0; k < actual.size(); ++k) {
    const double v = implied(k);
    if (std::isfinite(row.exact[k]) && row.bound[k] > 0 && std::isfinite(v)) seen.push_back(v);
  }
  if (seen.empty() || seen.size() * 2 < actual.size()) return false;
  std::nth_element(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(seen.size() / 2), seen.end());
  common = seen[seen.size() / 2];
  return std::ranges::all_of(
      seen, [&](double v) { return std::fabs(v - common) <= slack * std::max(1.0, std::fabs(common)); });
}

// The median of exact / actual, where it is more than half of what the sum of the row may err by, and where it brings
// every element inside its bound: the elements are wrong by their common divisor. NaN where that is not so.
double common_factor(const explained_row& row, const doubles& actual) {
  doubles seen;
  for (size_t k = 0; k < actual.size(); ++k)
    if (std::isfinite(row.exact[k]) && actual[k] > 0x1p-100 && std::isfinite(actual[k]))
      seen.push_back(row.exact[k] / actual[k]);
  if (seen.size() * 2 < actual.size() || seen.empty()) return NAN;
  const auto middle = seen.begin() + static_cast<std::ptrdiff_t>(seen.size() / 2);
  std::nth_element(seen.begin(), middle, seen.end());
  const double factor = *middle, chain = reference::chain_length(static_cast<int64_t>(actual.size()));
  if (!(std::fabs(factor - 1) > chain * reference::k_unit / 2)) return NAN;
  doubles corrected = actual;
  for (double& v : corrected) v *= factor;
  return columns_outside(row, corrected).empty() ? factor : NAN;
}

// The origin of an error of that size, if a single chain of f32 additions explains it.
std::string chain_sentence(size_t n, double factor) {
  const auto chain = static_cast<double>(reference::chain_length(static_cast<int64_t>(n)));
  const double additions = static_cast<double>(n) - 1;
  if (additions <= chain || std::fabs(factor - 1) > 2 * additions * reference::k_unit) return "";
  return fmt::format(
      " That is an error of {:.0f} units of f32: a single chain of {} additions makes such errors, and the contract "
      "asks for the accuracy of chains of at most {}. Sum parts of the row first, then the parts.",
      std::fabs(factor - 1) / reference::k_unit, n - 1, chain);
}

std::string columns_sentence(const std::vector<int64_t>& outside, size_t n, const char* last) {
  if (outside.size() < n)
    return fmt::format(
        "{} of {} elements {} off and the others right, so the maximum and the sum are right: the "
        "exponential, {} or the store of those elements is the first wrong step; the first of them is in column {}.",
        outside.size(), n, outside.size() == 1 ? "is" : "are", last, outside.front());
  return fmt::format(
      "All elements are wrong, and not by a common factor, so the first wrong step is the difference from the maximum "
      "or its exponential.");
}

// Without the maximum subtracted, e^x is infinite in f32 from here on.
constexpr double k_overflow = 88.72;

std::string overflow_sentence(const doubles& x, const doubles& actual) {
  const double most = *std::ranges::max_element(x);
  const bool nothing = std::ranges::none_of(actual, [](double v) { return std::isfinite(v) && v != 0; });
  if (!nothing || most < k_overflow) return "";
  return fmt::format(
      "The maximum is the first wrong step: {} is above {}, where e^x overflows f32, and the results are those of "
      "exponentials from which no maximum was subtracted.",
      digits(most), k_overflow);
}

// NaN, infinities and single columns; what is common to the whole row comes from the operator.
std::string elements_sentence(const row_call& call, const explained_row& row, const std::vector<int64_t>& outside,
                              const char* last) {
  if (const std::string overflow = overflow_sentence(call.x, call.actual); !overflow.empty()) return overflow;
  if (const std::string nan = nan_sentence(call.actual, outside); !nan.empty()) return nan;
  return columns_sentence(outside, row.exact.size(), last);
}

// The beginning of an explanation. If one value is correct whatever the sums are, there are no terms and nothing
// follows.
template <class Model>
explained_row begin_row(const row_call& call, const exp_row& row, const Model& model, std::string formula) {
  explained_row t;
  t.formula = std::move(formula);
  for (size_t k = 0; k < call.x.size(); ++k) {
    t.exact.push_back(model.expected(static_cast<int64_t>(k)));
    t.bound.push_back(model.bound(static_cast<int64_t>(k)));
  }
  t.terms = model.bound_terms(call.i);
  if (t.terms.empty())
    t.numbers = what_a_special_row_demands(row);
  else
    t.steps = model.steps(call.i);
  return t;
}

// Notes what the candidate gave as the last step; the columns that are wrong.
std::vector<int64_t> end_steps(explained_row& t, const row_call& call) {
  if (call.actual.empty()) return {};
  t.steps.back().implied = call.actual[call.actual.size() == 1 ? 0 : static_cast<size_t>(call.i)];
  return columns_outside(t, call.actual);
}

explained_row explain_softmax(const row_call& call) {
  const reference::softmax_row model(call.x, call.output);
  const exp_row row(call.x, reference::softmax_allowance(static_cast<int64_t>(call.x.size())));
  explained_row t = begin_row(
      call, row, model,
      fmt::format("y[{0}] = e^(x[{0}] - m) / s, m the maximum of the row, s the sum of e^(x[k] - m) over the row.",
                  call.i));
  if (t.terms.empty()) return t;
  const double x = call.x[static_cast<size_t>(call.i)], maximum = t.steps[0].exact, term = t.steps[2].exact,
               sum = t.steps[3].exact, y = t.steps[4].exact;
  t.numbers = fmt::format("y[{}] = e^({} - {}) / {} = {} / {} = {}.", call.i, digits(x), digits(maximum), digits(sum),
                          digits(term), digits(sum), digits(y));
  t.bound_formula = fmt::format(
      "y ((1 + tau)(1 + u) / (1 - D) - 1) + 4 eta / (1 - D)^2, u = 2^-24, D the relative error of a sum of {} "
      "terms in chains of at most {} additions (docs/numerics.md).",
      call.x.size(), reference::chain_length(static_cast<int64_t>(call.x.size())));
  const std::vector<int64_t> outside = end_steps(t, call);
  if (outside.empty()) return t;
  const double slack = size_of(call.output) == 2 ? 0x1p-6 : 0x1p-16;
  double factor = 1;
  const auto implied = [&](size_t k) { return call.actual[k] > 0x1p-100 ? t.exact[k] / call.actual[k] : NAN; };
  if (agree(t, call.actual, slack, implied, factor) && std::fabs(factor - 1) > slack) {
    t.steps[3].implied = factor * sum;
    t.departs = sum_sentence(row, sum, factor * sum, slack * sum);
  } else if (const double common = common_factor(t, call.actual); !std::isnan(common)) {
    t.steps[3].implied = common * sum;
    t.departs = sum_sentence(row, sum, common * sum, 0) + chain_sentence(call.x.size(), common);
  } else {
    t.departs = elements_sentence(call, t, outside, "the division");
  }
  return t;
}

explained_row explain_log_softmax(const row_call& call) {
  const reference::log_softmax_row model(call.x, call.output);
  const exp_row row(call.x, reference::softmax_allowance(static_cast<int64_t>(call.x.size())));
  explained_row t = begin_row(
      call, row, model,
      fmt::format("y[{0}] = (x[{0}] - m) - ln s, m the maximum of the row, s the sum of e^(x[k] - m) over the row.",
                  call.i));
  if (t.terms.empty()) return t;
  const double x = call.x[static_cast<size_t>(call.i)], maximum = t.steps[0].exact, sum = t.steps[3].exact,
               log = t.steps[4].exact, y = t.steps[5].exact;
  t.numbers = fmt::format("y[{}] = ({} - {}) - ln {} = {} - {} = {}.", call.i, digits(x), digits(maximum), digits(sum),
                          digits(t.steps[1].exact), digits(log), digits(y));
  t.bound_formula =
      "(u d + E)(1 + u) + u abs(y), u = 2^-24, d the distance from the maximum, E what ln s may err by "
      "(docs/numerics.md).";
  const std::vector<int64_t> outside = end_steps(t, call);
  if (outside.empty()) return t;
  const double slack = size_of(call.output) == 2 ? 0x1p-5 : 0x1p-15;
  double off = 0;
  if (agree(
          t, call.actual, slack, [&](size_t k) { return call.actual[k] - t.exact[k]; }, off)) {
    t.steps[4].implied = log - off;
    t.steps[3].implied = std::exp(log - off);
    t.departs = sum_sentence(row, sum, t.steps[3].implied, slack * sum);
  } else {
    t.departs = elements_sentence(call, t, outside, "the last subtraction");
  }
  return t;
}

explained_row explain_logsumexp(const row_call& call) {
  const reference::logsumexp_row model(call.x, call.output);
  const exp_row row(call.x, reference::logsumexp_allowance(static_cast<int64_t>(call.x.size())));
  explained_row t;
  t.exact = {model.expected()};
  t.bound = {model.bound()};
  t.formula = "y = m + ln s, m the maximum of the row, s the sum of e^(x[k] - m) over the row.";
  t.terms = model.bound_terms();
  if (t.terms.empty()) {
    t.numbers = what_a_special_row_demands(row);
    return t;
  }
  t.steps = model.steps();
  const double maximum = t.steps[0].exact, sum = t.steps[1].exact;
  t.numbers = fmt::format("y = {} + ln {} = {} + {} = {}.", digits(maximum), digits(sum), digits(maximum),
                          digits(t.steps[2].exact), digits(t.steps[3].exact));
  t.bound_formula = "E (1 + u) + u abs(y), u = 2^-24, E what ln s may err by (docs/numerics.md).";
  const std::vector<int64_t> outside = end_steps(t, call);
  if (outside.empty()) return t;
  const double actual = call.actual[0];
  const double implied = std::exp(actual - maximum);
  if (std::isfinite(actual) && implied > 0 && std::isfinite(implied)) {
    t.steps[2].implied = actual - maximum;
    t.steps[1].implied = implied;
    t.departs = sum_sentence(row, sum, implied, 0x1p-12 * sum);
  } else {
    t.departs = elements_sentence(call, t, outside, "the last addition");
  }
  return t;
}

const explainer_registration softmax("softmax", explain_softmax);
const explainer_registration log_softmax("log_softmax", explain_log_softmax);
const explainer_registration logsumexp("logsumexp", explain_logsumexp);

}  // namespace
}  // namespace warpcheck
