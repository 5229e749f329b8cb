// Reads the tokens of one logical line by recursive descent.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "reference/formula/lexer.hpp"
#include "reference/formula/tree.hpp"

namespace warpcheck::formula {

class expression_parser {
 public:
  // `values` are the names of values and extents; they decide if max(a, b) is a function. Line and names must outlive
  // the parser. The functions of sum depths (log2, ceil) are only read if `of_contract`.
  expression_parser(const logical_line& line, std::string_view file, const std::set<std::string>& values,
                    bool of_contract = false)
      : tokens_(line.tokens), file_(file), values_(values), of_contract_(of_contract) {}

  expr plain();      // an expression without comparisons outside of parentheses
  expr condition();  // any expression

  std::string_view peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)].text; }
  std::string_view previous() const { return at_ > 0 ? tokens_[at_ - 1].text : std::string_view(); }
  position where() const { return tokens_[at_].where; }
  bool accept(std::string_view token);
  void expect(std::string_view token);
  std::string name(std::string_view what);  // not a keyword
  double number();                          // unsigned, finite
  number_type type();
  void end();  // throws if a token is left

  // Items up to the bracket that closes, with commas between them; at least one.
  template <class Item>
  void list(std::string_view close, std::string_view what, Item item) {
    if (peek() == close) unexpected(what);
    while (true) {
      item();
      if (accept(close)) return;
      if (!accept(",")) unexpected("',' or '" + std::string(close) + "'");
    }
  }
  [[noreturn]] void unexpected(std::string_view wanted) const;

 private:
  expr sum();
  expr term();
  expr factor();
  expr primary();
  expr comparison();
  expr reduction();
  expr reduction_body(const std::string& which, std::vector<binder> bound, expr where, position place);
  expr indexed(std::string tensor, position place);
  expr call(std::string function, position place);
  bool begins_reduction() const;
  expr made(node n, position place) const;
  struct deeper;

  const std::vector<token>& tokens_;
  std::string_view file_;
  const std::set<std::string>& values_;
  bool of_contract_;
  std::vector<std::string> indices_;  // bound by the enclosing reductions
  size_t at_ = 0;
  int depth_ = 0;
};

bool is_keyword(std::string_view word);

}  // namespace warpcheck::formula
