// reduce and scan explained step by step. Bounds: reference/reduce/reduce.hpp, reference/scan/scan.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "properties/rows/explanation_support.hpp"
#include "properties/rows/row_properties.hpp"
#include "reference/reduce/reduce.hpp"
#include "reference/scan/scan.hpp"

namespace warpcheck {
namespace {

using namespace engine;

constexpr const char* k_sum_bound =
    "h u / (1 - h u) times the sum of sizes, in chains of at most h additions (docs/numerics.md).";

explained_row explain_reduce(const row_call& call) {
  const auto op = static_cast<reference::reduction>(static_cast<int>(knob_or(call.c, "op", 0)));
  const reference::reduce_row model(op, call.x, call.output);
  explained_row t;
  t.exact = {model.expected()};
  t.bound = {model.bound()};
  const bool is_sum = op == reference::reduction::sum;
  t.formula = is_sum                            ? "y = the sum of the row."
              : op == reference::reduction::min ? "y = the smallest element of the row; a NaN wins, -0 < +0."
                                                : "y = the largest element of the row; a NaN wins, -0 < +0.";
  t.terms = model.bound_terms();
  const double sizes = reference::sum_of_sizes(call.x);
  t.numbers =
      fmt::format("y = {}{}.", digits(t.exact[0]),
                  is_sum ? fmt::format("; the sizes of its {} terms add up to {}", call.x.size(), digits(sizes)) : "");
  if (is_sum) t.bound_formula = k_sum_bound;
  const double actual = call.actual.empty() ? std::nan("") : call.actual[0];
  t.steps = reference::reduce_steps(op, call.x, call.output, actual);
  if (call.actual.empty() || columns_outside(t, call.actual).empty()) return t;
  if (is_sum) {
    t.departs = missing_sentence(call.x, t.exact[0], actual, t.bound[0]);
    return t;
  }
  const reference::model_step& column = t.steps.front();
  t.departs = std::isnan(column.implied)
                  ? fmt::format("{} is not an element of the row.", digits(actual))
                  : fmt::format(
                        "A comparison departs: the element of column {} was taken, so that of column {} was not "
                        "looked at or lost.",
                        column.implied, column.exact);
  return t;
}

explained_row explain_scan(const row_call& call) {
  const auto kind = knob_or(call.c, "kind", 0) == 0 ? reference::prefix::inclusive : reference::prefix::exclusive;
  const auto n = static_cast<int64_t>(call.x.size());
  const size_t terms = static_cast<size_t>(call.i) + (kind == reference::prefix::inclusive);
  explained_row t;
  t.formula = fmt::format("y[{}] = the sum of x[0] to x[{}].", call.i, static_cast<int64_t>(terms) - 1);
  if (terms == 0) t.formula = "y[0] = 0: an exclusive prefix of no terms.";
  if (!is_float(call.output)) {
    std::vector<uint64_t> bits;
    for (const double v : call.x) bits.push_back(static_cast<uint64_t>(static_cast<int64_t>(v)));
    for (const uint64_t v : reference::scan_integers(kind, bits))
      t.exact.push_back(static_cast<double>(static_cast<int64_t>(v)));
    t.bound.assign(call.x.size(), 0);
    t.numbers = "Integers wrap modulo 2^64; beyond 2^53 they are shown rounded.";
    return t;
  }
  const reference::scan_row model(kind, call.x, call.output);
  for (int64_t k = 0; k < n; ++k) {
    t.exact.push_back(model.expected(k));
    t.bound.push_back(model.bound(k));
  }
  const auto i = static_cast<size_t>(call.i);
  t.numbers = fmt::format("y[{}] = {}, a sum of {} terms whose sizes add up to {}.", call.i, digits(t.exact[i]), terms,
                          digits(reference::sum_of_sizes(std::span(call.x).first(terms))));
  t.terms = model.bound_terms(call.i);
  t.bound_formula = k_sum_bound;
  t.steps = model.steps(call.i, call.actual);
  if (call.actual.empty()) return t;
  const std::vector<int64_t> outside = columns_outside(t, call.actual);
  if (outside.empty()) return t;
  const auto first = static_cast<size_t>(outside.front());
  const size_t of_first = first + (kind == reference::prefix::inclusive);
  t.departs = fmt::format("Column {} is the first that departs, {} of {} follow. ", first, outside.size() - 1,
                          call.x.size() - first - 1) +
              missing_sentence({call.x.begin(), call.x.begin() + static_cast<std::ptrdiff_t>(of_first)}, t.exact[first],
                               call.actual[first], t.bound[first]);
  return t;
}

const explainer_registration reduce("reduce", explain_reduce);
const explainer_registration scan("scan", explain_scan);

}  // namespace
}  // namespace warpcheck
