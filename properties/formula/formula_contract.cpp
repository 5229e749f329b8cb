#include "properties/formula/formula_contract.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "properties/engine/cases/generate.hpp"
#include "properties/engine/error.hpp"
#include "properties/formula/formula_properties.hpp"
#include "properties/formula/formula_structure.hpp"
#include "reference/formula/bounded.hpp"
#include "reference/formula/contract.hpp"
#include "reference/formula/evaluate.hpp"
#include "reference/formula/printer.hpp"

namespace warpcheck::formula_trial {

using namespace engine;
using formula::expr, formula::formula_operator, formula::kind;

namespace {

constexpr int64_t k_sample = 200;  // cases drawn to say what is drawn
using table = std::vector<std::vector<std::string>>;

std::string shape_text(const std::vector<expr>& shape) {
  std::vector<std::string> parts;
  for (const expr& e : shape) parts.push_back(formula::to_text(e));
  return parts.empty() ? "" : fmt::format("[{}]", fmt::join(parts, ", "));
}

explanation_section formula_section(const named_formula& f) {
  explanation_section s{fmt::format("The formula {}", f.identity()), {}, {}};
  std::istringstream lines(formula::to_text(f.op));
  for (std::string line; std::getline(lines, line);) s.sentences.push_back(line);
  return s;
}

explanation_section demand_section(const named_formula& f) {
  explanation_section s{"What is demanded", {}, {}};
  for (const formula::tensor& y : f.op.outputs)
    s.sentences.push_back(fmt::format(
        "{}{}, {}: {}.", y.name, shape_text(y.shape), formula::name_of(y.type),
        formula::is_integer(y.type)
            ? "exactly the value of the formula; of an argmax or argmin any index that rounding can make the best"
            : "every element lies within its bound of the exact value of the formula"));
  s.sentences.emplace_back(
      "NaN and infinities of inputs give what IEEE 754 makes of the formula; where an intermediate may overflow, what "
      "follows from that is admitted, too.");
  return s;
}

// Collects each kind of operation of a definition, in the order of evaluation, with what its result may err by.
class rule_list {
 public:
  explicit rule_list(const formula::contract& c) : c_(c), a_(c) {}

  void add(const expr& e) {
    if (!e) return;
    for (const expr& a : e->args)
      if (e->what != kind::at) add(a);
    if (e->what == kind::at || e->what == kind::reduce) add(e->other);
    if (const auto [what, error] = rule_of(e); !what.empty() && seen_.insert(what).second)
      rules.push_back({what, error});
  }

  table rules;

 private:
  std::string relative(double error) const { return fmt::format("{:.4g} u of the result", error / a_.u); }

  std::pair<std::string, std::string> rule_of(const expr& e) const {
    switch (e->what) {
      case kind::add:
      case kind::subtract: return {"+ -", relative(a_.one)};
      case kind::multiply: return {"*", relative(a_.one)};
      case kind::divide: return {"/", relative(a_.divided)};
      case kind::power: return {"^" + formula::to_text(e->args[1]), power_error(e)};
      case kind::cast:
        return {fmt::format("as {}", formula::name_of(e->type)), "one rounding to that type, which is demanded"};
      case kind::call: return call_rule(e->text);
      case kind::reduce: return reduction_rule(e);
      default: return {};
    }
  }
  std::string power_error(const expr& e) const {
    return e->args[1]->what == kind::number && e->args[1]->text.find('.') == std::string::npos
               ? relative(a_.one) + " for each product"
               : relative(a_.power);
  }
  std::pair<std::string, std::string> call_rule(const std::string& name) const {
    for (const char* exact : {"abs", "floor", "round", "min", "max", "fmin", "fmax"})
      if (name == exact) return {name, "nothing"};
    return {name, relative(name == "pow" ? a_.power : name == "sqrt" ? std::max(a_.one, a_.function) : a_.function)};
  }
  std::pair<std::string, std::string> reduction_rule(const expr& e) const {
    std::vector<std::string> indices;
    for (const formula::binder& b : e->bound) indices.push_back(b.index);
    const std::string what = fmt::format("{}({})", e->text, fmt::join(indices, ", "));
    if (e->text == "sum" || e->text == "mean") {
      const std::string depth = c_.depth ? fmt::format("min(n - 1, {})", formula::to_text(c_.depth)) : "n - 1";
      return {what, fmt::format("({}{} + {}) u of the sum of the sizes of its n terms{}",
                                c_.sum_units == 1 ? "" : fmt::format("{} ", c_.sum_units),
                                c_.sum_units == 1 ? depth
                                : c_.depth        ? fmt::format("({} + 1)", depth)
                                                  : "n",
                                c_.slack, e->text == "mean" ? ", then a division" : "")};
    }
    if (e->text == "prod") return {what, relative(a_.one) + " for each factor"};
    return {what, "nothing"};
  }

