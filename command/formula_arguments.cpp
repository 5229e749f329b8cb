#include "command/formula_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "command/candidates/toolchain.hpp"
#include "command/formula_golden.hpp"
#include "command/formula_interpreter.hpp"
#include "command/plan.hpp"
#include "properties/engine/cases/description.hpp"
#include "properties/engine/error.hpp"
#include "properties/formula/formula_pair.hpp"
#include "properties/formula/formula_properties.hpp"
#include "reference/formula/gradient.hpp"
#include "reference/formula/parser.hpp"

namespace warpcheck::cli {
namespace {

namespace fs = std::filesystem;
using engine::usage_error;
using formula_trial::named_formula;

constexpr std::string_view k_suffix = ".op";
constexpr std::string_view k_gradient = "gradient:";
constexpr std::string_view k_gradient_suffix = "_gradient";  // end of the operator's name

struct formula_place {
  std::string file;  // with its suffix
  std::string name;  // of an operator; "": all
};

formula_place place_of_argument(std::string_view argument) {
  const size_t colon = argument.rfind(".op:");
  if (colon == std::string_view::npos) return {std::string(argument), ""};
  return {std::string(argument.substr(0, colon + k_suffix.size())), std::string(argument.substr(colon + 4))};
}

std::vector<named_formula> read_formulas(const std::string& path, const std::string& file) {
  try {
    std::vector<named_formula> list;
    for (formula::formula_operator& op : formula::parse_file(read_text(path), file))
      list.push_back({std::move(op), file});
    if (list.empty()) throw usage_error(fmt::format("formula: '{}' has no operator", file));
    return list;
  } catch (const formula::formula_error& e) {
    throw usage_error(e.what());
  }
}

std::vector<fs::path> library_files() {
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& e : fs::directory_iterator(formula_folder(), error))
    if (e.path().extension() == k_suffix) files.push_back(e.path());
  std::ranges::sort(files);
  return files;
}

// Returns the operators of a file of the library, or else the operator of this name in any of its files; nothing if
// there is none.
std::vector<named_formula> find_in_library(const std::string& file) {
  const std::string stem = file.substr(0, file.size() - k_suffix.size());
  for (const fs::path& path : library_files())
    if (path.filename() == file) return read_formulas(path.string(), file);
  for (const fs::path& path : library_files())
    for (named_formula& f : read_formulas(path.string(), path.filename().string()))
      if (f.op.name == stem) return {std::move(f)};
  return {};
}

named_formula gradient_of(const named_formula& f) {
  try {
    return {formula::gradient(f.op), std::string(k_gradient) + f.file};
  } catch (const formula::formula_error& e) {
    throw usage_error(e.what());
  }
}

// Throws usage_error if an argument is no operator but names a formula of the library without its suffix.
void require_suffix(const std::string& argument) {
  constexpr std::string_view k_letters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  if (engine::find_description(argument) || argument.find_first_not_of(k_letters) != std::string::npos) return;
  const std::string formula = argument + std::string(k_suffix);
  if (!find_in_library(formula).empty())
    throw usage_error(fmt::format("operator: '{}' is unknown; the library has the formula {}", argument, formula));
}

void register_with_interpreter(const named_formula& f) {
  const bool is_new = !formula_trial::formula_of(f.engine_name());
  formula_trial::register_formula(f);
  if (!is_new) return;
  name_interpreter(formula_trial::formula_of(f.engine_name()));
  add_recorded_inputs(f.engine_name());
  if (!f.file.starts_with(k_gradient)) return;
  const std::string name = f.op.name.substr(0, f.op.name.size() - k_gradient_suffix.size());
  for (const named_formula& primal : formulas_of(fmt::format("{}:{}", f.file.substr(k_gradient.size()), name))) {
    register_with_interpreter(primal);
    formula_trial::register_pair(formula_trial::formula_of(f.engine_name()),
                                 formula_trial::formula_of(primal.engine_name()));
  }
}

}  // namespace

bool is_formula_argument(std::string_view argument) {
  return argument.ends_with(k_suffix) || argument.find(".op:") != std::string_view::npos;
}

