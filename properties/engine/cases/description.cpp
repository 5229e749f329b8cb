#include "properties/engine/cases/description.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <optional>

#include "properties/engine/error.hpp"
#include "properties/engine/trials/property.hpp"

namespace warpcheck::engine {
namespace {

std::deque<description>& described_operators() {
  static std::deque<description> list;  // constructed on first use: registrations run before main in any order
  return list;
}

std::optional<int64_t> number_of(std::string_view text) {
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

const scalar_rule* find_scalar(const call_form& form, std::string_view name) {
  for (const std::vector<scalar_rule>* list : {&form.scalars, &form.knobs})
    for (const scalar_rule& s : *list)
      if (s.name == name) return &s;
  return nullptr;
}

// NaN if the case's text is neither a number nor a name.
double value_of(const scalar_rule& s, const trial_case& c) {
  const auto given = c.knobs.find(s.name);
  return given == c.knobs.end() ? s.usual : passed_value(s, given->second);
}

std::string_view shape_of(const tensor_rule& info, const call_form& form, const trial_case& c) {
  for (const other_shape& o : info.others)
    if (const scalar_rule* s = find_scalar(form, o.scalar); s && value_of(*s, c) == o.value) return o.shape;
  return info.shape;
}

// A dimension's product: its known factor, and the one extent that is unknown.
struct product {
  int64_t known = 1;
  std::string_view unknown;
  int unknowns = 0;
};

product product_of(std::string_view dimension, const call_form& form, const trial_case& c, const sizes& of) {
  product p;
  for (const std::string_view factor : trimmed_parts(dimension, "*")) {
    if (const auto n = number_of(factor))
      p.known *= *n;
    else if (const scalar_rule* s = find_scalar(form, factor))
      p.known *= static_cast<int64_t>(value_of(*s, c));
    else if (const auto found = of.find(factor); found != of.end())
      p.known *= found->second;
    else
      p.unknown = factor, ++p.unknowns;
  }
  return p;
}

// A tensor's shape by the sizes; a dimension that the sizes leave open is `open`.
std::vector<int64_t> shape_by(const tensor_rule& info, const call_form& form, const trial_case& c, const sizes& of,
                              int64_t open) {
  std::vector<int64_t> shape;
  for (const std::string_view dimension : trimmed_parts(shape_of(info, form, c), ",")) {
    const product p = product_of(dimension, form, c, of);
    shape.push_back(p.unknowns == 0 ? p.known : open);
  }
  return shape;
}

// True if a tensor that a call may omit has no elements although the sizes would give it some.
bool is_absent(const tensor_rule& info, const call_form& form, const trial_case& c, const sizes& of,
               const tensor_spec& t) {
  return info.is_optional && t.elements() == 0 && t.shape != shape_by(info, form, c, of, -1);
}

void derive(const description& d, const trial_case& c, sizes& of) {
  for (const extent_info& e : d.extents)
    if (e.derived) of[e.name] = e.derived(of, c);
}

}  // namespace

const tensor_rule* call_form::find(std::string_view tensor) const {
  const auto found = std::ranges::find_if(tensors, [&](const auto& t) { return t.name == tensor; });
  return found == tensors.end() ? nullptr : &*found;
}

const call_form* description::form_of(const trial_case& c) const {
  const auto fits = [&](const call_form& form) {
    return std::ranges::all_of(c.tensors, [&](const auto& t) { return form.find(t.name); }) &&
           std::ranges::all_of(form.tensors, [&](const tensor_rule& t) { return t.is_optional || c.find(t.name); });
  };
  const auto found = std::ranges::find_if(forms, fits);
  return found == forms.end() ? nullptr : &*found;
}

const extent_info* description::find(std::string_view extent) const {
  const auto found = std::ranges::find_if(extents, [&](const auto& e) { return e.name == extent; });
  return found == extents.end() ? nullptr : &*found;
}

namespace {

// Returns why a bench row is no call, or "".
std::string what_is_wrong(const description& d, const bench_row& row) {
  if (row.form >= d.forms.size()) return fmt::format("there is no form {}", row.form);
  const call_form& form = d.forms[row.form];
  for (const tensor_rule& t : form.tensors) {
    if (t.is_optional && !row.tensors.contains(t.name) && !row.fills.contains(t.name)) continue;
    for (const std::string_view dimension : trimmed_parts(t.shape, ","))
      for (const std::string_view factor : trimmed_parts(dimension, "*"))
        if (const extent_info* e = d.find(factor); e && !e->derived && !row.of.contains(e->name))
          return fmt::format("it has no size of extent '{}'", e->name);
  }
  for (const auto& [name, size] : row.of)
    if (!d.find(name)) return fmt::format("'{}' is not an extent", name);
  for (const auto& [name, type] : row.tensors)
    if (!form.find(name)) return fmt::format("'{}' is not a tensor", name);
  for (const auto& [name, fill] : row.fills)
    if (!form.find(name)) return fmt::format("'{}' is not a tensor", name);
  for (const auto& [name, value] : row.scalars)
    if (!find_scalar(form, name)) return fmt::format("'{}' is not a scalar", name);
  return "";
}

}  // namespace

description description_of(const contract& c) {
  description d;
  d.op = c.op;
  for (const std::string& name : c.extents) d.extents.push_back({name});
  for (const form_rule& form : c.forms) d.forms.push_back({form});
  return d;
}

extent_info& find_extent(description& d, std::string_view name) {
  return *std::ranges::find_if(d.extents, [&](const extent_info& e) { return e.name == name; });
}

void describe_operator(description d) {
  if (find_description(d.op)) throw usage_error(fmt::format("operator: '{}' is described twice", d.op));
  for (const call_form& form : d.forms)
    for (const tensor_rule& t : form.tensors) {
      std::vector<std::string_view> shapes = {t.shape};
      for (const other_shape& o : t.others) shapes.push_back(o.shape);
      for (const std::string_view shape : shapes)
        for (const std::string_view dimension : trimmed_parts(shape, ","))
          for (const std::string_view factor : trimmed_parts(dimension, "*"))
            if (!number_of(factor) && !find_scalar(form, factor) && !d.find(factor))
              throw usage_error(
                  fmt::format("operator {}: tensor {} [{}] names '{}', which is neither an extent nor a scalar", d.op,
                              t.name, shape, factor));
    }
  for (size_t i = 0; i < d.bench.rows.size(); ++i)
    if (const std::string wrong = what_is_wrong(d, d.bench.rows[i]); !wrong.empty())
      throw usage_error(fmt::format("operator {}: bench row {}: {}", d.op, i, wrong));
  if (!d.bench.slices.empty() && !d.find(d.bench.slices))
    throw usage_error(
        fmt::format("operator {}: bench rows are sliced by '{}', which is not an extent", d.op, d.bench.slices));
  described_operators().push_back(std::move(d));
}

const description* find_description(std::string_view op) {
  const auto found = std::ranges::find_if(described_operators(), [&](const description& d) { return d.op == op; });
  return found == described_operators().end() ? nullptr : &*found;
}

statement_rules statements_of(std::string_view op) {
  const description* const d = find_description(op);
  return d ? d->statements : statement_rules{};
}

uint32_t dtype_bit(dtype type) {
  switch (type) {
    case dtype::f16: return WARPCHECK_F16;
    case dtype::bf16: return WARPCHECK_BF16;
    case dtype::f32: return WARPCHECK_F32;
    case dtype::f64: return WARPCHECK_F64;
    case dtype::e4m3: return WARPCHECK_E4M3;
    case dtype::e5m2: return WARPCHECK_E5M2;
    case dtype::i8: return WARPCHECK_I8;
    case dtype::i32: return WARPCHECK_I32;
    case dtype::i64: return WARPCHECK_I64;
    case dtype::u8: return WARPCHECK_U8;
    case dtype::u16: return WARPCHECK_U16;
    case dtype::u32: return WARPCHECK_U32;
  }
  return 0;
}

std::vector<dtype> types_of(const tensor_rule& t) {
  std::vector<dtype> types;
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16, dtype::f64, dtype::i32, dtype::i64, dtype::u8,
                           dtype::u16, dtype::u32, dtype::i8, dtype::e4m3, dtype::e5m2})
    if (t.types & dtype_bit(type)) types.push_back(type);
  return types;
}

