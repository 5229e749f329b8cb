#include "properties/formula/formula_control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "properties/engine/cases/host_tensor.hpp"
#include "properties/formula/formula_properties.hpp"
#include "reference/formula/contract.hpp"
#include "reference/formula/evaluate.hpp"

namespace warpcheck::formula_trial {

using namespace engine;
using formula::number_type;

namespace {

int digits_of(number_type t) { return formula::is_integer(t) ? 0 : formula::range_of(t).digits; }

using formula::kind;

bool is_sum(const formula::expr& e) { return e->what == kind::reduce && (e->text == "sum" || e->text == "mean"); }

// Subscripts, conditions on indices and selections round nothing.
bool is_rounded(const formula::formula_operator& op, const formula::expr& e) {
  constexpr std::string_view k_selections[] = {"abs", "floor", "round", "min", "max", "fmin", "fmax"};
  if (formula::is_whole(op, e)) return false;
  const bool is_operation = e->what >= kind::add && e->what <= kind::power;
  const bool is_function = e->what == kind::call && std::find(std::begin(k_selections), std::end(k_selections),
                                                              e->text) == std::end(k_selections);
  return is_operation || is_function || is_sum(e) || (e->what == kind::reduce && e->text == "prod");
}

template <class Test>
bool has_expression(const formula::formula_operator& op, Test test) {
  bool found = false;
  for (const formula::definition& d : op.definitions)
    formula::walk(d.value, [&](const formula::expr& e) { found |= test(e); });
  return found;
}

bool is_case_rejected(const named_formula& f, const formula::formula_operator& expanded, const formula::call_data& call,
                      formula::evaluation& reference, double operations, const formula::machine_options& how) {
  formula::program code(expanded, call);
  formula::walker<formula::machine_algebra> kernel(code, formula::machine_algebra(how));
  for (const formula::tensor& out : f.op.outputs) {
    const formula::definition_code& d = *code.find(out.name);
    for (const int64_t i : judged_elements(d.elements, operations)) {
      double actual = kernel.element(d, i);
      if (!formula::is_integer(out.type)) actual = formula::round_to_type(out.type, actual);
      if (!reference.judge(out.name, i, actual).accepted) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<lower_precision> lower_precisions(const named_formula& f) {
  const number_type own = formula::parse_contract(f.op.contract).format;
  formula::machine_options usual;
  usual.format = usual.accumulate = own;
  std::vector<lower_precision> list;
  const auto add = [&](std::string name, auto change) {
    list.push_back({std::move(name), usual});
    change(list.back().how);
  };
  const number_type below = own == number_type::f64   ? number_type::f32
                            : own == number_type::f32 ? number_type::tf32
                                                      : number_type::bf16;
  if (own == number_type::bf16) return list;
  int most = 0;
  for (const formula::tensor& t : f.op.inputs) most = std::max(most, digits_of(t.type));
  const number_type operands = most > digits_of(below) ? below : number_type::bf16;
  if (most > digits_of(operands))
    add(fmt::format("operands in {}", name_of(operands)),
        [&](formula::machine_options& how) { how.operands = operands; });
  const formula::formula_operator expanded = formula::expanded(f.op);
  if (has_expression(expanded, [&](const formula::expr& e) { return is_rounded(expanded, e); }))
    add(fmt::format("operations in {}", name_of(below)),
        [&](formula::machine_options& how) { how.format = how.accumulate = below; });
  if (has_expression(expanded, is_sum))
    for (const number_type t : {number_type::f32, number_type::f16, number_type::bf16})
      if ((t == number_type::f32) == (own == number_type::f64) && digits_of(t) < digits_of(own))
        add(fmt::format("sums in {}", name_of(t)), [&](formula::machine_options& how) { how.accumulate = t; });
  return list;
}

void try_lower_precisions(const named_formula& f, const trial_case& c, std::vector<lower_precision>& list) {
  tensor_map inputs;
  for (const tensor_spec& s : c.tensors)
    if (s.is_input) inputs.emplace(s.name, materialize(s));
  const formula::call_data call = call_of(f, c, inputs);
  formula::evaluation reference(f.op, call);
  const formula::formula_operator expanded = formula::expanded(f.op);
  const double operations = cost_of(f.op, call.sizes);
  for (lower_precision& l : list) {
    if (l.is_rejected) continue;
    ++l.cases;
    l.is_rejected = is_case_rejected(f, expanded, call, reference, operations, l.how);
  }
}

}  // namespace warpcheck::formula_trial
