// Splits a formula file into logical lines of tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reference/formula/tree.hpp"

namespace warpcheck::formula {

struct token {
  std::string_view text;  // empty at the end of a line
  position where;
};

// A logical line: a line and the lines after it, as long as a bracket is open or the next line begins with a token that
// cannot begin a definition (`->`, `then`, `else`, `and`, `or`, an operator). The last token is empty.
struct logical_line {
  std::vector<token> tokens;
  std::vector<std::string> comments;  // above and beside it, without '#'
};

inline constexpr int k_most_lines = 2000, k_longest_file = 1 << 20;

// Throws formula_error, whose text begins with `file`. The tokens point into `text`.
std::vector<logical_line> split(std::string_view text, std::string_view file);

[[noreturn]] void fail(std::string_view file, position where, const std::string& what);
bool is_word(std::string_view token);    // a name or keyword
bool is_number(std::string_view token);  // an unsigned number

}  // namespace warpcheck::formula