std::string usual_text(const scalar_rule& s) {
  return s.names.empty() ? format_number(s.usual) : s.names.at(static_cast<size_t>(s.usual));
}

double passed_value(const scalar_rule& s, const std::string& text) {
  for (size_t code = 0; code < s.names.size(); ++code)
    if (s.names[code] == text) return static_cast<double>(code);
  return s.names.empty() ? parse_number(text).value_or(NAN) : NAN;
}

std::vector<std::pair<const char*, double>> scalars_of(const trial_case& c) {
  std::vector<std::pair<const char*, double>> values;
  const description* d = find_description(c.op);
  if (const call_form* form = d ? d->form_of(c) : nullptr)
    for (const scalar_rule& s : form->scalars) values.emplace_back(s.name.c_str(), value_of(s, c));
  return values;
}

sizes sizes_of(const description& d, const trial_case& c) {
  sizes of;
  const call_form* form = d.form_of(c);
  if (!form) return of;
  for (const tensor_spec& t : c.tensors) {
    const tensor_rule& info = *form->find(t.name);
    const std::vector<std::string_view> dimensions = trimmed_parts(shape_of(info, *form, c), ",");
    if (dimensions.size() != t.shape.size() || (info.is_optional && t.elements() == 0)) continue;
    for (size_t i = 0; i < dimensions.size(); ++i) {
      const product p = product_of(dimensions[i], *form, c, of);
      if (p.unknowns == 1 && p.known > 0 && !d.find(p.unknown)->derived)
        of.emplace(std::string(p.unknown), t.shape[i] / p.known);
    }
  }
  derive(d, c, of);
  return of;
}

