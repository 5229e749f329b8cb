#include "command/formula_verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <string_view>

#include "properties/formula/formula_needs.hpp"
#include "properties/formula/formula_properties.hpp"

namespace warpcheck::cli {
namespace {

using formula_trial::lower_precision, formula_trial::shared_formula;

constexpr double k_most_seconds = 5;  // of controls, for one formula

std::string percent_text(const element_counts& n) {
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(n.free) / static_cast<double>(n.compared));
}

// Runs the controls on cases of the property that judges values.
void try_controls(const shared_formula& f, const std::vector<planned_job>& jobs, formula_verdict& v) {
  v.controls = formula_trial::lower_precisions(*f);
  if (v.controls.empty()) v.untried = "no operation of it has a lower precision";
  const auto begin = std::chrono::steady_clock::now();
  const auto is_over = [&] {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    return spent.count() > k_most_seconds ||
           std::ranges::all_of(v.controls, [](const lower_precision& l) { return l.is_rejected; });
  };
  for (const std::string_view property : {"within-error-bound", "every-element-used"})
    for (const planned_job& j : jobs)
      for (int64_t i = 0; j.p->op == v.op && j.p->name == property && i < j.j.count && !is_over(); ++i) {
        try {
          formula_trial::try_lower_precisions(*f, j.j.make(i), v.controls);
        } catch (const std::exception&) {
          // The trial of this case reports the reason.
        }
      }
  const bool is_tried = std::ranges::any_of(v.controls, [](const lower_precision& l) { return l.cases > 0; });
  if (v.untried.empty() && !is_tried) v.untried = "within-error-bound and every-element-used have no case in this run";
}

void add_note(formula_verdict& v, const std::string& name, const engine::summed_note& n) {
  if (name.starts_with(formula_trial::k_need_note)) {
    double& needed = v.needs[name.substr(formula_trial::k_need_note.size())];
    needed = std::max(needed, n.greatest);
  }
  const auto count = static_cast<int64_t>(n.sum);
  if (name.starts_with(formula_trial::k_compared_note))
    for (element_counts* const c : {&v.all, &v.by_value[name.substr(formula_trial::k_compared_note.size())]})
      c->compared += count;
  if (name.starts_with(formula_trial::k_free_note))
    for (element_counts* const c : {&v.all, &v.by_value[name.substr(formula_trial::k_free_note.size())]})
      c->free += count;
}

std::string control_text(const lower_precision& l) {
  return l.is_rejected ? fmt::format("{} by case {}", l.name, l.cases)
                       : fmt::format("{} not, in {} case{}", l.name, l.cases, l.cases == 1 ? "" : "s");
}

}  // namespace

std::vector<formula_verdict> formula_verdicts(const std::vector<planned_job>& jobs,
                                              const std::vector<engine::job_result>& results) {
  std::vector<formula_verdict> list;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const std::string& op = jobs[i].p->op;
    if (!formula_trial::formula_of(op)) continue;
    auto found = std::ranges::find_if(list, [&](const formula_verdict& v) { return v.op == op; });
    if (found == list.end()) {
      list.emplace_back().op = op;
      found = std::prev(list.end());
    }
    for (const auto& [name, n] : results[i].notes) add_note(*found, name, n);
  }
  for (formula_verdict& v : list) try_controls(formula_trial::formula_of(v.op), jobs, v);
  return list;
}

void print(const formula_verdict& v) {
  const shared_formula f = formula_trial::formula_of(v.op);
  const std::string contract = f->op.contract.empty() ? "arithmetic f32" : f->op.contract;
  if (!v.needs.empty())
    fmt::print("{}: smallest contract that admits the passing cases: {}; the formula has '{}'\n", v.op,
               formula_trial::needs_text(v.needs), contract);
  if (v.all.free > 0) {
    std::vector<std::string> large;
    for (const auto& [name, n] : v.by_value)
      if (n.free * 10 > n.compared) large.push_back(fmt::format("{} ({})", name, percent_text(n)));
    fmt::print("{}: {} of {} elements ({}) are free: their bound admits every number\n", v.op, v.all.free,
               v.all.compared, percent_text(v.all));
    if (v.is_free()) fmt::print("{}: every element is free, so nothing is proven\n", v.op);
    if (!v.is_free() && !large.empty())
      fmt::print("{}: more than a tenth is free in the cases of {}, which are no trial of the values\n", v.op,
                 fmt::join(large, ", "));
  }
  if (!v.untried.empty()) {
    fmt::print("{}: control: not tried, {}\n", v.op, v.untried);
    return;
  }
  std::vector<std::string> texts;
  for (const lower_precision& l : v.controls) texts.push_back(control_text(l));
  const bool all_rejected = std::ranges::all_of(v.controls, [](const lower_precision& l) { return l.is_rejected; });
  fmt::print("{}: control: one precision lower is {}: {}\n", v.op,
             all_rejected ? "rejected" : "not always rejected, so this trial cannot tell it from the contract's",
             fmt::join(texts, "; "));
}

nlohmann::json to_json(const formula_verdict& v) {
  nlohmann::json controls = nlohmann::json::array(), values = nlohmann::json::object();
  for (const lower_precision& l : v.controls)
    controls.push_back({{"name", l.name}, {"rejected", l.is_rejected}, {"cases", l.cases}});
  for (const auto& [name, n] : v.by_value) values[name] = {{"compared", n.compared}, {"free", n.free}};
  return {
      {"operator", v.op},           {"needs", v.needs},    {"smallest_contract", formula_trial::needs_text(v.needs)},
      {"compared", v.all.compared}, {"free", v.all.free},  {"values", values},
      {"controls", controls},       {"untried", v.untried}};
}

}  // namespace warpcheck::cli
