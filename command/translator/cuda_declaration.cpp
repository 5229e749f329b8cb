#include "command/translator/cuda_declaration.hpp"

#include <algorithm>

namespace warpcheck::cli {
namespace {

class parser {
 public:
  parser(const cuda_structure& s, size_t start) : s_(s), t_(s.tokens()), i_(start) {}

  std::optional<cuda_declaration> run(size_t& refused) {
    std::string base;
    for (;;) {  // one declarator each
      refused_ = k_none;
      if (!read_words()) break;
      const size_t type_token = words_.front();
      cuda_declarator one = declarator();
      if (d_.declarators.empty()) {
        d_.type_token = type_token;
        if (one.type.empty()) {
          refused_ = one.name_token;
          break;
        }
        base = one.type;
        while (!base.empty() && (base.back() == '*' || base.back() == ' ' || base.back() == '&')) base.pop_back();
      } else {
        one.type = base + " " + one.type;
      }
      d_.declarators.push_back(one);
      d_.end = i_;
      if (is(i_, ";")) return d_;
      if (!is(i_, ",")) break;
      ++i_;
    }
    refused = std::min(refused_ == k_none ? i_ : refused_, t_.size() - 1);
    return std::nullopt;
  }

 private:
  bool is(size_t i, std::string_view s) const { return t_.is(i, s); }

  // Skips words of the declaration that are not part of the type; i_ is then the last of them.
  bool skip_qualifier() {
    for (const char* word : {"__shared__", "__device__", "__constant__", "__managed__"})
      if (is(i_, word)) return true;
    if (is(i_, "static") || is(i_, "inline")) return d_.is_local = true;
    if (is(i_, "extern")) return d_.is_extern = true;
    if (!(is(i_, "__attribute__") || is(i_, "alignas") || is(i_, "__align__")) || !is(i_ + 1, "(")) return false;
    const size_t close = s_.match(i_ + 1);
    size_t from = i_ + 1;
    while (from < close && is(i_, "__attribute__") && !is(from - 1, "aligned")) ++from;
    if (from < close)  // of a number or of a type
      d_.alignment = "[] { struct alignas" + t_.join(from, s_.match(from) + 1) +
                     " simt_alignment {}; return alignof(simt_alignment); }()";
    i_ = close;
    return true;
  }

  // Reads the words of the type and the name; false if they declare something else.
  bool read_words() {
    int angle = 0;
    bool ended = false;
    words_.clear();
    for (; i_ < t_.size(); ++i_) {
      if (skip_qualifier()) continue;
      ended = angle == 0 && (is(i_, "[") || is(i_, "=") || is(i_, ",") || is(i_, ";"));
      if (ended) break;
      if (is(i_, "{") || (angle == 0 && is(i_, "("))) {
        if (words_.empty() || !t_.is_identifier(words_.back()) || is(i_, "(")) return false;
        const size_t first = words_.front();
        if (is(first, "struct") || is(first, "union") || is(first, "class") || is(first, "enum")) {
          refused_ = first;
          return false;
        }
        ended = true;
        break;
      }
      if (is(i_, "<")) {
        const size_t close = s_.template_arguments_end(i_);
        if (close == k_none) ++angle;
        for (; close != k_none && i_ < close; ++i_) words_.push_back(i_);
      } else if (is(i_, ">") && angle > 0) {
        --angle;
      }
      if (s_.opens(i_))
        for (const size_t close = s_.match(i_); i_ < close; ++i_) words_.push_back(i_);
      words_.push_back(i_);
    }
    return ended && !words_.empty() && t_.is_identifier(words_.back());
  }

  // Returns the declared name, type and extents, and moves past the initial value.
  cuda_declarator declarator() {
    cuda_declarator one;
    one.name_token = words_.back();
    one.name = t_.text(words_.back());
    words_.pop_back();
    for (size_t w = 0; w < words_.size(); ++w) {
      d_.is_const |= is(words_[w], "const") || is(words_[w], "constexpr") || is(words_[w], "__constexpr");
      const bool follows = w > 0 && words_[w - 1] + 1 == words_[w];
      one.type += follows ? t_.join(words_[w - 1], words_[w] + 1).substr(t_.text(words_[w - 1]).size())
                          : (w > 0 ? " " : "") + std::string(t_.text(words_[w]));
    }
    for (; is(i_, "["); i_ = s_.match(i_) + 1) one.extents += t_.join(i_, s_.match(i_) + 1);
    one.initialised = is(i_, "=") || is(i_, "{");
    if (one.initialised)
      while (i_ < t_.size() && !is(i_, ",") && !is(i_, ";")) i_ = s_.opens(i_) ? s_.match(i_) + 1 : i_ + 1;
    return one;
  }

  const cuda_structure& s_;
  const token_list& t_;
  size_t i_;
  size_t refused_ = k_none;
  std::vector<size_t> words_;
  cuda_declaration d_;
};

}  // namespace

std::optional<cuda_declaration> parse_variables(const cuda_structure& s, size_t start, size_t& refused) {
  return parser(s, start).run(refused);
}

}  // namespace warpcheck::cli