std::string_view extent_of(const description& d, const trial_case& c, const tensor_spec& t, size_t dimension) {
  const call_form* form = d.form_of(c);
  if (!form) return "";
  const std::vector<std::string_view> dimensions = trimmed_parts(shape_of(*form->find(t.name), *form, c), ",");
  const extent_info* e = dimension < dimensions.size() ? d.find(dimensions[dimension]) : nullptr;
  return e && !e->derived ? std::string_view(e->name) : "";
}

void reshape(const description& d, trial_case& c, const sizes& given) {
  const call_form* form = d.form_of(c);
  if (!form) return;
  const sizes before = sizes_of(d, c);
  sizes of = given;
  derive(d, c, of);
  for (tensor_spec& t : c.tensors) {
    const tensor_rule& info = *form->find(t.name);
    if (is_absent(info, *form, c, before, t)) continue;
    std::vector<int64_t> shape = shape_by(info, *form, c, of, -1);
    for (size_t i = 0; i < shape.size(); ++i)
      if (shape[i] < 0) shape[i] = t.shape[std::min(i, t.shape.size() - 1)];
    const int64_t gap = t.shape.size() > 1 ? t.ld - t.cols() : 0;
    t.shape = std::move(shape);
    t.ld = t.cols() + gap;
  }
  settle_memory(c);
}

void follow(trial_case& c) {
  const description* d = find_description(c.op);
  if (!d) return;
  reshape(*d, c, sizes_of(*d, c));
  for (tensor_spec& t : c.tensors)
    std::erase_if(t.fill.edits, [&](const edit& e) { return e.row >= t.rows() || e.col >= t.cols(); });
}

namespace {

// Returns what tensors, scalars and sizes that are legal by themselves break together, or "".
std::string wrong_together(const description& d, const trial_case& c, const sizes& of) {
  const call_form& form = *d.form_of(c);
  if (!form.when.scalar.empty() && c.number(form.when.scalar) != form.when.value)
    return fmt::format("{}: it is {}, and the call with these tensors is {}", form.when.scalar,
                       c.knob(form.when.scalar), form.name);
  for (const tensor_spec& t : c.tensors)
    if (t.elements() > 0)
      if (const std::string why = why_absent(c, *form.find(t.name)); !why.empty())
        return fmt::format("tensor {}: it has elements, must have none where {}", t.name, why);
  return d.illegal ? d.illegal(of, c) : "";
}

}  // namespace

bool is_legal(const trial_case& c) {
  const description* d = find_description(c.op);
  if (!d) return true;
  const property* p = registered_property(c.op, c.property);
  const bool may_break_contract = p && p->may_break_contract;
  if (!what_is_wrong(*d, c, may_break_contract).empty()) return false;
  return !may_break_contract || wrong_together(*d, c, sizes_of(*d, c)).empty();
}

std::vector<int64_t> shape_by(const trial_case& c, std::string_view tensor, const sizes& of) {
  const call_form& form = *find_description(c.op)->form_of(c);
  return shape_by(*form.find(tensor), form, c, of, 0);
}

