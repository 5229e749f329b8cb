#include "properties/formula/formula_needs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "reference/formula/contract.hpp"
#include "reference/formula/evaluate.hpp"

namespace warpcheck::formula_trial {

using formula::contract, formula::expr, formula::formula_operator, formula::kind;

namespace {

constexpr std::string_view k_slack = "slack", k_division = "division", k_depth = "sums of depth",
                           k_functions = "functions", k_power = "pow";

// A statement, the numbers that it may have, and how a contract gets one.
struct statement {
  std::string_view name;
  std::vector<double> numbers;  // ascending; the last is what the formula's contract says
  std::function<void(contract&, double)> state;
};

struct parts_of_formula {
  bool has_division = false, has_sum = false, has_function = false, has_power = false;
};

bool is_rounded_function(std::string_view name) {
  constexpr std::string_view k_exact[] = {"abs", "floor", "round", "min", "max", "fmin", "fmax", "sqrt", "pow"};
  return std::find(std::begin(k_exact), std::end(k_exact), name) == std::end(k_exact);
}

parts_of_formula parts_of(const formula_operator& op) {
  parts_of_formula has;
  for (const formula::definition& d : op.definitions)
    formula::walk(d.value, [&](const expr& e) {
      has.has_division |= e->what == kind::divide && !formula::is_whole(op, e);
      has.has_division |= e->what == kind::reduce && e->text == "mean";
      has.has_sum |= e->what == kind::reduce && (e->text == "sum" || e->text == "mean");
      has.has_power |= e->what == kind::call && e->text == "pow";
      has.has_function |= e->what == kind::call && is_rounded_function(e->text);
    });
  return has;
}

// first, ..., most; the steps double from 4 on.
std::vector<double> numbers_up_to(double first, double most) {
  std::vector<double> numbers;
  for (double k = first; k < most; k = k < 4 ? k + 1 : 2 * k) numbers.push_back(k);
  numbers.push_back(most);
  return numbers;
}

std::vector<statement> statements_of(const formula_operator& op, const contract& whole) {
  const parts_of_formula has = parts_of(op);
  std::vector<statement> list = {
      {k_slack, numbers_up_to(0, whole.slack), [](contract& c, double k) { c.slack = static_cast<int>(k); }}};
  if (has.has_division)
    list.push_back({k_division, numbers_up_to(1, whole.division),
                    [](contract& c, double k) { c.division = static_cast<int>(k); }});
  if (has.has_sum) {
    constexpr int k_most_doublings = 31;
    statement depth = {k_depth, {0}, [own = whole.depth](contract& c, double k) {
                         const expr limit = formula::make_number(static_cast<int64_t>(k));
                         c.depth = own ? formula::make_call("min", {own, limit}) : limit;
                       }};
    for (int i = 0; i <= k_most_doublings; ++i) depth.numbers.push_back(static_cast<double>(int64_t{1} << i));
    list.push_back(std::move(depth));
  }
  if (has.has_function)
    list.push_back({k_functions, numbers_up_to(0, whole.functions), [](contract& c, double k) { c.functions = k; }});
  if (has.has_power)
    list.push_back({k_power, numbers_up_to(0, whole.power), [](contract& c, double k) { c.power = k; }});
  return list;
}

bool admits(const formula_operator& op, const contract& c, const formula::call_data& call,
            const std::vector<returned_element>& elements) {
  formula_operator stated = op;
  stated.contract = formula::to_text(c);
  formula::evaluation reference(stated, call);
  return std::ranges::all_of(
      elements, [&](const returned_element& e) { return reference.judge(e.output, e.place, e.actual).accepted; });
}

}  // namespace

std::map<std::string, double> least_needs(const named_formula& f, const formula::call_data& call,
                                          const std::vector<returned_element>& elements) {
  const formula_operator op = formula::expanded(f.op);
  contract now = formula::parse_contract(op.contract);
  std::map<std::string, double> needs;
  for (const statement& s : statements_of(op, now)) {
    const auto admitted = [&](double number) {
      contract tried = now;
      s.state(tried, number);
      return admits(op, tried, call, elements);
    };
    // More is allowed by each number than by those before it.
    const auto least = std::partition_point(s.numbers.begin(), std::prev(s.numbers.end()),
                                            [&](double number) { return !admitted(number); });
    s.state(now, *least);
    needs[std::string(s.name)] = *least;
  }
  return needs;
}

std::string needs_text(const std::map<std::string, double>& needs) {
  std::string text;
  for (const std::string_view name : {k_depth, k_functions, k_power, k_division, k_slack}) {
    const auto found = needs.find(std::string(name));
    if (found == needs.end()) continue;
    const bool has_unit = name == k_functions || name == k_power;
    text += fmt::format("{}{} {:g}{}", text.empty() ? "" : ", ", name, found->second, has_unit ? " ulp" : "");
  }
  return text;
}

}  // namespace warpcheck::formula_trial
