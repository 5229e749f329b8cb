#include <cstdio>

#include "command/commands.hpp"
#include "command/formula_arguments.hpp"
#include "properties/engine/error.hpp"
#include "reference/formula/gradient.hpp"
#include "reference/formula/printer.hpp"

namespace warpcheck::cli {
namespace {

// Prints `derived` of each operator, with an empty line between them.
template <class Derived>
int print_each(const std::string& argument, Derived derived) {
  std::string text;
  try {
    for (const formula_trial::named_formula& f : formulas_of(argument))
      text += (text.empty() ? "" : "\n") + formula::to_text(derived(f.op));
  } catch (const formula::formula_error& e) {
    throw engine::usage_error(e.what());
  }
  std::fputs(text.c_str(), stdout);
  return k_pass;
}

}  // namespace

int format_formulas(const std::string& argument) {
  return print_each(argument, [](const formula::formula_operator& op) { return op; });
}

int print_gradients(const std::string& argument) { return print_each(argument, formula::gradient); }

}  // namespace warpcheck::cli
