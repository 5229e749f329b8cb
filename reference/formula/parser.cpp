#include "reference/formula/parser.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>

#include "reference/formula/contract.hpp"
#include "reference/formula/expression_parser.hpp"
#include "reference/formula/lexer.hpp"

namespace warpcheck::formula {
namespace {

// Reads the lines of one operator.
class operator_parser {
 public:
  explicit operator_parser(std::string_view file) : file_(file) {}

  formula_operator head(const logical_line& line) {
    expression_parser p(line, file_, names_);
    op_ = {};
    op_.where = line.tokens.front().where;
    op_.comments = line.comments;
    p.expect("operator");
    op_.name = p.name("the operator's name");
    p.expect("(");
    p.list(")", "a parameter", [&] { parameter(p); });
    p.expect("->");
    do op_.outputs.push_back(read_tensor(p, "an output"));
    while (p.accept(","));
    p.end();
    for (const scalar& s : op_.scalars) names_.insert(s.name);
    for (const auto* list : {&op_.inputs, &op_.outputs})
      for (const tensor& t : *list) {
        names_.insert(t.name);
        for (const expr& e : t.shape) names_.merge(names_in(e));
        if (t.of) names_.merge(names_in(t.of));
      }
    return op_;
  }

  void line(formula_operator& op, const logical_line& l) {
    expression_parser p(l, file_, names_);
    const std::string_view first = l.tokens.front().text;
    const position where = l.tokens.front().where;
    if (first == "arithmetic") {
      if (!op.contract.empty()) fail(file_, where, "arithmetic: it is stated twice, one line states all of it");
      op.contract = to_text(parse_contract(l, file_));
      op.contract_comments = l.comments;
      return;
    }
    if (first == "extent" && is_word(l.tokens[1].text)) {
      p.expect("extent");
      derived_extent d{p.name("the extent's name"), nullptr, l.comments, where};
      p.expect("=");
      d.value = p.plain();
      p.end();
      names_.insert(d.name);
      op.derived.push_back(std::move(d));
      return;
    }
    op.definitions.push_back(read_definition(p, l));
    names_.insert(op.definitions.back().name);
  }

 private:
  definition read_definition(expression_parser& p, const logical_line& l) {
    definition d;
    d.where = l.tokens.front().where;
    d.comments = l.comments;
    d.name = p.name("a definition, 'extent' or 'arithmetic'");
    if (p.accept(":")) d.type = p.type();
    if (p.accept("["))
      p.list("]", "an index", [&] {
        binder b{p.name("an index"), nullptr};
        if (p.accept("<")) b.extent = p.plain();
        d.indices.push_back(std::move(b));
      });
    p.expect("=");
    d.value = p.condition();
    p.end();
    return d;
  }

  void parameter(expression_parser& p) {
    if (p.peek(1) != "=") {
      op_.inputs.push_back(read_tensor(p, "a parameter"));
      op_.parameters.push_back(op_.inputs.back().name);
      return;
    }
    scalar s;
    s.where = p.where();
    s.name = p.name("a parameter");
    p.expect("=");
    s.fallback = signed_number(p);
    if (p.accept("in")) {
      s.has_range = true;
      if (p.accept("[")) {
        std::tie(s.least, s.most) = range(p);
      } else {
        s.is_integer = true;
        s.least = whole_number(p);
        p.expect("..");
        s.most = whole_number(p);
        if (s.fallback != std::trunc(s.fallback)) fail(file_, s.where, s.name + ": its value must be a whole number");
      }
      if (!(s.least <= s.fallback && s.fallback <= s.most))
        fail(file_, s.where, s.name + ": its value must lie in its range");
    }
    op_.parameters.push_back(s.name);
    op_.scalars.push_back(std::move(s));
  }

  tensor read_tensor(expression_parser& p, std::string_view what) {
    tensor t;
    t.where = p.where();
    t.name = p.name(what);
    const bool has_type = p.accept(":");
    if (has_type) t.type = p.type();
    if (p.accept("[")) p.list("]", "an extent", [&] { t.shape.push_back(p.plain()); });
    if (p.accept("of")) {
      t.of = p.plain();
      if (!has_type) t.type = number_type::i32;
      if (!is_integer(t.type)) fail(file_, t.where, t.name + ": indices of an extent must be i32, i64 or u8");
    } else if (p.accept("in")) {
      p.expect("[");
      t.range = range(p);
    }
    if (t.type == number_type::tf32)
      fail(file_, t.where, t.name + ": tf32 is a rounding, no type of a tensor; use f32, or 'as tf32' in a formula");
    return t;
  }

  // Reads the text after '['.
  std::pair<double, double> range(expression_parser& p) {
    const position where = p.where();
    const double least = signed_number(p);
    p.expect(",");
    const double most = signed_number(p);
    p.expect("]");
    if (!(least <= most)) fail(file_, where, "range: its first number is greater than its second");
    return {least, most};
  }
  double signed_number(expression_parser& p) {
    const double sign = p.accept("-") ? -1 : 1;
    return sign * p.number();
  }
  double whole_number(expression_parser& p) {
    const position where = p.where();
    const double x = signed_number(p);
    if (x != std::trunc(x) || std::fabs(x) > 1e9)
      fail(file_, where, "range: its ends must be whole numbers of at most 1e9");
    return x;
  }

  std::string_view file_;
  std::set<std::string> names_;
  formula_operator op_;
};

}  // namespace

std::vector<formula_operator> parse_file(std::string_view text, std::string_view file) {
  std::vector<formula_operator> found;
  std::optional<operator_parser> parser;
  for (const logical_line& l : split(text, file)) {
    if (l.tokens.front().text == "operator") {
      parser.emplace(file);
      found.push_back(parser->head(l));
    } else if (parser) {
      parser->line(found.back(), l);
    } else {
      fail(file, l.tokens.front().where,
           "a file begins with 'operator NAME(inputs) -> outputs', found '" + std::string(l.tokens.front().text) + "'");
    }
  }
  if (found.empty()) fail(file, {1, 1}, "the file has no operator; 'operator NAME(inputs) -> outputs' begins one");
  std::set<std::string_view> names;
  for (formula_operator& op : found) {
    if (!names.insert(op.name).second) fail(file, op.where, "operator " + op.name + ": the file has two of this name");
    check(op, file);
  }
  return found;
}

expr parse_expression(std::string_view text) {
  const std::vector<logical_line> lines = split(text, "formula");
  if (lines.size() != 1) fail("formula", {1, 1}, "an expression is one line");
  const std::set<std::string> none;
  expression_parser p(lines[0], "formula", none);
  const expr e = p.condition();
  p.end();
  return e;
}

}  // namespace warpcheck::formula
