// Inline PTX as C++: each instruction becomes a call of simt/import/ptx.hpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace warpcheck::cli {

// An operand between the colons of an asm statement.
struct ptx_operand {
  std::string name;        // the name in %[name]; may be empty
  std::string constraint;  // "=r", "l", "+f", "n", ...
  std::string expression;
};

struct ptx_statement {
  std::string text;  // the PTX, its string literals joined and unescaped
  std::vector<ptx_operand> operands;
  bool has_operands = false;  // it has colons, so %% means %
  int number = 0;             // makes the statement's labels unique
};

// Returns one C++ statement without its ';', on one line. An instruction that is not modelled fails when it runs.
std::string translate_ptx(const ptx_statement& statement);

}  // namespace warpcheck::cli
