#include "command/given_call.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "properties/engine/cases/recipe.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/trials/in_hand.hpp"
#include "properties/engine/trials/property.hpp"

namespace warpcheck::cli {
namespace {

using namespace engine;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_given_tensor(const tensor_rule& t, bool is_input) { return t.is_input == is_input && t.name != "work"; }

// Returns the names with empty ones replaced by the next tensors of the form; nothing if the form has no such tensor.
std::optional<std::vector<std::string>> filled_names(const call_form& form, const std::vector<std::string>& given,
                                                     bool is_input) {
  std::vector<std::string> names, free;
  for (const tensor_rule& t : form.tensors)
    if (is_given_tensor(t, is_input) && !contains(given, t.name)) free.push_back(t.name);
  for (const std::string& name : given) {
    const tensor_rule* const known = form.find(name);
    if (name.empty() ? free.empty() : !known || !is_given_tensor(*known, is_input)) return std::nullopt;
    names.push_back(name.empty() ? free.front() : name);
    if (name.empty()) free.erase(free.begin());
  }
  return names;
}

// Returns the first required input that is not among the names, or null.
const tensor_rule* missing_input(const call_form& form, const std::vector<std::string>& inputs) {
  for (const tensor_rule& t : form.tensors)
    if (t.is_input && !t.is_optional && !contains(inputs, t.name)) return &t;
  return nullptr;
}

std::vector<std::string> names_of_tensors(const description& d, bool is_input) {
  std::vector<std::string> names;
  for (const call_form& form : d.forms)
    for (const tensor_rule& t : form.tensors)
      if (is_given_tensor(t, is_input) && !contains(names, t.name)) names.push_back(t.name);
  return names;
}

[[noreturn]] void refuse_names(const description& d, const std::vector<std::string>& inputs,
                               const std::vector<std::string>& outputs) {
  for (const bool is_input : {true, false}) {
    const std::vector<std::string> known = names_of_tensors(d, is_input);
    for (const std::string& name : is_input ? inputs : outputs)
      if (!name.empty() && !contains(known, name))
        throw usage_error(fmt::format("'{}' is no {} of {}; it has {}", name, is_input ? "input" : "output", d.op,
                                      fmt::join(known, ", ")));
  }
  for (const call_form& form : d.forms) {
    const auto names = filled_names(form, inputs, true);
    if (!names || !filled_names(form, outputs, false)) continue;
    const tensor_rule& missing = *missing_input(form, *names);
    std::vector<std::string_view> types;
    for (const dtype type : types_of(d, missing)) types.push_back(name_of(type));
    throw usage_error(
        fmt::format("{}: {} is missing, [{}] {}", d.op, missing.name, missing.shape, fmt::join(types, ", ")));
  }
  throw usage_error(fmt::format("{}: no call of it has these {} inputs and {} outputs; see 'warpcheck list {}'", d.op,
                                inputs.size(), outputs.size(), d.op));
}

const property& judging_property(const description& d) {
  const in_hand_judge* const own = find_in_hand_judge(d.op);
  return find_property(d.op, own ? own->property : "within-error-bound");
}

void set_tensor(trial_case& c, const call_form& form, const std::string& name, const given_array& array) {
  tensor_spec* t = c.find(name);
  if (!t) t = &add_tensor(c, name, array.type);
  if (array.shape.size() != t->shape.size())
    throw usage_error(fmt::format("{}: it has {} dimensions, must have {}: [{}]", name, array.shape.size(),
                                  t->shape.size(), form.find(name)->shape));
  t->type = array.type;
  t->shape = array.shape;
  t->ld = t->cols();
}

// A recipe for every tensor of the form, if its cases list all of them.
std::map<std::string, recipe> all_tensors_of(const description& d, const call_form& form) {
  std::map<std::string, recipe> fills;
  for (const tensor_rule& t : form.tensors)
    if (d.lists_all_tensors) fills[t.name] = {};
  return fills;
}

// Removes the elements of every optional tensor that was not given.
void leave_out_others(trial_case& c, const call_form& form, const given_names& names) {
  for (tensor_spec& t : c.tensors) {
    if (!form.find(t.name)->is_optional || contains(t.is_input ? names.inputs : names.outputs, t.name)) continue;
    t.shape.assign(t.shape.size(), 0);
    t.ld = 0;
  }
}

// A case of the form whose tensors have one element, or none if they are optional. `values` may contain extents, which
// are removed from it.
trial_case smallest_case(const description& d, const given_names& names, target t,
                         std::map<std::string, std::string>& values) {
  sizes of;
  for (const extent_info& e : d.extents) {
    if (e.derived) continue;
    of[e.name] = 1;
    const auto given = values.find(e.name);
    if (given == values.end()) continue;
    const std::optional<double> size = parse_number(given->second);
    if (!size || *size < 0 || *size > 0x1p40 || *size != static_cast<double>(static_cast<int64_t>(*size)))
      throw usage_error(fmt::format("{}: it is '{}', must be a whole number", e.name, given->second));
    of[e.name] = static_cast<int64_t>(*size);
    values.erase(given);
  }
  const call_form& form = d.forms[names.form];
  t.op = d.op;
  trial_case c = make_case(d, t, of, all_tensors_of(d, form), names.form);
  for (tensor_spec& s : c.tensors)
    if (const std::vector<dtype> types = engine::types_of(*form.find(s.name));
        !types.empty() && std::ranges::find(types, s.type) == types.end())
      s.type = types.front();
  c.property = judging_property(d).name;
  return c;
}

// Gives the case the shapes and element types of the arrays.
void set_tensors(trial_case& c, const description& d, const given_names& names, const std::vector<given_array>& inputs,
                 const std::vector<given_array>& outputs) {
  const call_form& form = d.forms[names.form];
  const auto set_inputs = [&] {
    for (size_t i = 0; i < inputs.size(); ++i) set_tensor(c, form, names.inputs[i], inputs[i]);
  };
  set_inputs();
  if (d.lists_all_tensors) leave_out_others(c, form, names);
  follow(c);
  set_inputs();  // a derived extent is only one way to make a case: the caller's tables keep their sizes
  for (size_t i = 0; i < outputs.size(); ++i) set_tensor(c, form, names.outputs[i], outputs[i]);
  for (tensor_spec& t : c.tensors)
    if (t.is_input) t.fill = make_recipe("constant", {0});  // the values are given
  // The candidate has the outputs that were given and no others; if none were given, all required ones.
  if (!outputs.empty() && !d.lists_all_tensors)
    std::erase_if(c.tensors, [&](const tensor_spec& s) { return !s.is_input && !contains(names.outputs, s.name); });
}

}  // namespace

given_names names_of_call(const description& d, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs, const std::map<std::string, std::string>& scalars) {
  std::string excluded;
  for (size_t i = 0; i < d.forms.size(); ++i) {
    auto of_inputs = filled_names(d.forms[i], inputs, true);
    auto of_outputs = filled_names(d.forms[i], outputs, false);
    if (!of_inputs || !of_outputs || missing_input(d.forms[i], *of_inputs)) continue;
    const scalar_value& when = d.forms[i].when;
    const auto given = scalars.find(when.scalar);
    if (given == scalars.end() || parse_number(given->second) == when.value)
      return {i, std::move(*of_inputs), std::move(*of_outputs)};
    if (excluded.empty())
      excluded = fmt::format("{}: it is {}, and the call with these tensors is {}", when.scalar, given->second,
                             d.forms[i].name);
  }
  if (!excluded.empty()) throw usage_error(fmt::format("{}: {}; see 'warpcheck list {}'", d.op, excluded, d.op));
  refuse_names(d, inputs, outputs);
}

std::vector<dtype> types_of(const description& d, const tensor_rule& t) {
  if (t.types != 0) return engine::types_of(t);
  for (const call_form& form : d.forms)  // "as the first"
    if (form.find(t.name) && form.tensors.front().types != 0) return engine::types_of(form.tensors.front());
  return judging_property(d).types;
}

void set_scalar(trial_case& c, const std::string& name, const std::string& value) {
  const scalar_rule* const s = find_scalar(c, name);
  if (!s) {
    std::vector<std::string> known;
    const call_form& form = *find_description(c.op)->form_of(c);
    for (const auto* list : {&form.scalars, &form.knobs})
      for (const scalar_rule& one : *list) known.push_back(one.name);
    throw usage_error(fmt::format("'{}' is no scalar of {}; it has {}", name, c.op,
                                  known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
  }
  const std::optional<double> code = parse_number(value);
  const bool is_code = !s->names.empty() && code && *code >= 0 && *code < static_cast<double>(s->names.size()) &&
                       *code == static_cast<double>(static_cast<size_t>(*code));
  set_knob(c, name, is_code ? s->names[static_cast<size_t>(*code)] : value);
}

given_call call_of_arrays(const description& d, const given_names& names, const std::vector<given_array>& inputs,
                          const std::vector<given_array>& outputs, const std::map<std::string, std::string>& scalars,
                          std::string_view device, std::string_view candidate) {
  target t;
  t.device = device;
  t.candidate = candidate;
  if (!inputs.empty()) t.type = inputs.front().type;
  std::map<std::string, std::string> values = scalars;
  given_call call{smallest_case(d, names, std::move(t), values), {}};
  for (const auto& [name, value] : values) set_scalar(call.c, name, value);
  set_tensors(call.c, d, names, inputs, outputs);
  if (const scalar_value& when = d.forms[names.form].when; !when.scalar.empty())
    set_knob(call.c, when.scalar, format_number(when.value));
  for (size_t i = 0; i < inputs.size(); ++i) {
    host_tensor x(call.c.at(names.inputs[i]));
    x.bytes = inputs[i].bytes;
    call.values.insert_or_assign(names.inputs[i], std::move(x));
  }
  if (const in_hand_judge* const own = find_in_hand_judge(d.op); own && own->complete)
    own->complete(call.c, call.values, !outputs.empty());
  if (const std::string wrong = what_is_wrong(d, call.c, false); !wrong.empty())
    throw usage_error(fmt::format("{}: {}", d.op, wrong));
  return call;
}

}  // namespace warpcheck::cli