std::vector<named_formula> formulas_of(const std::string& argument) {
  if (argument.starts_with(k_gradient)) {
    std::vector<named_formula> list = formulas_of(argument.substr(k_gradient.size()));
    std::transform(list.begin(), list.end(), list.begin(), gradient_of);
    return list;
  }
  const formula_place at = place_of_argument(argument);
  if (!is_path_of_a_line(at.file) || at.file.find('#') != std::string::npos)
    throw usage_error(fmt::format(
        "formula: '{}' holds a blank, comma, parenthesis, bar or #, which a case line cannot carry", at.file));
  std::error_code error;
  std::vector<named_formula> list = fs::is_regular_file(at.file, error)      ? read_formulas(at.file, at.file)
                                    : at.file.find('/') == std::string::npos ? find_in_library(at.file)
                                                                             : std::vector<named_formula>();
  if (list.empty())
    throw usage_error(
        fmt::format("formula: file '{}' not found, nor in the library {}; a path, or a file or operator of "
                    "the library is allowed",
                    at.file, formula_folder().empty() ? "(there is none)" : formula_folder()));
  if (at.name.empty()) return list;
  std::vector<std::string> names;
  for (named_formula& f : list) {
    if (f.op.name == at.name) return {std::move(f)};
    names.push_back(f.op.name);
  }
  throw usage_error(
      fmt::format("formula: '{}' has no operator '{}'; it has {}", at.file, at.name, fmt::join(names, ", ")));
}

std::vector<std::string> use_formulas(const std::vector<std::string>& arguments) {
  std::vector<std::string> names;
  for (const std::string& argument : arguments) {
    if (!is_formula_argument(argument)) {
      require_suffix(argument);
      names.push_back(argument);
      continue;
    }
    for (const named_formula& f : formulas_of(argument)) {
      register_with_interpreter(f);
      names.push_back(f.engine_name());
    }
  }
  return names;
}

void use_formula_of_line(std::string_view line) {
  constexpr std::string_view k_key = " formula=";
  const size_t begin = line.rfind(k_key);
  if (begin == std::string_view::npos) return;
  const std::string_view rest = line.substr(begin + k_key.size());
  const std::string_view identity = rest.substr(0, rest.find(' '));
  const size_t hash = identity.rfind('#');
  const std::string op = engine::parse_case_name(line).first;
  if (hash == std::string_view::npos || !op.ends_with(k_suffix))
    throw usage_error(fmt::format("formula: '{}' is not of the form FILE.op#HASH, of an operator NAME.op", identity));
  const std::string file(identity.substr(0, hash));
  std::string_view name = std::string_view(op).substr(0, op.size() - k_suffix.size());
  // A gradient is found by the name of its forward operator.
  for (std::string_view of = file; of.starts_with(k_gradient); of.remove_prefix(k_gradient.size())) {
    if (!name.ends_with(k_gradient_suffix))
      throw usage_error(
          fmt::format("formula: '{}' is the gradient of an operator, but {} is not a gradient", identity, op));
    name.remove_suffix(k_gradient_suffix.size());
  }
  for (const named_formula& f : formulas_of(fmt::format("{}:{}", file, name))) {
    if (f.identity() != identity)
      throw usage_error(
          fmt::format("formula: {} of '{}' is not the one of the case line: it is {} now, the line has {}", f.op.name,
                      file, f.identity().substr(file.size() + 1), identity.substr(hash + 1)));
    register_with_interpreter(f);
    if (line.substr(0, line.find(' ', line.find('/'))).ends_with("/golden")) add_formula_golden(op, "golden");
  }
}

void require_one_operator(const std::string& argument, size_t operators) {
  if (operators != 1)
    throw usage_error(
        fmt::format("formula: '{}' has {} operators; name one as {}:NAME", argument, operators, argument));
}

void use_formulas(verify_options& o, bool has_candidate) {
  o.operators = use_formulas(o.operators);
  if (std::ranges::none_of(o.operators, is_formula_argument)) return;
  if (has_candidate || o.candidate != "builtin") return;
  const auto is_formula = [](const std::string& op) { return is_formula_argument(op); };
  if (!std::ranges::all_of(o.operators, is_formula))
    throw usage_error(
        "operators: a formula's interpreter runs on device cpu, and kernels of this build do not; verify "
        "formulas and other operators in commands of their own");
  if (o.device == "auto") o.device = "cpu";
  if (o.device != "cpu")
    throw usage_error(
        fmt::format("device: '{}' has no built-in candidate of a formula, whose interpreter is on cpu; "
                    "name a kernel with --source, --candidate or --python",
                    o.device));
}

}  // namespace warpcheck::cli
