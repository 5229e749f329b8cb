#include "command/translator/cuda_tokens.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace warpcheck::cli {
namespace {

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }
bool continues_name(char c) { return starts_name(c) || std::isdigit(static_cast<unsigned char>(c)); }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

// Headers of the toolkit with device code, compiled like the user's: cuRAND's device API, and libcu++'s PTX.
bool is_device_library(std::string_view file) {
  return file.substr(file.rfind('/') + 1).starts_with("curand") || file.find("/cuda/__ptx/") != std::string_view::npos;
}

class tokenizer {
 public:
  tokenizer(std::string_view source, std::string_view file) {
    list_.source = source;
    list_.files.emplace_back(file);
    of_user_.push_back(true);
  }

  token_list run() {
    bool line_start = true;
    while (at_ < source().size()) {
      const char c = source()[at_];
      if (c == '\n') {
        ++line_;
        ++at_;
        line_start = true;
      } else if (std::isspace(static_cast<unsigned char>(c))) {
        ++at_;
      } else if (c == '#' && line_start) {
        directive();
      } else if (system_) {
        at_ = std::min(source().find('\n', at_), source().size());
      } else {
        line_start = false;
        if (!skip_comment()) token();
      }
    }
    return std::move(list_);
  }

 private:
  std::string_view source() const { return list_.source; }
  char peek(size_t ahead) const { return at_ + ahead < source().size() ? source()[at_ + ahead] : '\0'; }

  // A line marker sets the position; any other directive is skipped with its continuation lines.
  void directive() {
    size_t end = at_;
    int newlines = 0;
    for (;; ++end, ++newlines) {
      end = std::min(source().find('\n', end), source().size());
      if (end == source().size() || source()[end - 1] != '\\') break;
    }
    const std::string_view line = source().substr(at_, end - at_);
    at_ = end;
    line_ += newlines;
    size_t i = 1;
    const auto skip_blanks = [&] {
      while (i < line.size() && (line[i] == ' ' || line[i] == '\t')) ++i;
    };
    skip_blanks();
    if (line.substr(i, 4) == "line") i += 4;
    skip_blanks();
    int number = 0;
    const auto [rest, error] = std::from_chars(line.data() + i, line.data() + line.size(), number);
    if (error != std::errc()) return;
    const size_t open = line.find('"', static_cast<size_t>(rest - line.data()));
    line_ = number - 1;  // the newline that ends the marker leads to `number`
    if (open == std::string_view::npos) return;
    std::string name;
    size_t k = open + 1;
    for (; k < line.size() && line[k] != '"'; ++k) {
      if (line[k] == '\\' && k + 1 < line.size()) ++k;
      name += line[k];
    }
    const std::string_view flags = k < line.size() ? line.substr(k + 1) : std::string_view();
    const auto known = std::ranges::find(list_.files, name);
    file_ = static_cast<int>(known - list_.files.begin());
    if (known == list_.files.end()) {
      list_.files.push_back(name);
      of_user_.push_back(flags.find('3') == std::string_view::npos || is_device_library(name));
    }
    system_ = !of_user_[static_cast<size_t>(file_)];  // text from a system header's macro has the flag, too
  }

  bool skip_comment() {
    if (source().substr(at_, 2) == "//") {
      at_ = std::min(source().find('\n', at_), source().size());
      return true;
    }
    if (source().substr(at_, 2) != "/*") return false;
    const size_t close = source().find("*/", at_ + 2);
    skip_to(close == std::string_view::npos ? source().size() : close + 2);
    return true;
  }

  void skip_to(size_t end) {
    line_ += static_cast<int>(
        std::count(source().begin() + static_cast<long>(at_), source().begin() + static_cast<long>(end), '\n'));
    at_ = end;
  }

  void add(token_kind kind, size_t end) {
    list_.tokens.push_back({kind, file_, line_, at_, end});
    skip_to(end);
  }

  // Returns the end of a string or character literal whose opening quote is at `open`.
  size_t quoted_end(size_t open) const {
    for (size_t i = open + 1; i < source().size(); ++i) {
      if (source()[i] == '\\')
        ++i;
      else if (source()[i] == source()[open] || source()[i] == '\n')
        return i + 1;
    }
    return source().size();
  }

  size_t raw_end(size_t open) const {
    const size_t paren = source().find('(', open);
    if (paren == std::string_view::npos) return source().size();
    const std::string close = ")" + std::string(source().substr(open + 1, paren - open - 1)) + "\"";
    const size_t end = source().find(close, paren);
    return end == std::string_view::npos ? source().size() : end + close.size();
  }

  void token() {
    const char c = source()[at_];
    if (starts_name(c)) {
      size_t end = at_;
      while (end < source().size() && continues_name(source()[end])) ++end;
      const std::string_view name = source().substr(at_, end - at_);
      const char next = end < source().size() ? source()[end] : '\0';
      const bool prefix = name == "R" || name == "u8R" || name == "uR" || name == "UR" || name == "LR";
      if (next == '"' && prefix) return add(token_kind::literal, raw_end(end));
      if ((next == '"' || next == '\'') && (name == "u8" || name == "u" || name == "U" || name == "L"))
        return add(token_kind::literal, quoted_end(end));
      return add(token_kind::identifier, end);
    }
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      size_t end = at_ + 1;
      while (end < source().size()) {
        const char d = source()[end], before = source()[end - 1];
        const bool sign = (d == '+' || d == '-') && (before == 'e' || before == 'E' || before == 'p' || before == 'P');
        const bool separator = d == '\'' && end + 1 < source().size() && continues_name(source()[end + 1]);
        if (!continues_name(d) && d != '.' && !sign && !separator) break;
        ++end;
      }
      return add(token_kind::number, end);
    }
    if (c == '"' || c == '\'') return add(token_kind::literal, quoted_end(at_));
    add(token_kind::punctuation, at_ + (c == ':' && peek(1) == ':' ? 2 : 1));
  }

  token_list list_;
  size_t at_ = 0;
  int line_ = 1, file_ = 0;
  bool system_ = false;
  std::vector<bool> of_user_;  // by file
};

}  // namespace

std::string token_list::join(size_t first, size_t last) const {
  constexpr std::string_view operators[] = {"<<", ">>", "&&", "||", "==", "!=", "<=", ">=", "->"};
  std::string text;
  for (size_t i = first; i < last; ++i) {
    const bool adjacent = i > first && tokens[i - 1].end == tokens[i].begin;
    const std::string_view both = adjacent ? source.substr(tokens[i - 1].begin, 2) : std::string_view();
    const bool parts = adjacent && tokens[i].kind == token_kind::punctuation &&
                       std::find(std::begin(operators), std::end(operators), both) != std::end(operators);
    if (i > first && !parts) text += ' ';
    text += this->text(i);
  }
  return text;
}

token_list tokenize_cuda(std::string_view preprocessed, std::string_view file) {
  return tokenizer(preprocessed, file).run();
}

}  // namespace warpcheck::cli
