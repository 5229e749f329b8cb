#include "reference/formula/lexer.hpp"

#include <algorithm>
#include <array>

namespace warpcheck::formula {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// The length of the token at the beginning of `text`, 0 if there is none.
size_t token_length(std::string_view text) {
  if (is_letter(text[0])) {
    size_t n = 1;
    while (n < text.size() && (is_letter(text[n]) || is_digit(text[n]))) ++n;
    return n;
  }
  if (is_digit(text[0])) {
    size_t n = 1;
    const auto digits = [&] {
      while (n < text.size() && is_digit(text[n])) ++n;
    };
    digits();
    // `1..3` is a range and not `1.` and `.3`.
    if (n < text.size() && text[n] == '.' && text.substr(n, 2) != "..") ++n, digits();
    if (n < text.size() && (text[n] == 'e' || text[n] == 'E')) {
      const size_t sign = n + 1 < text.size() && (text[n + 1] == '+' || text[n + 1] == '-') ? 1 : 0;
      if (n + 1 + sign < text.size() && is_digit(text[n + 1 + sign])) n += 1 + sign, digits();
    }
    return n;
  }
  for (const std::string_view two : {"->", "<=", ">=", "==", "!=", ".."})
    if (text.substr(0, 2) == two) return 2;
  return std::string_view("+-*/%^()[],<>=:").find(text[0]) == std::string_view::npos ? 0 : 1;
}

bool continues(std::string_view token) {
  constexpr std::array words = {"->", "then", "else", "and", "or", "+", "-", "*", "/", "%", "^", ")", "]", "where"};
  return std::ranges::find(words, token) != words.end();
}

std::string trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == std::string_view::npos ? "" : std::string(text.substr(begin, end - begin + 1));
}

class splitter {
 public:
  splitter(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  std::vector<logical_line> split() {
    if (text_.size() > k_longest_file) fail(file_, {1, 1}, "the file is longer than 1 MiB");
    for (int line = 1; at_ < text_.size(); ++line) {
      const size_t end = std::min(text_.find('\n', at_), text_.size());
      take_line(text_.substr(at_, end - at_), line);
      at_ = end + 1;
    }
    for (logical_line& l : lines_) {
      const token& last = l.tokens.back();
      const position after = {last.where.line, last.where.column + static_cast<int>(last.text.size())};
      l.tokens.push_back({{}, after});
    }
    return std::move(lines_);
  }

 private:
  void take_line(std::string_view line, int number) {
    const size_t hash = line.find('#');
    if (hash != std::string_view::npos) comments_.push_back(trimmed(line.substr(hash + 1)));
    line = line.substr(0, hash);
    bool is_first = true;
    for (size_t i = 0; i < line.size();) {
      if (line[i] == ' ' || line[i] == '\t' || line[i] == '\r') {
        ++i;
        continue;
      }
      const position where = {number, static_cast<int>(i) + 1};
      const size_t length = token_length(line.substr(i));
      if (length == 0) fail(file_, where, "the character '" + printable(line[i]) + "' begins nothing of a formula");
      add({line.substr(i, length), where}, is_first);
      is_first = false;
      i += length;
    }
    if (is_first) return;
    logical_line& l = lines_.back();
    l.comments.insert(l.comments.end(), comments_.begin(), comments_.end());
    comments_.clear();
  }
  void add(const token& t, bool is_first) {
    if (is_first && (lines_.empty() || (depth_ <= 0 && !continues(t.text)))) {
      if (lines_.size() == k_most_lines) fail(file_, t.where, "the file has more than 2000 lines");
      lines_.emplace_back();
      depth_ = 0;
    }
    if (t.text == "(" || t.text == "[") ++depth_;
    if (t.text == ")" || t.text == "]") --depth_;
    logical_line& l = lines_.back();
    l.tokens.push_back(t);
  }
  static std::string printable(char c) {
    if (c >= ' ' && c <= '~') return {c};
    constexpr char digits[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    return {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
  }

  std::string_view text_, file_;
  size_t at_ = 0;
  int depth_ = 0;
  std::vector<std::string> comments_;
  std::vector<logical_line> lines_;
};

}  // namespace

std::vector<logical_line> split(std::string_view text, std::string_view file) { return splitter(text, file).split(); }

void fail(std::string_view file, position where, const std::string& what) {
  std::string text(file);
  if (where.line > 0) text += ":" + std::to_string(where.line) + ":" + std::to_string(where.column);
  throw formula_error(text + ": " + what);
}

bool is_word(std::string_view token) { return !token.empty() && is_letter(token[0]); }
bool is_number(std::string_view token) { return !token.empty() && is_digit(token[0]); }

}  // namespace warpcheck::formula
