#include "properties/formula/formula_explanation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "reference/formula/contract.hpp"
#include "reference/formula/evaluate.hpp"
#include "reference/formula/machine.hpp"
#include "reference/formula/mutation.hpp"
#include "reference/formula/parser.hpp"
#include "reference/formula/printer.hpp"

namespace warpcheck::formula_trial {

using namespace engine;
using formula::expr, formula::formula_operator, formula::kind;

namespace {

constexpr double k_most_explained_operations = 0x1p24;  // of a row, or of the search for a change: seconds
constexpr size_t k_most_explained_steps = 24;

// The expressions that one element is made of, innermost first: definitions are inlined, reductions are one step.
class step_list {
 public:
  step_list(const formula_operator& op, const formula::definition& of) : op_(op) {
    for (const formula::binder& b : of.indices) taken_.insert(b.index);
  }

  void add(const expr& e) {
    if (!e || steps.size() >= k_most_explained_steps || e->what == kind::number || formula::is_whole(op_, e)) return;
    if ((e->what == kind::at || e->what == kind::name) && op_.shape_of(e->text)) {
      const formula::definition* const d = op_.find_definition(e->text);
      if (!d) return;
      formula::replacements names;
      for (size_t i = 0; i < d->indices.size(); ++i) names.emplace_back(d->indices[i].index, e->args[i]);
      const expr inlined = formula::substitute(renamed(d->value), names);
      add(inlined);
      if (!steps.empty() && steps.back().second == formula::to_text(inlined))
        steps.pop_back();  // the same value, under the definition's name
    } else if (e->what == kind::name) {
      return;
    } else if (e->what != kind::reduce) {
      for (size_t i = e->what == kind::choose ? 1 : 0; i < e->args.size(); ++i) add(e->args[i]);
    }
    std::string text = formula::to_text(e);
    if (seen_.insert(text).second) steps.emplace_back(e, std::move(text));
  }

  std::vector<std::pair<expr, std::string>> steps;

 private:
  // With other names for the indices of reductions that the element has, too.
  expr renamed(const expr& e) {
    const expr r = formula::with_children(e, [&](const expr& child) { return renamed(child); });
    if (r->what != kind::reduce) return r;
    formula::replacements names;
    std::vector<formula::binder> bound = r->bound;
    for (formula::binder& b : bound) {
      if (!taken_.count(b.index)) continue;
      const std::string fresh = fmt::format("{}{}", b.index, ++fresh_);
      names.emplace_back(b.index, formula::make_name(fresh));
      b.index = fresh;
    }
    if (names.empty()) return r;
    return formula::make_reduction(r->text, std::move(bound), r->other ? formula::substitute(r->other, names) : nullptr,
                                   formula::substitute(r->args[0], names));
  }

