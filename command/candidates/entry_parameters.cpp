#include "command/candidates/entry_parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "command/candidates/described_contract.hpp"
#include "properties/engine/error.hpp"

namespace warpcheck::cli {
namespace {

using engine::usage_error;

const entry_name k_stream = {"stream", entry_meaning::stream, "stream"};

// Extents that a tensor's dimensions name.
std::vector<std::string> extents_of(const engine::description& d, const tensor_rule& t) {
  std::vector<std::string> extents;
  const auto add = [&](std::string_view shape) {
    for (const std::string_view factors : trimmed_parts(shape, ","))
      for (const std::string_view factor : trimmed_parts(factors, "*"))
        if (d.find(factor)) extents.emplace_back(factor);
  };
  add(t.shape);
  for (const other_shape& other : t.others) add(other.shape);
  return extents;
}

bool has_rows(const tensor_rule& t) {
  return dimensions_of(t.shape) > 1 ||
         std::ranges::any_of(t.others, [](const other_shape& o) { return dimensions_of(o.shape) > 1; });
}

// Collects names, each once.
class name_list {
 public:
  void add(entry_name n) {
    for (entry_name& known : names_)
      if (known.name == n.name) {
        known.types |= n.types;
        if (n.meaning == entry_meaning::output) known.meaning = n.meaning;
        return;
      }
    names_.push_back(std::move(n));
  }
  bool has(const std::string& name) const {
    return std::ranges::any_of(names_, [&](const entry_name& n) { return n.name == name; });
  }
  std::vector<entry_name> take() { return std::move(names_); }

 private:
  std::vector<entry_name> names_;
};

std::string extent_name(const name_list& tensors, const std::string& extent) {
  return tensors.has(extent) ? "num_" + extent : extent;
}

name_list tensor_names(const contract& rules) {
  name_list names;
  for (const form_rule& form : rules.forms)
    for (const tensor_rule& t : form.tensors) {
      const uint32_t types = t.types ? t.types : form.tensors.front().types;
      names.add({t.name, t.is_input ? entry_meaning::input : entry_meaning::output, t.name, types});
      if (has_rows(t)) names.add({"ld" + t.name, entry_meaning::distance, t.name});
    }
  return names;
}

std::string listed(const std::vector<entry_name>& names) {
  std::vector<std::string> list;
  for (const entry_name& n : names) list.push_back(n.name);
  return fmt::format("{}", fmt::join(list, ", "));
}

// The names that a call of this form requires and the entry does not have.
std::vector<std::string> missing(const engine::description& d, const form_rule& form, const name_list& tensors,
                                 const imported_function& entry) {
  std::vector<std::string> names;
  const auto need = [&](const std::string& name) {
    const auto has = [&](const std::vector<std::string>& list) { return std::ranges::find(list, name) != list.end(); };
    if (!has(entry.parameters) && !has(names)) names.push_back(name);
  };
  for (const tensor_rule& t : form.tensors) {
    if (t.is_optional) continue;
    need(t.name);
    for (const std::string& extent : extents_of(d, t))
      if (!d.find(extent)->derived && !d.find(extent)->is_single) need(extent_name(tensors, extent));
  }
  return names;
}

}  // namespace

std::vector<entry_name> entry_names(const engine::description& d) {
  const contract rules = contract_of(d);
  const name_list tensors = tensor_names(rules);
  name_list names = tensors;
  for (const form_rule& form : rules.forms)
    for (const tensor_rule& t : form.tensors)
      for (const std::string& extent : extents_of(d, t))
        names.add({extent_name(tensors, extent), entry_meaning::extent, extent});
  for (const form_rule& form : rules.forms)
    for (const scalar_rule& s : form.scalars)
      names.add({s.name, s.is_integer ? entry_meaning::integer : entry_meaning::number, s.name});
  names.add(k_stream);
  if (d.split) {
    names.add({"reserve", entry_meaning::reserve, "reserve"});
    names.add({"reserve_bytes", entry_meaning::reserve_bytes, "reserve"});
  }
  return names.take();
}

std::vector<const char*> element_types_of(const entry_name& n) {
  constexpr std::pair<uint32_t, const char*> types[] = {
      {WARPCHECK_F32, "float"},  {WARPCHECK_F16, "__half"},         {WARPCHECK_BF16, "__nv_bfloat16"},
      {WARPCHECK_F64, "double"}, {WARPCHECK_I64, "int64_t"},        {WARPCHECK_I32, "int32_t"},
      {WARPCHECK_U8, "uint8_t"}, {WARPCHECK_U16, "uint16_t"},       {WARPCHECK_U32, "uint32_t"},
      {WARPCHECK_I8, "int8_t"},  {WARPCHECK_E4M3, "__nv_fp8_e4m3"}, {WARPCHECK_E5M2, "__nv_fp8_e5m2"}};
  std::vector<const char*> names;
  for (const auto& [bit, name] : types)
    if (n.types & bit) names.push_back(name);
  return names;
}

std::string declaration_of(const entry_name& n) {
  switch (n.meaning) {
    case entry_meaning::input: return fmt::format("const {}* {}", element_types_of(n).front(), n.name);
    case entry_meaning::output: return fmt::format("{}* {}", element_types_of(n).front(), n.name);
    case entry_meaning::number: return "double " + n.name;
    case entry_meaning::stream: return "cudaStream_t " + n.name;
    case entry_meaning::reserve: return "void* " + n.name;
    case entry_meaning::reserve_bytes: return "int64_t* " + n.name;
    default: return "int64_t " + n.name;
  }
}

std::string lacked_text(const std::string& op, const std::vector<std::string>& names) {
  std::vector<std::string> lacked;
  const auto add = [&](std::string text) {
    if (std::ranges::find(lacked, text) == lacked.end()) lacked.push_back(std::move(text));
  };
  const auto is_named = [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); };
  for (const engine::call_form& form : engine::find_description(op)->forms) {
    // Without a mandatory tensor no call of the form is offered, whatever else it has.
    const auto mandatory =
        std::ranges::find_if(form.tensors, [&](const tensor_rule& t) { return !t.is_optional && is_named(t.name); });
    if (mandatory != form.tensors.end()) {
      add(mandatory->name);
      continue;
    }
    for (const tensor_rule& t : form.tensors)
      if (t.is_optional && is_named(t.name) && (t.before.empty() || is_named(t.before))) add(t.name);
    for (const scalar_rule& s : form.scalars)
      if (is_named(s.name) && !is_named(s.of_tensor)) add(fmt::format("{}!={}", s.name, engine::usual_text(s)));
  }
  return fmt::format("{}", fmt::join(lacked, ", "));
}

