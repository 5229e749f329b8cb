#include "properties/formula/formula_description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "properties/engine/error.hpp"
#include "properties/engine/files/sha256.hpp"
#include "properties/engine/trials/library.hpp"
#include "properties/formula/formula_bench.hpp"
#include "reference/formula/printer.hpp"

namespace warpcheck::formula_trial {

using namespace engine;
using formula::expr, formula::formula_operator, formula::kind, formula::whole_values;

namespace {

// Extents that only index lists mention: a case says their size in a knob of this name.
bool is_of_no_tensor(const formula_operator& op, const std::string& extent) {
  const auto mentions_it = [&](const formula::tensor& t) {
    return std::ranges::any_of(t.shape, [&](const expr& e) { return formula::mentions(e, extent); });
  };
  return std::ranges::none_of(op.inputs, mentions_it) && std::ranges::none_of(op.outputs, mentions_it);
}

// -1 where the value of an extent is none, as of a window that is larger than its image.
int64_t size_or_none(const expr& e, const whole_values& of) {
  try {
    return std::max<int64_t>(-1, formula::whole_value(e, of));
  } catch (const formula::formula_error&) {
    return -1;
  }
}

whole_values with_derived(const formula_operator& op, whole_values of) {
  for (const formula::derived_extent& d : op.derived) of[d.name] = size_or_none(d.value, of);
  return of;
}

// A dimension's text in a description; what is more than a name or number becomes an extent of its own.
std::string dimension_of(const named_formula& f, const formula::tensor& t, size_t k, description& d) {
  const expr& e = t.shape[k];
  if (e->what == kind::name || e->what == kind::number) return e->text;
  const std::string name = fmt::format("{}_{}", t.name, k);
  d.extents.push_back(
      {name, [f, e](const sizes& of, const trial_case& c) { return size_or_none(e, values_of(f, of, c)); }});
  return name;
}

tensor_rule info_of(const named_formula& f, const formula::tensor& t, bool is_input, description& d) {
  std::string shape;
  for (size_t k = 0; k < t.shape.size(); ++k)
    shape += fmt::format("{}{}", k == 0 ? "" : ", ", dimension_of(f, t, k, d));
  return {t.name, is_input, shape.empty() ? "1" : shape, dtype_bit(memory_type(t))};
}

// Why values of an input are not what the formula allows, or "".
std::string illegal_values(const named_formula& f, const formula::tensor& t, const trial_case& c, const sizes& of) {
  const tensor_spec* const s = c.find(t.name);
  if (!s || s->elements() == 0 || (!t.of && !t.range)) return "";
  double least = t.range ? t.range->first : 0, most = t.range ? t.range->second : 0;
  if (t.of) most = static_cast<double>(size_or_none(t.of, values_of(f, of, c))) - 1;
  // The ends as the type holds them.
  least = decode(s->type, encode(s->type, least));
  most = decode(s->type, encode(s->type, most));
  const host_tensor x = materialize(*s);
  for (int64_t r = 0; r < s->rows(); ++r)
    for (int64_t k = 0; k < s->cols(); ++k)
      if (const double v = x.value(r, k); !(v >= least && v <= most))
        return fmt::format("tensor {}: element {},{} is {}, must be in [{}, {}]", t.name, r, k, format_number(v),
                           format_number(least), format_number(most));
  return "";
}

std::string illegal_case(const named_formula& f, const sizes& of, const trial_case& c) {
  const whole_values all = values_of(f, of, c);
  const auto check_shape = [&](const formula::tensor& t) -> std::string {
    const tensor_spec* const s = c.find(t.name);
    for (size_t k = 0; s && k < t.shape.size(); ++k)
      if (const int64_t n = size_or_none(t.shape[k], all); n != s->shape[k])
        return fmt::format("tensor {}: dimension {} is {}, must be {} = {}", t.name, k, s->shape[k],
                           formula::to_text(t.shape[k]), n);
    return "";
  };
  for (const auto* list : {&f.op.inputs, &f.op.outputs})
    for (const formula::tensor& t : *list)
      if (std::string wrong = check_shape(t); !wrong.empty()) return wrong;
  for (const formula::tensor& t : f.op.inputs)
    if (std::string wrong = illegal_values(f, t, c, of); !wrong.empty()) return wrong;
  return "";
}

}  // namespace

std::string named_formula::identity() const {
  formula_operator plain = op;
  plain.comments.clear();
  plain.contract_comments.clear();
  for (formula::definition& d : plain.definitions) d.comments.clear();
  for (formula::derived_extent& d : plain.derived) d.comments.clear();
  constexpr size_t k_digits = 16;
  return fmt::format("{}#{}", file, sha256_hex(formula::to_text(plain)).substr(0, k_digits));
}

dtype memory_type(const formula::tensor& t) {
  const auto type = dtype_from_name(formula::name_of(t.type));
  if (!type)
    throw usage_error(fmt::format("formula: tensor {} is of type {}, which has no memory; f32 holds it", t.name,
                                  formula::name_of(t.type)));
  return *type;
}

whole_values values_of(const named_formula& f, const sizes& of, const trial_case& c) {
  whole_values all(of.begin(), of.end());
  const auto whole_knob = [&](const std::string& name, int64_t fallback) {
    const auto given = c.knobs.find(name);
    const double v = given == c.knobs.end() ? NAN : parse_number(given->second).value_or(NAN);
    return v == std::trunc(v) && std::fabs(v) < 0x1p53 ? static_cast<int64_t>(v) : fallback;
  };
  for (const formula::scalar& s : f.op.scalars)
    if (s.is_integer) all[s.name] = whole_knob(s.name, static_cast<int64_t>(s.fallback));
  for (const std::string& e : f.op.free_extents())
    if (is_of_no_tensor(f.op, e)) all[e] = whole_knob(e, 2);
  return with_derived(f.op, std::move(all));
}

description describe(const named_formula& f) {
  description d;
  d.op = f.engine_name();
  d.formula = f.identity();
  d.statements = {.sums = false, .plan = false};  // its arithmetic line states depths
  call_form form;
  form.name = "call";
  for (const std::string& name : f.op.free_extents()) {
    if (is_of_no_tensor(f.op, name))
      form.knobs.push_back({name, 2, "extent that index lists alone mention", 1, 0x1p31, true});
    else
      d.extents.push_back({name});
  }
  for (const formula::derived_extent& e : f.op.derived)
    d.extents.push_back(
        {e.name, [f, name = e.name](const sizes& of, const trial_case& c) { return values_of(f, of, c).at(name); }});
  for (const formula::tensor& t : f.op.inputs) form.tensors.push_back(info_of(f, t, true, d));
  for (const formula::tensor& t : f.op.outputs) form.tensors.push_back(info_of(f, t, false, d));
  for (const formula::scalar& s : f.op.scalars) {
    scalar_rule info = {s.name, s.fallback, "scalar of the formula"};
    if (s.has_range) info.least = s.least, info.most = s.most;
    info.is_integer = s.is_integer;
    form.scalars.push_back(std::move(info));
  }
  d.forms.push_back(std::move(form));
  d.illegal = [f](const sizes& of, const trial_case& c) { return illegal_case(f, of, c); };
  d.bench = bench_of(f);
  return d;
}

formula::call_data call_of(const named_formula& f, const trial_case& c, const tensor_map& inputs) {
  formula::call_data call;
  call.sizes = values_of(f, sizes_of(*find_description(c.op), c), c);
  for (const formula::derived_extent& e : f.op.derived) call.sizes.erase(e.name);
  for (const auto& [name, value] : scalars_of(c)) call.scalars[name] = value;
  for (const formula::tensor& t : f.op.inputs) {
    const host_tensor& x = inputs.find(t.name)->second;
    formula::array a;
    if (!t.shape.empty()) a.shape = x.spec.shape;
    for (int64_t r = 0; r < x.spec.rows(); ++r)
      for (int64_t k = 0; k < x.spec.cols(); ++k) {
        a.values.push_back(x.value(r, k));
        if (formula::is_integer(t.type) || t.of) a.integers.push_back(static_cast<int64_t>(a.values.back()));
      }
    call.inputs.emplace(t.name, std::move(a));
  }
  return call;
}

namespace {

// The cost of one element of the definition.
double cost_of_expression(const formula_operator& op, const formula::definition& d, const expr& e,
                          const whole_values& of) {
  if (!e) return 0;
  double inner = 0;
  for (const expr& a : e->args) inner += cost_of_expression(op, d, a, of);
  inner += cost_of_expression(op, d, e->other, of);
  if (e->what != kind::reduce) return 1 + inner;
  // One scan is for all elements that differ in this index: a term for each.
  const std::string last = formula::scan_index(e);
  if (std::ranges::any_of(d.indices, [&](const formula::binder& b) { return b.index == last; })) return 2 + inner;
  const auto size = [&](const expr& extent) {
    return extent ? static_cast<double>(std::max<int64_t>(1, size_or_none(extent, of))) : 1.0;
  };
  double times = 1;
  for (const formula::binder& b : e->bound)
    times *= size(b.extent ? b.extent : op.inferred_extent(b.index, e->args[0]));
  // One reduction is for all elements that differ in indices on which it does not depend.
  const std::vector<expr> extents = op.extents_of(d);
  for (size_t i = 0; i < extents.size(); ++i)
    if (!formula::mentions(e, d.indices[i].index)) times /= size(extents[i]);
  return 1 + times * (1 + inner);
}

}  // namespace

double cost_of(const formula_operator& op, whole_values of) {
  of = with_derived(op, std::move(of));
  double cost = 0;
  for (const formula::definition& d : op.definitions) {
    double elements = 1;
    for (const expr& e : op.extents_of(d)) elements *= static_cast<double>(std::max<int64_t>(1, size_or_none(e, of)));
    cost += elements * cost_of_expression(op, d, d.value, of);
  }
  return cost;
}

}  // namespace warpcheck::formula_trial
