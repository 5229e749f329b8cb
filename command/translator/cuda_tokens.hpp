// Tokens of preprocessed CUDA C++, each with its line of the user's file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace warpcheck::cli {

enum class token_kind : uint8_t { identifier, number, literal, punctuation };

struct cuda_token {
  token_kind kind;
  int file = 0;  // index into token_list::files
  int line = 0;
  size_t begin = 0, end = 0;  // in the text
};

struct token_list {
  std::string_view source;
  std::vector<cuda_token> tokens;
  std::vector<std::string> files;

  size_t size() const { return tokens.size(); }
  std::string_view text(size_t i) const {
    return i < tokens.size() ? source.substr(tokens[i].begin, tokens[i].end - tokens[i].begin) : std::string_view();
  }
  bool is(size_t i, std::string_view s) const { return i < tokens.size() && text(i) == s; }
  bool is_identifier(size_t i) const { return i < tokens.size() && tokens[i].kind == token_kind::identifier; }
  // Returns tokens [first, last) as text, separated by blanks except within an operator such as "<<".
  std::string join(size_t first, size_t last) const;
};

// Comments, directives and the text of system headers (flag 3 of a line marker; except cuRAND's) give no tokens. Text
// from a system header's macro in another file does. "::" is one token, any other punctuation character is one of its
// own. Lines before the first marker belong to `file`.
token_list tokenize_cuda(std::string_view preprocessed, std::string_view file);

}  // namespace warpcheck::cli