std::string why_absent(const trial_case& c, const tensor_rule& info) {
  for (const scalar_value& never : info.never_with)
    if (const scalar_rule* s = find_scalar(c, never.scalar); s && value_of(*s, c) == never.value)
      return fmt::format("{} is {}", never.scalar, c.knob(never.scalar));
  if (info.beside.empty()) return "";
  const tensor_spec* const other = c.find(info.beside);
  return other && other->elements() > 0 ? "" : fmt::format("{} is absent", info.beside);
}

const scalar_rule* find_scalar(const trial_case& c, std::string_view name) {
  const description* d = find_description(c.op);
  if (!d) return nullptr;
  if (const call_form* form = d->form_of(c)) return find_scalar(*form, name);
  for (const call_form& form : d->forms)
    if (const scalar_rule* s = find_scalar(form, name)) return s;
  return nullptr;
}

void run_once(trial_case& c) {
  c.knobs["schedule"] = "fair";
  c.knobs["detect"] = "off";
}

void set_knob(trial_case& c, const std::string& name, const std::string& value) {
  c.knobs.erase(name);
  if (c.knob(name) != value) c.knobs[name] = value;
}

namespace {

std::string unknown_form(const description& d) {
  std::string known;
  for (const call_form& f : d.forms) {
    known += known.empty() ? "" : "; or ";
    for (const tensor_rule& t : f.tensors)
      known += fmt::format("{}{}{}", &t == &f.tensors.front() ? "" : ", ", t.name, t.is_optional ? " (optional)" : "");
  }
  return fmt::format("case line: its tensors are not those of {}, which are {}", d.op, known);
}

std::string wrong_scalar(const scalar_rule& s, const trial_case& c) {
  const double value = value_of(s, c);
  const std::string text = c.knobs.count(s.name) ? c.knobs.at(s.name) : usual_text(s);
  const bool is_free = !s.is_integer && s.names.empty();
  if (is_free && std::isnan(value) && parse_number(text)) return "";
  if (value >= s.least && value <= s.most && (is_free || value == std::trunc(value))) return "";
  const std::string allowed = s.names.empty() ? fmt::format("{} in [{}, {}]", s.is_integer ? "an integer" : "a number",
                                                            format_number(s.least), format_number(s.most))
                                              : fmt::format("one of {}", fmt::join(s.names, ", "));
  return fmt::format("{}: '{}' is not {}", s.name, text, allowed);
}

std::string wrong_type(const tensor_rule& info, const tensor_spec& t, const tensor_spec& first) {
  if (info.types != 0 && !(info.types & dtype_bit(t.type))) {
    std::string allowed;
    for (const dtype type : types_of(info)) allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", name_of(type));
    return fmt::format("tensor {}: the dtype is {}, must be one of {}", t.name, name_of(t.type), allowed);
  }
  if (info.types == 0 && t.type != first.type)
    return fmt::format("tensor {}: the dtype is {}, must be {}, as of tensor {}", t.name, name_of(t.type),
                       name_of(first.type), first.name);
  return "";
}

// `chosen`: the extents that the case has chosen.
std::string wrong_shape(const tensor_rule& info, const call_form& form, const trial_case& c, const sizes& chosen,
                        const tensor_spec& t) {
  const std::string_view shape = shape_of(info, form, c);
  const std::vector<std::string_view> dimensions = trimmed_parts(shape, ",");
  if (dimensions.size() != t.shape.size())
    return fmt::format("tensor {}: rank {} is not {}, that of [{}]", t.name, t.shape.size(), dimensions.size(), shape);
  for (size_t i = 0; i < dimensions.size(); ++i)
    if (const product p = product_of(dimensions[i], form, c, chosen); p.unknowns == 0 && p.known != t.shape[i])
      return fmt::format("tensor {}: dimension {} is {}, must be {} = {}", t.name, i, t.shape[i], dimensions[i],
                         p.known);
  return "";
}

bool is_derived(const call_form& form, const std::string& tensor) {
  return std::ranges::find(form.derived, tensor) != form.derived.end();
}

std::string wrong_fill(const call_form& form, const tensor_spec& t) {
  return t.fill.distribution != "derived" || is_derived(form, t.name)
             ? ""
             : fmt::format("tensor {}: nothing determines its values; fill=derived() is not allowed", t.name);
}

// True if the contract allows an input to be the memory of another, as the case demands.
std::string wrong_sharing(const tensor_rule& info, const tensor_spec& t) {
  const auto& may_be = info.may_be;
  if (t.same.empty() || std::ranges::find(may_be, t.same) != may_be.end()) return "";
  return fmt::format("tensor {}: same={} is not allowed; {}", t.name, t.same,
                     may_be.empty() ? "it must have memory of its own"
                                    : fmt::format("it may be the same as {}", fmt::join(may_be, ", ")));
}

}  // namespace