  formula::contract c_;
  formula::allowance a_;
  std::set<std::string> seen_;
};

explanation_section bound_section(const named_formula& f, const formula::contract& c) {
  explanation_section s{
      "The bound", {}, {{"definition", "operation", "besides the errors of its operands it may err by"}}};
  s.sentences.push_back(fmt::format(
      "Errors of operands are carried through each operation, and the operation adds its own. u is {:.4g}, the unit "
      "roundoff of {}; to each error comes {:.3g} for results that underflow.",
      formula::allowance(c).u, formula::name_of(c.format), formula::allowance(c).eta / 2));
  const formula_operator op = formula::expanded(f.op);
  for (const formula::definition& d : op.definitions) {
    rule_list list(c);
    list.add(d.value);
    if (list.rules.empty()) list.rules.push_back({"copy", "nothing"});
    for (size_t i = 0; i < list.rules.size(); ++i)
      s.table.push_back({i == 0 ? d.name : "", list.rules[i][0], list.rules[i][1]});
  }
  s.sentences.emplace_back("The rules and the proof: docs/numerics.md, section formulas.");
  return s;
}

explanation_section arithmetic_section(const named_formula& f, const formula::contract& c) {
  explanation_section s{"The arithmetic that a kernel may use", {}, {}};
  const auto say = [&]<class... Values>(fmt::format_string<Values...> text, Values&&... values) {
    s.sentences.push_back(fmt::format(text, std::forward<Values>(values)...));
  };
  say("{}.", f.op.contract.empty() ? "No line 'arithmetic' is written, so this is the default" : f.op.contract);
  say("Intermediate values are {} or more precise.", formula::name_of(c.format));
  say("A function such as exp errs by at most {} ulp, pow by {} ulp.", formula::to_text(c.functions),
      formula::to_text(c.power));
  say("A division has {} rounding{}.", c.division, c.division == 1 ? "" : "s: it may be a product with the reciprocal");
  if (c.depth)
    say("A term of a sum of n goes through at most {} additions.", formula::to_text(c.depth));
  else
    say("Sums are added in any order.");
  if (c.sum_units != 1) say("An addition within a sum errs by {} u.", c.sum_units);
  say("Every operation has {} rounding{} of slack, for algebra that is rearranged.", c.slack, c.slack == 1 ? "" : "s");
  if (c.rescales > 0) say("An exponential is multiplied by another one up to {} times.", c.rescales);
  if (c.exp_by_exp2) say("exp(x) may be computed as exp2(x log2 e).");
  if (c.exact) say("What every order computes exactly is demanded exactly.");
  if (c.flush) say("Subnormal results may be 0.");
  if (c.overflow_free) say("Where an intermediate may overflow, the result is free.");
  return s;
}

// Cases of within-error-bound as a run draws them.
std::vector<trial_case> sample_of(const shared_formula& f, const char* device) {
  target t;
  t.op = f->engine_name();
  t.device = device;
  t.type = memory_type(f->op.inputs.front());
  t.size = 1;
  std::vector<trial_case> cases;
  const property& p = find_property(t.op, "within-error-bound");
  for (int64_t i = 0; i < k_sample; ++i) cases.push_back(generate_case(p, t, 1, i));
  return cases;
}

explanation_section size_section(const named_formula& f, const std::vector<trial_case>& emulated,
                                 const std::vector<trial_case>& host) {
  explanation_section s{"Sizes that are drawn", {}, {{"extent", "device", "least", "median", "largest"}}};
  s.sentences.push_back(
      fmt::format("In {} cases of within-error-bound each; one extent is long in turn, and the candidate's own "
                  "boundaries are added.",
                  k_sample));
  const description& d = *find_description(f.engine_name());
  for (const extent_info& e : d.extents) {
    if (e.derived) continue;
    for (const auto& [device, cases] : {std::pair(std::string("emulated"), &emulated), {"cpu, cuda", &host}}) {
      std::vector<int64_t> seen;
      for (const trial_case& c : *cases) seen.push_back(sizes_of(d, c).at(e.name));
      std::ranges::sort(seen);
      s.table.push_back({e.name, device, std::to_string(seen.front()), std::to_string(seen[seen.size() / 2]),
                         std::to_string(seen.back())});
    }
  }
  return s;
}

explanation_section input_section(const named_formula& f, const std::vector<trial_case>& cases) {
  explanation_section s{"Inputs that are drawn", {}, {{"input", "recipes, with their share of the cases"}}};
  s.sentences.emplace_back("'warpcheck list --distributions' explains the recipes.");
  for (const formula::tensor& x : f.op.inputs) {
    std::map<std::string, int> counts;
    for (const trial_case& c : cases) ++counts[c.at(x.name).fill.distribution];
    std::vector<std::pair<int, std::string>> sorted;
    for (const auto& [name, count] : counts) sorted.emplace_back(-count, name);
    std::ranges::sort(sorted);
    std::vector<std::string> parts;
    for (const auto& [count, name] : sorted) {
      if (parts.size() == 6) {
        parts.push_back(fmt::format("{} more", sorted.size() - 6));
        break;
      }
      parts.push_back(fmt::format("{} {} %", name, (-count * 100 + k_sample / 2) / k_sample));
    }
    std::string limits;
    if (x.of) limits = fmt::format(" of {}", formula::to_text(x.of));
    if (x.range)
      limits = fmt::format(" in [{}, {}]", formula::to_text(x.range->first), formula::to_text(x.range->second));
    s.table.push_back({x.name + limits, fmt::format("{}", fmt::join(parts, ", "))});
  }
  for (const formula::scalar& v : f.op.scalars)
    s.table.push_back({v.name, v.has_range || v.is_integer
                                   ? fmt::format("{}, its ends {} and {}, and between", formula::to_text(v.fallback),
                                                 formula::to_text(v.least), formula::to_text(v.most))
                                   : fmt::format("{}, and numbers in [-2, 2]", formula::to_text(v.fallback))});
  return s;
}

// How large the bound is beside the exact value, in a small case of each usual recipe.
explanation_section magnitude_section(const shared_formula& f, const std::vector<trial_case>& cases) {
  constexpr double k_cheap = 0x1p16;
  constexpr size_t k_rows = 6;
  explanation_section s{
      "How large the bound is", {}, {{"case", "elements", "median bound / exact value", "largest", "free elements"}}};
  s.sentences.emplace_back(
      "Of the first output, in cases that are drawn. A free element has no bound: it is not judged.");
  const formula::tensor& y = f->op.outputs.front();
  std::set<std::string> listed;
  for (const trial_case& c : cases) {
    const std::string& recipe = c.tensors.front().fill.distribution;
    if (listed.size() == k_rows || listed.count(recipe) || c.at(y.name).elements() == 0) continue;
    tensor_map inputs;
    for (const tensor_spec& t : c.tensors)
      if (t.is_input) inputs.emplace(t.name, materialize(t));
    const formula::call_data call = call_of(*f, c, inputs);
    if (cost_of(f->op, call.sizes) > k_cheap) continue;
    formula::evaluation reference(f->op, call);
    std::vector<double> shares;
    int64_t free = 0;
    const int64_t elements = c.at(y.name).elements();
    for (int64_t i = 0; i < elements; ++i) {
      const formula::demand d = reference.demand_of(y.name, i);
      free += d.is_free;
      if (!d.is_free && std::isfinite(d.expected) && d.expected != 0) shares.push_back(d.bound / std::fabs(d.expected));
    }
    listed.insert(recipe);
    std::ranges::sort(shares);
    const auto text = [&](size_t i) { return shares.empty() ? std::string("-") : fmt::format("{:.2g}", shares[i]); };
    std::vector<std::string> sizes;
    for (const auto& [name, n] : call.sizes) sizes.push_back(fmt::format("{}={}", name, n));
    s.table.push_back({fmt::format("{}, {}", recipe, fmt::join(sizes, " ")), std::to_string(elements),
                       text(shares.size() / 2), text(shares.empty() ? 0 : shares.size() - 1), std::to_string(free)});
  }
  return s;
}

}  // namespace

std::vector<explanation_section> contract_in_words(const shared_formula& f) {
  const formula::contract c = formula::parse_contract(f->op.contract);
  std::vector<explanation_section> all = {formula_section(*f), demand_section(*f), bound_section(*f, c),
                                          arithmetic_section(*f, c)};
  explanation_section reads{"What an element depends on", {}, {}};
  for (const access_summary& a : study(f->op).accesses) reads.sentences.push_back(to_text(f->op, a) + ".");
  all.push_back(std::move(reads));
  const std::vector<trial_case> host = sample_of(f, "cpu"), emulated = sample_of(f, "emulated");
  all.push_back(magnitude_section(f, emulated));
  all.push_back(size_section(*f, emulated, host));
  all.push_back(input_section(*f, host));
  explanation_section asked{"Properties that follow", {}, {{"property", "sentence"}}};
  explanation_section unasked{"Properties that do not follow", {}, {}};
  const formula_trial_plan plan = plan_of(f);
  for (const property& p : plan.properties) asked.table.push_back({p.name, p.sentence});
  for (const unasked_property& p : plan.unasked) unasked.sentences.push_back(fmt::format("{}: {}.", p.name, p.why));
  if (const property* const p = registered_property(f->engine_name(), "golden"))
    asked.table.push_back({p->name, p->sentence});
  else
    unasked.sentences.push_back(
        fmt::format("golden: there are no recorded inputs in golden/{}; 'warpcheck golden regenerate {}' writes them.",
                    f->engine_name(), f->file));
  all.push_back(std::move(asked));
  all.push_back(std::move(unasked));
  return all;
}

}  // namespace warpcheck::formula_trial
