// Fuzzes the parser of formulas: any text is a formula_error or operators whose canonical form reads back as itself.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "reference/formula/parser.hpp"
#include "reference/formula/printer.hpp"

namespace {
std::string canonical(std::string_view text) {
  std::string all;
  for (const warpcheck::formula::formula_operator& op : warpcheck::formula::parse_file(text)) all += to_text(op);
  return all;
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string once;
  try {
    once = canonical({reinterpret_cast<const char*>(data), size});
  } catch (const warpcheck::formula::formula_error&) {
    return 0;
  }
  // What it prints is a formula, whatever it was printed from.
  if (canonical(once) != once) std::abort();
  return 0;
}