std::string what_is_wrong(const description& d, const trial_case& c, bool may_break_contract) {
  const call_form* form = d.form_of(c);
  if (!form) return unknown_form(d);
  // Shapes follow from scalars, so these come first.
  if (!may_break_contract)
    for (const scalar_rule& s : form->scalars)
      if (const std::string wrong = wrong_scalar(s, c); !wrong.empty()) return wrong;
  size_t last = 0;
  const sizes of = sizes_of(d, c);
  // Derived extents are only one way to make a case; a line may have tables of its own.
  sizes chosen = of;
  std::erase_if(chosen, [&](const auto& e) { return d.find(e.first)->derived != nullptr; });
  for (const tensor_spec& t : c.tensors) {
    const tensor_rule& info = *form->find(t.name);
    const auto place = static_cast<size_t>(&info - form->tensors.data());
    if (place < last)
      return fmt::format("tensor {}: it comes too late, behind tensor {}", t.name, form->tensors[last].name);
    last = place;
    if (info.is_input != t.is_input)
      return fmt::format("tensor {}: it is an {}", t.name,
                         info.is_input ? "input, and needs a fill" : "output, and has no fill");
    if (const std::string wrong = wrong_type(info, t, c.tensors.front()); !wrong.empty()) return wrong;
    if (const std::string wrong = wrong_fill(*form, t); !wrong.empty()) return wrong;
    if (is_absent(info, *form, c, of, t)) continue;
    if (const std::string wrong = wrong_shape(info, *form, c, chosen, t); !wrong.empty()) return wrong;
    if (const std::string wrong = wrong_sharing(info, t); !wrong.empty()) return wrong;
  }
  if (const std::string wrong = wrong_memory(c); !wrong.empty()) return wrong;
  return may_break_contract ? "" : wrong_together(d, c, of);
}

tensor_spec make_tensor(const call_form& form, const tensor_rule& info, dtype type) {
  tensor_spec t;
  t.name = info.name;
  const std::vector<dtype> types = types_of(info);
  t.type = types.size() == 1 ? types.front() : type;
  t.shape.assign(trimmed_parts(info.shape, ",").size(), 1);  // present, whatever its sizes will be
  t.ld = 1;
  t.is_input = info.is_input;
  if (is_derived(form, t.name)) t.fill = make_recipe("derived", {});
  return t;
}

trial_case make_case(const description& d, const target& t, const sizes& of, std::map<std::string, recipe> fills,
                     size_t form) {
  trial_case c;
  c.op = d.op;
  c.knobs["device"] = t.device;
  if (t.candidate != "builtin") c.knobs["candidate"] = t.candidate;
  if (!d.formula.empty()) c.knobs["formula"] = d.formula;
  for (const tensor_rule& info : d.forms[form].tensors)
    if (!info.is_optional || fills.count(info.name)) c.tensors.push_back(make_tensor(d.forms[form], info, t.type));
  reshape(d, c, of);
  for (tensor_spec& s : c.tensors)
    if (const auto fill = fills.find(s.name); s.is_input && fill != fills.end()) s.fill = std::move(fill->second);
  return c;
}

tensor_spec& add_tensor(trial_case& c, std::string_view name, dtype type, recipe fill) {
  const description& d = *find_description(c.op);
  const call_form& form = *d.form_of(c);
  const tensor_rule& info = *form.find(name);
  tensor_spec t = make_tensor(form, info, type);
  t.type = type;
  t.fill = std::move(fill);
  const auto behind = std::ranges::find_if(c.tensors, [&](const tensor_spec& s) { return form.find(s.name) > &info; });
  const sizes of = sizes_of(d, c);
  const auto at = c.tensors.insert(behind, std::move(t)) - c.tensors.begin();
  reshape(d, c, of);
  return c.tensors[static_cast<size_t>(at)];
}

int64_t place_of_part(int p, int count, int64_t last, uint64_t seed, uint64_t dimension) {
  if (count > 2 && p < 2) return p * last;
  return static_cast<int64_t>(hash64(seed, static_cast<uint64_t>(p), dimension) % static_cast<uint64_t>(last + 1));
}

}  // namespace warpcheck::engine
