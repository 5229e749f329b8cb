#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "command/commands.hpp"
#include "command/formula_arguments.hpp"
#include "command/support.hpp"
#include "command/terminal.hpp"
#include "properties/engine/cases/recipe.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/files/npy.hpp"
#include "reference/formula/evaluate.hpp"

namespace warpcheck::cli {
namespace {

using engine::usage_error;
using formula_trial::named_formula;
using named_texts = std::map<std::string, std::string, std::less<>>;

// Parses NAME=TEXT of an option; each name may occur once.
named_texts by_name(const char* option, const std::vector<std::string>& given) {
  named_texts all;
  for (const std::string& text : given) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      throw usage_error(fmt::format("--{}: '{}' is not of the form NAME=VALUE", option, text));
    if (!all.emplace(text.substr(0, equals), text.substr(equals + 1)).second)
      throw usage_error(fmt::format("--{}: '{}' is given twice", option, text.substr(0, equals)));
  }
  return all;
}

// Files of outputs by name; for a formula with one output the name may be left out.
named_texts files_of(const char* option, std::vector<std::string> given, const named_formula& f) {
  if (f.op.outputs.size() == 1)
    for (std::string& text : given)
      if (text.find('=') == std::string::npos) text = f.op.outputs.front().name + "=" + text;
  named_texts files = by_name(option, given);
  std::vector<std::string> names;
  for (const formula::tensor& t : f.op.outputs) names.push_back(t.name);
  for (const auto& [name, path] : files) {
    if (!f.op.find_output(name))
      throw usage_error(
          fmt::format("--{}: {} has no output '{}'; it has {}", option, f.op.name, name, fmt::join(names, ", ")));
    check_writable(path);
  }
  return files;
}

formula::array array_of_file(const formula::tensor& t, const std::string& path) {
  const dtype type = formula_trial::memory_type(t);
  const engine::npy_array file = engine::read_npy(path, std::span(&type, 1));
  formula::array a;
  if (!t.shape.empty()) a.shape = file.shape;
  if (t.shape.size() != std::max<size_t>(1, a.shape.size()) && !(t.shape.empty() && file.rows * file.cols == 1))
    throw usage_error(
        fmt::format("--input: '{}' has {} dimensions, {} has {}", path, file.shape.size(), t.name, t.shape.size()));
  const auto n = static_cast<size_t>(file.rows * file.cols);
  a.values.resize(n);
  for (size_t i = 0; i < n; ++i)
    a.values[i] = engine::decode(type, engine::load_bits(type, file.bytes.data() + i * size_of(type)));
  if (formula::is_integer(t.type) || t.of)
    for (const double v : a.values) a.integers.push_back(static_cast<int64_t>(v));
  return a;
}

void read_values(const named_formula& f, const named_texts& given, formula::call_data& call) {
  for (const auto& [name, text] : given) {
    const std::optional<double> v = engine::parse_number(text);
    if (!v) throw usage_error(fmt::format("--set: {} is '{}', must be a number", name, text));
    const formula::scalar* const s = f.op.find_scalar(name);
    if (s && ((s->has_range && !(*v >= s->least && *v <= s->most)) || (s->is_integer && *v != std::trunc(*v))))
      throw usage_error(fmt::format("--set: {} is {}, must be {} in [{}, {}]", name, text,
                                    s->is_integer ? "whole and" : "a number", s->least, s->most));
    const std::vector<std::string> extents = f.op.free_extents();
    if (!s && std::ranges::find(extents, name) == extents.end())
      throw usage_error(fmt::format("--set: {} has no scalar or extent '{}'", f.op.name, name));
    if (!s && (*v < 0 || *v != std::trunc(*v) || *v > 0x1p40))
      throw usage_error(fmt::format("--set: extent {} is {}, must be a whole number", name, text));
    if (s)
      call.scalars[name] = *v;
    else
      call.sizes[name] = static_cast<int64_t>(*v);
  }
}

// Sizes of extents that inputs have as a dimension, and of those given by the user.
formula::whole_values known_sizes(const named_formula& f, const formula::call_data& call) {
  formula::whole_values of = call.sizes;
  for (const formula::tensor& t : f.op.inputs)
    for (size_t k = 0; k < t.shape.size(); ++k)
      if (t.shape[k]->what == formula::kind::name) of.emplace(t.shape[k]->text, call.inputs.at(t.name).shape[k]);
  return of;
}

void check_legal(const named_formula& f, const formula::call_data& call) {
  const formula::whole_values of = known_sizes(f, call);
  for (const std::string& e : f.op.free_extents())
    if (!of.count(e))
      throw usage_error(
          fmt::format("--set: extent {} is missing, which no input has as a dimension; give --set {}=SIZE", e, e));
  for (const formula::tensor& t : f.op.inputs) {
    if (!t.of && !t.range) continue;
    const double least = t.of ? 0 : t.range->first;
    const double most = t.of ? static_cast<double>(formula::whole_value(t.of, of)) - 1 : t.range->second;
    const std::vector<double>& x = call.inputs.at(t.name).values;
    const auto wrong = std::ranges::find_if(x, [&](double v) { return !(v >= least && v <= most); });
    if (wrong != x.end())
      throw usage_error(fmt::format("--input: element {} of {} is {}, must be in [{}, {}]", wrong - x.begin(), t.name,
                                    *wrong, least, most));
  }
}

formula::call_data call_of_files(const named_formula& f, const run_formula_options& o) {
  formula::call_data call;
  const named_texts files = by_name("input", o.inputs);
  for (const auto& [name, path] : files)
    if (!f.op.find_input(name)) throw usage_error(fmt::format("--input: {} has no input '{}'", f.op.name, name));
  for (const formula::tensor& t : f.op.inputs) {
    const auto file = files.find(t.name);
    if (file == files.end())
      throw usage_error(fmt::format("--input: {} is missing; give --input {}=FILE.npy", t.name, t.name));
    call.inputs.emplace(t.name, array_of_file(t, file->second));
  }
  read_values(f, by_name("set", o.values), call);
  check_legal(f, call);
  return call;
}

// An array of f64 whose elements are written in place.
engine::npy_array doubles_of(std::vector<int64_t> shape) {
  if (shape.empty()) shape = {1};
  engine::npy_array a;
  a.type = dtype::f64;
  a.cols = shape.back();
  a.rows = 1;
  for (size_t k = 0; k + 1 < shape.size(); ++k) a.rows *= shape[k];
  a.shape = std::move(shape);
  a.bytes.resize(static_cast<size_t>(a.rows * a.cols) * sizeof(double));
  return a;
}

void set_double(engine::npy_array& a, int64_t i, double v) {
  std::memcpy(a.bytes.data() + static_cast<size_t>(i) * sizeof v, &v, sizeof v);
}

void run_output(formula::evaluation& reference, const std::string& name, const std::string* exact_file,
                const std::string* bound_file) {
  engine::npy_array exact = doubles_of(reference.shape_of(name)), bound = exact;
  const int64_t n = exact.rows * exact.cols;
  int64_t free = 0;
  double largest = 0;
  std::optional<progress_line> waiting(name);
  for (int64_t i = 0; i < n; ++i) {
    const formula::demand d = reference.demand_of(name, i);
    set_double(exact, i, d.expected);
    set_double(bound, i, d.bound);
    free += d.is_free;
    if (!d.is_free) largest = std::fmax(largest, d.bound);
  }
  waiting.reset();
  fmt::print("{}: f64[{}], largest bound {:.4g}", name, fmt::join(reference.shape_of(name), " x "), largest);
  if (free > 0) fmt::print(", {} elements without a bound", free);
  if (exact_file) engine::write_npy(*exact_file, exact), fmt::print(", exact values in {}", *exact_file);
  if (bound_file) engine::write_npy(*bound_file, bound), fmt::print(", bounds in {}", *bound_file);
  fmt::print("\n");
}

}  // namespace

int run_formula(const run_formula_options& o) {
  const std::vector<named_formula> all = formulas_of(o.formula);
  require_one_operator(o.formula, all.size());
  const named_formula& f = all.front();
  const named_texts outputs = files_of("output", o.outputs, f), bounds = files_of("bound", o.bounds, f);
  if (outputs.empty() && bounds.empty())
    throw usage_error("run: nothing is written; give --output FILE.npy, --bound FILE.npy or both");
  try {
    const formula::call_data call = call_of_files(f, o);
    formula::evaluation reference(f.op, call);
    for (const formula::tensor& t : f.op.outputs) {
      const auto exact = outputs.find(t.name), bound = bounds.find(t.name);
      if (exact == outputs.end() && bound == bounds.end()) continue;
      run_output(reference, t.name, exact == outputs.end() ? nullptr : &exact->second,
                 bound == bounds.end() ? nullptr : &bound->second);
    }
  } catch (const formula::formula_error& e) {
    throw usage_error(fmt::format("{}: {}", f.op.name, e.what()));
  }
  return k_pass;
}

}  // namespace warpcheck::cli