  const formula_operator& op_;
  std::set<std::string> seen_, taken_;
  int fresh_ = 0;
};

std::string step_name(size_t k) { return fmt::format("explained_{}", k); }

// The operator with a definition for each step.
formula_operator with_steps(const formula_operator& op, const formula::definition& of, const step_list& list) {
  formula_operator all = op;
  for (size_t k = 0; k < list.steps.size(); ++k) {
    formula::definition d;
    d.name = step_name(k);
    d.indices = of.indices;
    for (size_t i = 0; i < d.indices.size(); ++i) d.indices[i].extent = of.extents[i];
    d.value = list.steps[k].first;
    all.definitions.push_back(std::move(d));
  }
  formula::check(all);
  return all;
}

std::vector<reference::model_step> steps_of(const named_formula& f, const formula::definition& d,
                                            const formula::call_data& call, int64_t element) {
  step_list list(f.op, d);
  list.add(d.value);
  const formula_operator op = with_steps(f.op, d, list), plain_op = formula::expanded(op);
  formula::evaluation exact(op, call);
  formula::program code(plain_op, call);
  formula::machine_options options;
  options.format = options.accumulate = formula::parse_contract(op.contract).format;
  formula::walker<formula::machine_algebra> plain(code, formula::machine_algebra(options));
  std::vector<reference::model_step> steps;
  for (size_t k = 0; k < list.steps.size(); ++k) {
    constexpr size_t k_widest = 64;
    std::string text = list.steps[k].second;
    if (text.size() > k_widest) text = text.substr(0, k_widest - 3) + "...";
    steps.push_back(
        {std::move(text), exact.element(step_name(k), element).v, plain.element(*code.find(step_name(k)), element)});
  }
  return steps;
}

// The bound of an element under another contract.
double bound_under(const formula_operator& op, const formula::contract& c, const formula::call_data& call,
                   const std::string& output, int64_t element) {
  formula_operator other = op;
  other.contract = formula::to_text(c);
  return formula::evaluation(other, call).element(output, element).e;
}

// Takes allowances away one after the other: what the bound loses is the part of each.
std::vector<reference::bound_term> terms_of(const formula_operator& op, const formula::call_data& call,
                                            const std::string& output, int64_t element,
                                            const formula::demand& demanded) {
  formula::contract c = formula::parse_contract(op.contract);
  double left = bound_under(op, c, call, output, element);
  std::vector<reference::bound_term> terms;
  const auto take = [&](const char* what) {
    const double now = bound_under(op, c, call, output, element);
    if (now < left) terms.push_back({what, left - now});
    left = std::min(left, now);
  };
  const double all = left;
  c.slack = 0;
  take("slack: algebra rearranged");
  c.depth = formula::make_number(0);
  c.sum_units = 1;
  take("the order of sums");
  c.functions = c.power = 0;
  c.exp_by_exp2 = false;
  c.rescales = 0;
  take("ulps of functions");
  c.division = 1;
  take("a division by the reciprocal");
  if (left > 0) terms.push_back({"one rounding of each operation", left});
  if (demanded.bound > all) terms.push_back({"the rounding to the output's type", demanded.bound - all});
  return terms;
}

std::string place_text(const std::vector<int64_t>& shape, int64_t element) {
  std::vector<int64_t> at(shape.size());
  for (size_t k = shape.size(); k-- > 0;) {
    at[k] = element % shape[k];
    element /= shape[k];
  }
  return shape.empty() ? "" : fmt::format("[{}]", fmt::join(at, ", "));
}

// The indices of the element, and the sizes and scalars of the call.
std::string numbers_of(const formula::definition& d, const std::vector<int64_t>& shape, int64_t element,
                       const formula::call_data& call) {
  std::vector<std::string> parts;
  for (size_t k = shape.size(); k-- > 0;) {
    parts.insert(parts.begin(), fmt::format("{} = {}", d.indices[k].index, element % shape[k]));
    element /= shape[k];
  }
  for (const auto& [name, size] : call.sizes) parts.push_back(fmt::format("{} = {}", name, size));
  for (const auto& [name, value] : call.scalars) parts.push_back(fmt::format("{} = {:.9g}", name, value));
  return parts.empty() ? "" : fmt::format("Here {}.", fmt::join(parts, ", "));
}

// The elements of an output that a changed formula has to explain: the worst one, its neighbours and some of the rest.
std::vector<int64_t> probed_elements(int64_t elements, int64_t worst) {
  constexpr int64_t k_near = 8, k_far = 40;
  std::set<int64_t> some = {worst};
  for (int64_t k = -k_near; k <= k_near; ++k)
    if (worst + k >= 0 && worst + k < elements) some.insert(worst + k);
  for (int64_t k = 0; k < k_far; ++k) some.insert(k * (elements - 1) / (k_far - 1));
  return {some.begin(), some.end()};
}

// The one change of the formula whose results the candidate gave, or "".
std::string change_that_explains(const named_formula& f, const formula::call_data& call, const std::string& output,
                                 const host_tensor& y, int64_t worst) {
  const std::vector<int64_t> probed = probed_elements(y.spec.elements(), worst);
  const int64_t cols = std::max<int64_t>(1, y.spec.cols());
  double operations_left = 8 * k_most_explained_operations;
  std::vector<formula::formula_mutant> mutants = formula::mutants_of(f.op);
  // An omission is a likelier mistake than an exchange.
  std::stable_partition(mutants.begin(), mutants.end(), [](const formula::formula_mutant& m) {
    return m.change.find("dropped:") != std::string::npos;
  });
  for (const formula::formula_mutant& m : mutants) {
    if (operations_left < 0) break;
    try {
      formula::evaluation changed(m.op, call);
      const bool explains = std::ranges::all_of(probed, [&](int64_t i) {
        return !changed.demand_of(output, i).is_free &&
               changed.judge(output, i, y.value(i / cols, i % cols), reference::precision::adaptive).accepted;
      });
      operations_left -= static_cast<double>(changed.operations());
      if (explains) return m.change;
    } catch (const formula::formula_error&) {
      // The change has no value for these sizes.
    }
  }
  return "";
}

std::string departure_of(const named_formula& f, const observed_call& o, const formula::call_data& call,
                         const std::string& output, int64_t element) {
  if (!o.outputs || !o.worst || o.worst->error <= o.worst->bound) return "";
  const std::string change = change_that_explains(f, call, output, o.outputs->find(output)->second, element);
  return change.empty() ? "No formula with one change gives these results, nor does the plain implementation."
                        : fmt::format("The results are those of the formula with one change, {}.", change);
}

// The row of the element, or the element alone where a row takes too long.
void explain_row_of(explained_call& explained, const named_formula& f, const observed_call& o,
                    formula::evaluation& reference, const tensor_spec& s, int64_t element, double operations) {
  const int64_t cols = std::max<int64_t>(1, s.cols());
  const bool is_whole =
      operations * static_cast<double>(cols) / static_cast<double>(s.elements()) < k_most_explained_operations;
  explained.row = element / cols;
  explained.element = is_whole ? element % cols : 0;
  explained.row_name = is_whole ? "the row" : "the element";
  const int64_t first = is_whole ? explained.row * cols : element, count = is_whole ? cols : 1;
  const formula::tensor& x = f.op.inputs.front();
  const auto given = o.inputs.find(x.name);
  const bool is_alike = given != o.inputs.end() && given->second.spec.shape == s.shape;
  const host_tensor* const y = o.outputs ? &o.outputs->find(explained.output)->second : nullptr;
  for (int64_t i = first; i < first + count; ++i) {
    const formula::demand d = reference.demand_of(explained.output, i);
    explained.values.exact.push_back(d.expected);
    explained.values.bound.push_back(d.bound);
    if (y) explained.actual.push_back(y->value(i / cols, i % cols));
    if (is_alike) explained.input.push_back(given->second.value(i / cols, i % cols));
  }
}

}  // namespace

explained_call explain_formula(const named_formula& f, const observed_call& o) {
  const formula::call_data call = call_of(f, o.c, o.inputs);
  formula::evaluation reference(f.op, call);
  explained_call explained;
  explained.output = o.worst ? o.worst->tensor : f.op.outputs.front().name;
  const tensor_spec& s = o.c.at(explained.output);
  if (s.elements() == 0) return explained;
  const int64_t element = o.worst ? o.worst->row * s.cols() + o.worst->col : 0;
  const formula::definition& d = *f.op.find_definition(explained.output);
  explained.element_name = explained.output + place_text(s.shape, element);
  explain_row_of(explained, f, o, reference, s, element, cost_of(f.op, call.sizes));
  explained_row& values = explained.values;
  std::vector<std::string> indices;
  for (const formula::binder& b : d.indices) indices.push_back(b.index);
  values.formula =
      fmt::format("{}{} = {}.", d.name, indices.empty() ? "" : fmt::format("[{}]", fmt::join(indices, ", ")),
                  formula::to_text(d.value));
  values.numbers = numbers_of(d, reference.shape_of(explained.output), element, call);
  const formula::demand demanded = reference.demand_of(explained.output, element);
  const std::string contract = f.op.contract.empty() ? "the default contract of arithmetic" : f.op.contract;
  if (demanded.is_free) {
    values.bound_formula = fmt::format("Nothing is demanded of it: under {} an intermediate may overflow.", contract);
  } else if (demanded.bound > 0) {
    values.terms = terms_of(f.op, call, explained.output, element, demanded);
    values.bound_formula = fmt::format("the errors of its steps under {}, carried through the formula.", contract);
  }
  values.steps = steps_of(f, d, call, element);
  values.departs = departure_of(f, o, call, explained.output, element);
  return explained;
}

}  // namespace warpcheck::formula_trial