std::string lacked_text(const engine::description& d, const std::vector<entry_name>& parameters) {
  std::vector<std::string> missing, others;
  const auto has = [&](const std::string& name) {
    return std::ranges::any_of(parameters, [&](const entry_name& p) { return p.name == name; });
  };
  for (const entry_name& n : entry_names(d)) {
    const bool is_tensor = n.meaning == entry_meaning::input || n.meaning == entry_meaning::output;
    const bool is_scalar = n.meaning == entry_meaning::integer || n.meaning == entry_meaning::number;
    if ((is_tensor || is_scalar) && n.name != "work" && !has(n.name)) missing.push_back(n.of);
    if (n.meaning == entry_meaning::distance && has(n.of) && !has(n.name)) others.push_back(n.name + ">cols");
    if (n.meaning == entry_meaning::extent && d.find(n.of)->is_single && !has(n.name)) others.push_back(n.of + ">1");
  }
  // The backward call needs the data that the forward call left.
  if (d.split && has("reserve")) others.push_back(fmt::format("{}={}", d.split->scalar, d.split->backward));
  if (const std::string lacked = lacked_text(d.op, missing); !lacked.empty()) others.insert(others.begin(), lacked);
  return fmt::format("{}", fmt::join(others, ", "));
}

namespace {

// The parameters' names after the user's renaming.
imported_function renamed(const imported_function& entry, const std::string& arguments) {
  if (arguments.empty()) return entry;
  imported_function f = entry;
  const std::vector<std::string_view> items = trimmed_parts(arguments, ",");
  if (arguments.find('=') == std::string::npos) {
    if (items.size() != f.parameters.size())
      throw usage_error(fmt::format("args: {} names are given, '{}' has {} parameters: {}", items.size(), entry.name,
                                    f.parameters.size(), fmt::join(f.parameters, ", ")));
    f.parameters.assign(items.begin(), items.end());
    return f;
  }
  for (const std::string_view item : items) {
    const std::vector<std::string_view> pair = trimmed_parts(item, "=");
    const auto found = std::ranges::find(entry.parameters, pair.front());
    if (pair.size() != 2 || found == entry.parameters.end())
      throw usage_error(fmt::format("args: '{}' is not PARAMETER=NAME; the parameters of '{}' are {}", item, entry.name,
                                    fmt::join(entry.parameters, ", ")));
    f.parameters[static_cast<size_t>(found - entry.parameters.begin())] = pair.back();
  }
  return f;
}

// An entry with a reserve is called for each pass, and for the size of the reserve.
void check_reserve(const engine::description& d, const imported_function& entry) {
  const auto has = [&](const std::string& name) {
    return std::ranges::find(entry.parameters, name) != entry.parameters.end();
  };
  if (!d.split || (!has("reserve") && !has("reserve_bytes"))) return;
  std::vector<std::string> needed = {"reserve", "reserve_bytes", d.split->scalar};
  for (const auto& [output, input] : d.split->handed)
    if (has(output)) needed.push_back(input);
  for (const std::string& name : needed)
    if (!has(name))
      throw usage_error(fmt::format("entry: '{}' has no parameter {}; an entry with a reserve has {}", entry.name, name,
                                    fmt::join(needed, ", ")));
}

}  // namespace

std::vector<entry_name> entry_parameters(const engine::description& d, const imported_function& given,
                                         const std::string& arguments) {
  const imported_function entry = renamed(given, arguments);
  const std::vector<entry_name> known = entry_names(d);
  const std::string can_be = fmt::format(
      "the parameters of an entry for {} can be {}; --args gives other names a meaning", d.op, listed(known));
  std::vector<entry_name> parameters;
  for (const std::string& name : entry.parameters) {
    const std::string& meaning = parameters.size() == entry.stream ? k_stream.name : name;
    const auto found = std::ranges::find_if(known, [&](const entry_name& n) { return n.name == meaning; });
    if (found == known.end())
      throw usage_error(fmt::format("entry: parameter {} of '{}' {}; {}", parameters.size() + 1, entry.name,
                                    name.empty() ? "has no name" : fmt::format("is '{}'", name), can_be));
    parameters.push_back(*found);
  }
  check_reserve(d, entry);
  const contract rules = contract_of(d);
  const name_list tensors = tensor_names(rules);
  std::vector<std::vector<std::string>> lacking;  // of each form
  for (const form_rule& form : rules.forms) lacking.push_back(missing(d, form, tensors, entry));
  const std::vector<std::string> fewest =
      *std::ranges::min_element(lacking, [](const auto& l, const auto& r) { return l.size() < r.size(); });
  if (!fewest.empty())
    throw usage_error(fmt::format("entry: '{}' has no parameter {}; {}", entry.name, fmt::join(fewest, ", "), can_be));
  return parameters;
}

}  // namespace warpcheck::cli
