#include "properties/rows/explanation_support.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace warpcheck {

std::string digits(double v) { return std::isnan(v) ? "NaN" : fmt::format("{:.9g}", v); }

std::string missing_terms(const doubles& terms, double missing, double tolerance) {
  const auto n = static_cast<int64_t>(terms.size());
  const auto fits = [&](double sum) { return std::fabs(sum - missing) <= tolerance; };
  if (!std::isfinite(missing) || fits(0)) return "";
  double sum = 0;
  for (int64_t i = n - 1; i > 0; --i) {
    sum += terms[static_cast<size_t>(i)];
    if (fits(sum))
      return i == n - 1 ? fmt::format("the last element (column {}) is missing", i)
                        : fmt::format("the last {} elements (columns {} to {}) are missing", n - i, i, n - 1);
  }
  sum = 0;
  for (int64_t i = 0; i < n - 1; ++i) {
    sum += terms[static_cast<size_t>(i)];
    if (fits(sum))
      return i == 0 ? std::string("the first element (column 0) is missing")
                    : fmt::format("the first {} elements (columns 0 to {}) are missing", i + 1, i);
  }
  for (int64_t i = 0; i < n; ++i) {
    if (fits(terms[static_cast<size_t>(i)])) return fmt::format("the element of column {} is missing", i);
    if (fits(-terms[static_cast<size_t>(i)])) return fmt::format("the element of column {} is counted twice", i);
  }
  return "";
}

std::string missing_sentence(const doubles& terms, double exact, double actual, double bound) {
  if (std::isnan(actual)) return nan_sentence({actual}, {0});
  const std::string missing = missing_terms(terms, exact - actual, bound + 1e-9 * std::fabs(exact));
  return fmt::format("The sum departs by {}", digits(actual - exact)) +
         (missing.empty()
              ? ", which no few elements explain: partial sums lose digits, or are added twice or not at all."
              : ": " + missing + ".");
}

size_t furthest(const doubles& actual, const doubles& exact, const doubles& bound) {
  size_t found = 0;
  double worst = -1;
  for (size_t i = 0; i < actual.size(); ++i)
    if (const double s = engine::share_of_bound(actual[i], exact[i], bound[i]); s > worst) {
      worst = s;
      found = i;
    }
  return found;
}

std::vector<int64_t> columns_outside(const engine::explained_row& row, const doubles& actual) {
  std::vector<int64_t> columns;
  for (size_t i = 0; i < actual.size(); ++i)
    if (engine::share_of_bound(actual[i], row.exact[i], row.bound[i]) > 1) columns.push_back(static_cast<int64_t>(i));
  return columns;
}

std::string nan_sentence(const doubles& actual, const std::vector<int64_t>& outside) {
  if (std::ranges::none_of(outside, [&](int64_t i) { return std::isnan(actual[static_cast<size_t>(i)]); })) return "";
  const auto nans =
      std::ranges::count_if(outside, [&](int64_t i) { return std::isnan(actual[static_cast<size_t>(i)]); });
  return fmt::format(
      "NaN stands in {} where numbers are due. Outputs hold NaN before the call, so the store may be "
      "missing; else a step made Inf / Inf, 0 * Inf or Inf - Inf.",
      nans == static_cast<std::ptrdiff_t>(actual.size()) ? "every element"
      : nans == 1                                        ? "one element"
                                                         : fmt::format("{} elements", nans));
}

}  // namespace warpcheck
