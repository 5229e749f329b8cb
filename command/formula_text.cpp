#include "command/formula_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <string_view>

#include "command/commands.hpp"
#include "command/toolchain.hpp"
#include "properties/engine/error.hpp"
#include "reference/formula/gradient.hpp"
#include "reference/formula/parser.hpp"
#include "reference/formula/printer.hpp"

namespace warpcheck::cli {
namespace {

// Prints what `derived` makes of each operator, with an empty line between them.
template <class Derived>
int print_each(const std::string& argument, Derived derived) {
  std::string text;
  try {
    for (const formula::formula_operator& op : formulas_in(argument))
      text += (text.empty() ? "" : "\n") + formula::to_text(derived(op));
  } catch (const formula::formula_error& e) {
    throw engine::usage_error(e.what());
  }
  std::fputs(text.c_str(), stdout);
  return k_pass;
}

}  // namespace

std::vector<formula::formula_operator> formulas_in(const std::string& argument) {
  constexpr std::string_view k_before_name = ".op:";
  const size_t colon = argument.rfind(k_before_name);
  const std::string file = colon == std::string::npos ? argument : argument.substr(0, colon + 3);
  std::vector<formula::formula_operator> all;
  try {
    all = formula::parse_file(read_text(file), file);
  } catch (const formula::formula_error& e) {
    throw engine::usage_error(e.what());
  }
  if (colon == std::string::npos) return all;
  const std::string name = argument.substr(colon + k_before_name.size());
  std::vector<std::string> names;
  for (const formula::formula_operator& op : all) {
    if (op.name == name) return {op};
    names.push_back(op.name);
  }
  throw engine::usage_error(
      fmt::format("formula: '{}' has no operator '{}'; it has {}", file, name, fmt::join(names, ", ")));
}

int format_formulas(const std::string& argument) {
  return print_each(argument, [](const formula::formula_operator& op) { return op; });
}

int print_gradients(const std::string& argument) { return print_each(argument, formula::gradient); }

}  // namespace warpcheck::cli
