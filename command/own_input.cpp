#include "command/own_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "command/given_call.hpp"
#include "command/plan.hpp"
#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/offer.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/files/npy.hpp"

namespace warpcheck::cli {
namespace {

using namespace engine;

struct named_file {
  std::string name, path;  // the name may be empty
};
struct named_inputs {
  std::vector<named_file> files;
  std::map<std::string, std::string> scalars;
};

bool is_tensor_of(const std::vector<std::string>& ops, const std::string& name) {
  return std::ranges::any_of(ops, [&](const std::string& op) {
    const description* const d = find_description(op);
    return d && std::ranges::any_of(d->forms, [&](const call_form& f) { return f.find(name); });
  });
}

// Returns where the value of NAME=VALUE begins; 0 if there is no name.
size_t value_begin(const std::string& text) {
  const size_t equals = text.find('=');
  return equals != std::string::npos && equals > 0 && text.find('/') > equals ? equals + 1 : 0;
}

// Replaces an archive by all its arrays, each with its name.
std::vector<std::string> without_archives(const std::vector<std::string>& given) {
  std::vector<std::string> all;
  for (const std::string& text : given) {
    const std::string path = text.substr(value_begin(text));
    for (const std::string& name : array_names(path)) {
      if (!name.empty() && path != text)
        throw usage_error(fmt::format("input: '{}' has several arrays; write {}:{}", path, text, name));
      all.push_back(name.empty() ? text : fmt::format("{}={}:{}", name, path, name));
    }
  }
  return all;
}

// FILE, NAME=FILE or NAME=VALUE.
named_inputs sort_inputs(const std::vector<std::string>& texts, const std::vector<std::string>& ops) {
  named_inputs all;
  std::vector<std::string> seen;
  for (const std::string& text : without_archives(texts)) {
    const size_t begin = value_begin(text);
    const bool is_named = begin > 0;
    const std::string name = is_named ? text.substr(0, begin - 1) : "", value = text.substr(begin);
    if (value.empty())
      throw usage_error(fmt::format("input: '{}' is not of the form NAME=FILE.npy or NAME=VALUE", text));
    if (is_named && std::ranges::find(seen, name) != seen.end())
      throw usage_error(fmt::format("input: '{}' is given twice", name));
    seen.push_back(name);
    if (!is_named || is_tensor_of(ops, name) || value.ends_with(".npy"))
      all.files.push_back({name, value});
    else
      all.scalars[name] = value;
  }
  if (all.files.empty()) throw usage_error("input: no array is given; give each input as NAME=FILE.npy");
  return all;
}

void check_path(const std::string& path) {
  if (!is_path_of_a_line(path))
    throw usage_error(
        fmt::format("input: '{}' holds a blank, comma, parenthesis or bar, which a case line cannot carry", path));
}

void name_file(tensor_spec& t, const std::string& path, const std::string& sha256) {
  t.fill = {};
  t.fill.distribution = "npy";
  t.fill.path = path;
  t.fill.sha256 = sha256;
}

// Returns the element types of rows that properties of the operators judge.
std::vector<dtype> types_of_rows(const std::vector<std::string>& ops) {
  std::vector<dtype> types;
  for (const property& p : all_properties())
    if (p.for_input && std::ranges::find(ops, p.op) != ops.end())
      types.insert(types.end(), p.types.begin(), p.types.end());
  return types;
}

tensor_spec rows_of(const std::string& path, const std::vector<dtype>& types) {
  const npy_array array = read_npy(path, types);
  if (array.shape.size() > 2)
    throw usage_error(fmt::format("input: '{}' has {} dimensions; one or two are allowed", path, array.shape.size()));
  if (array.rows == 0 || array.cols == 0)
    throw usage_error(
        fmt::format("input: '{}' is an array of {} x {}, which has no element to judge; at least one is needed", path,
                    array.rows, array.cols));
  tensor_spec x = input_matrix("x", array.type, array.rows, array.cols, {});
  name_file(x, path, array.sha256);
  return x;
}

trial_case call_of_inputs(const std::vector<named_file>& files, const std::map<std::string, std::string>& scalars,
                          const std::vector<std::string>& ops) {
  if (ops.size() != 1)
    throw usage_error(fmt::format("input: several arrays are a call of one operator, not of {}", fmt::join(ops, ", ")));
  const description* const d = find_description(ops.front());
  if (!d) throw usage_error(fmt::format("input: {} has no description of its calls", ops.front()));
  std::vector<std::string> given;
  for (const named_file& f : files) given.push_back(f.name);
  const given_names names = names_of_call(*d, given, {}, scalars);
  std::vector<given_array> arrays;
  std::vector<std::string> hashes;
  for (size_t i = 0; i < files.size(); ++i) {
    npy_array a = read_npy(files[i].path, types_of(*d, *d->forms[names.form].find(names.inputs[i])));
    hashes.push_back(a.sha256);
    arrays.push_back({a.type, std::move(a.shape), std::move(a.bytes)});
  }
  given_call call = call_of_arrays(*d, names, arrays, {}, scalars, "cpu", "builtin");
  for (size_t i = 0; i < files.size(); ++i) name_file(*call.c.find(names.inputs[i]), files[i].path, hashes[i]);
  return std::move(call.c);
}

// Returns the first given tensor or scalar that the reduced case lacks, or "".
std::string what_was_taken(const trial_case& whole, const trial_case& reduced) {
  for (const tensor_spec& t : whole.tensors)
    if (const tensor_spec* const left = reduced.find(t.name); t.is_input && (!left || left->shape != t.shape))
      return t.name;
  for (const auto& [name, value] : whole.knobs)
    if (reduced.knob(name) != value) return name + "=" + value;
  return "";
}

}  // namespace

own_input::own_input(const verify_options& o, const std::vector<std::string>& ops) {
  if (o.inputs.empty()) return;
  named_inputs given = sort_inputs(o.inputs, ops);
  for (const named_file& f : given.files) check_path(f.path);
  const std::vector<dtype> types = types_of_rows(ops);
  const std::string& name = given.files.front().name;
  if (given.files.size() == 1 && (name.empty() || name == "x") && !types.empty()) {
    rows_ = rows_of(given.files.front().path, types);
    scalars_ = std::move(given.scalars);
  } else {
    call_ = call_of_inputs(given.files, given.scalars, ops);
  }
}

bool own_input::is_judged_by(const property& p, dtype type) const {
  if (rows_) return p.for_input && type == rows_->type;
  if (!call_ || p.op != call_->op || p.name != call_->property) return false;
  // Stages beside the main call may begin with a tensor of another type than the operator's.
  const dtype first = call_->tensors.front().type;
  const bool is_named = std::ranges::find(p.types, first) != p.types.end();
  return type == (is_named ? first : p.types.front());
}

std::string own_input::type_name() const {
  return std::string(name_of(rows_ ? rows_->type : call_->tensors.front().type));
}

std::vector<trial_case> own_input::cases(const property& p, const target& t) const {
  std::vector<trial_case> all;
  if (rows_) {
    all = p.for_input(t, *rows_);
  } else {
    all = {*call_};
    all.front().knobs["device"] = t.device;
    if (t.candidate != "builtin") all.front().knobs["candidate"] = t.candidate;
  }
  std::vector<trial_case> offered;
  for (trial_case& c : all) {
    c.property = p.name;
    for (const auto& [name, value] : scalars_) set_scalar(c, name, value);
    if (const std::string wrong = what_is_wrong(*find_description(c.op), c, false); !wrong.empty())
      throw usage_error(fmt::format("input: {}", wrong));
    std::vector<std::string> taken;
    const trial_case whole = c;
    const bool is_left = bring_within(t.offered, c, taken);
    if (call_)
      if (const std::string lacks = is_left ? what_was_taken(whole, c) : fmt::format("{}", fmt::join(taken, ", "));
          !is_left || !lacks.empty())
        throw usage_error(fmt::format("input: the candidate does not offer this call of {}: {}", c.op, lacks));
    if (is_left && std::ranges::find(offered, c) == offered.end()) offered.push_back(std::move(c));
  }
  if (p.holds && rows_) std::erase_if(offered, [&](const trial_case& c) { return !p.holds(c); });
  return offered;
}

}  // namespace warpcheck::cli
