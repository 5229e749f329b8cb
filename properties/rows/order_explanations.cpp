// argmax and argsort in steps: one answer is right (reference/argmax/argmax.hpp, reference/argsort/argsort.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "properties/rows/explanation_support.hpp"
#include "properties/rows/row_properties.hpp"
#include "reference/argmax/argmax.hpp"
#include "reference/argsort/argsort.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::element_of;

bool is_column(const doubles& x, double index) {
  return index >= 0 && index < static_cast<double>(x.size()) && index == std::floor(index);
}

explained_row explain_argmax(const row_call& call) {
  const auto expected = static_cast<double>(reference::argmax(call.x));
  explained_row t;
  t.exact = {expected};
  t.bound = {0};
  t.formula = "index = the lowest column of the largest element; the first NaN wins, -0 equals +0.";
  t.numbers = fmt::format("The largest is {}, first in column {}.", digits(element_of(call.x, expected)), expected);
  const double actual = call.actual.empty() ? std::nan("") : call.actual[0];
  t.steps = reference::column_steps("largest element", call.x, expected, actual);
  if (call.actual.empty() || actual == expected) return t;
  const double given = element_of(call.x, actual), due = element_of(call.x, expected);
  if (!is_column(call.x, actual))
    t.departs = fmt::format("{} is not a column of the row.", digits(actual));
  else if (given == due || (std::isnan(given) && std::isnan(due)))
    t.departs =
        fmt::format("The rule for ties departs: columns {} and {} hold equal elements, and the lower one is due.",
                    expected, actual);
  else
    t.departs =
        fmt::format("The comparison departs: {} in column {} was taken, so {} in column {} was not looked at or lost.",
                    digits(given), actual, digits(due), expected);
  return t;
}

explained_row explain_argsort(const row_call& call) {
  const bool descending = knob_or(call.c, "order", 0) == 1;
  explained_row t;
  for (const int64_t column : reference::argsort(call.x, descending)) t.exact.push_back(static_cast<double>(column));
  t.bound.assign(call.x.size(), 0);
  const auto i = static_cast<size_t>(call.i);
  t.formula = fmt::format(
      "index[{}] = the column of the element that is number {} in {} order; NaN come last, equal elements by column.",
      call.i, call.i, descending ? "descending" : "ascending");
  t.numbers = fmt::format("Number {} is {}, in column {}.", call.i, digits(element_of(call.x, t.exact[i])), t.exact[i]);
  const double actual = call.actual.empty() ? std::nan("") : call.actual[i];
  t.steps = reference::column_steps("element at this place", call.x, t.exact[i], actual);
  if (call.actual.empty()) return t;
  const std::vector<int64_t> outside = columns_outside(t, call.actual);
  if (outside.empty()) return t;
  std::set<double> columns;
  int64_t foreign = 0;
  for (const double v : call.actual) {
    foreign += !is_column(call.x, v);
    columns.insert(v);
  }
  const auto repeated = static_cast<int64_t>(call.actual.size() - columns.size());
  const double given = element_of(call.x, call.actual[static_cast<size_t>(outside.front())]),
               due = element_of(call.x, t.exact[static_cast<size_t>(outside.front())]);
  t.departs = fmt::format("Place {} is the first that departs. ", outside.front());
  if (foreign > 0)
    t.departs +=
        fmt::format("{} entries are no columns of the row: the store, or the exchange of columns, departs.", foreign);
  else if (repeated > 0)
    t.departs +=
        fmt::format("{} columns stand there more than once and as many are missing: an exchange departs.", repeated);
  else if (given == due || (std::isnan(given) && std::isnan(due)))
    t.departs += "The elements are equal, so the rule for ties departs: the lower column is due.";
  else
    t.departs += fmt::format("All columns are there, so a comparison departs: {} stands where {} is due.",
                             digits(given), digits(due));
  return t;
}

const explainer_registration argmax("argmax", explain_argmax);
const explainer_registration argsort("argsort", explain_argsort);

}  // namespace
}  // namespace warpcheck
