#include "reference/formula/expression_parser.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace warpcheck::formula {
namespace {

constexpr int k_deepest = 800;  // a bracket is four levels, a sign or power one

constexpr std::array<std::string_view, 14> k_keywords = {
    "operator", "extent", "arithmetic", "if", "then", "else", "and", "or", "not", "as", "where", "of", "in", "outside"};

struct comparison_sign {
  std::string_view text;
  kind what;
};
constexpr comparison_sign k_comparisons[] = {{"<", kind::less},    {"<=", kind::less_equal},
                                             {">", kind::greater}, {">=", kind::greater_equal},
                                             {"==", kind::equal},  {"!=", kind::not_equal}};

// The reason why a formula cannot have a function; "" for all others.
std::string refusal_of(std::string_view function) {
  for (const std::string_view random : {"rand", "randn", "random", "dropout", "bernoulli"})
    if (function == random) return "random numbers have no exact value; give the mask as an input";
  for (const std::string_view sorting : {"sort", "argsort", "topk", "unique", "nonzero"})
    if (function == sorting) return "shapes and order that depend on data cannot be said in index notation";
  return "";
}

}  // namespace

bool is_keyword(std::string_view word) { return std::ranges::find(k_keywords, word) != k_keywords.end(); }

// Limits the recursion, so that no text exhausts the stack.
struct expression_parser::deeper {
  explicit deeper(expression_parser& p) : parser(p) {
    if (++parser.depth_ > k_deepest)
      fail(parser.file_, parser.where(), "brackets are nested too deeply, at most 200 within each other");
  }
  ~deeper() { --parser.depth_; }
  deeper(const deeper&) = delete;
  deeper& operator=(const deeper&) = delete;
  expression_parser& parser;
};

void expression_parser::unexpected(std::string_view wanted) const {
  const std::string found = peek().empty() ? "the end of the line" : "'" + std::string(peek()) + "'";
  fail(file_, where(), "expected " + std::string(wanted) + ", found " + found);
}
bool expression_parser::accept(std::string_view token) {
  if (peek() != token) return false;
  ++at_;
  return true;
}
void expression_parser::expect(std::string_view token) {
  if (!accept(token)) unexpected("'" + std::string(token) + "'");
}
std::string expression_parser::name(std::string_view what) {
  if (!is_word(peek()) || is_keyword(peek())) unexpected(what);
  return std::string(tokens_[at_++].text);
}
double expression_parser::number() {
  if (!is_number(peek())) unexpected("a number");
  const double x = std::strtod(std::string(peek()).c_str(), nullptr);
  if (!std::isfinite(x)) fail(file_, where(), "the number '" + std::string(peek()) + "' is beyond the range of f64");
  ++at_;
  return x;
}
number_type expression_parser::type() {
  const auto t = type_from_name(peek());
  if (!t) unexpected("a type (f64, f32, tf32, bf16, f16, e4m3, e5m2, i64, i32, i8, u8)");
  ++at_;
  return *t;
}
void expression_parser::end() {
  if (!peek().empty()) unexpected("an operator or the end of the line");
}

expr expression_parser::made(node n, position place) const {
  n.where = place;
  try {
    return make(std::move(n));
  } catch (const formula_error& e) {
    fail(file_, place, e.what());
  }
}

expr expression_parser::plain() {
  const deeper guard(*this);
  const position place = where();
  if (!accept("if")) return sum();
  std::vector<expr> parts = {condition()};
  expect("then");
  parts.push_back(plain());
  expect("else");
  parts.push_back(plain());
  return made({.what = kind::choose, .args = std::move(parts)}, place);
}

expr expression_parser::sum() {
  expr left = term();
  while (peek() == "+" || peek() == "-") {
    const position place = where();
    const kind what = tokens_[at_++].text == "+" ? kind::add : kind::subtract;
    expr right = term();
    left = made({.what = what, .args = {std::move(left), std::move(right)}}, place);
  }
  return left;
}

namespace {
std::optional<kind> product_sign(std::string_view token) {
  if (token == "*") return kind::multiply;
  if (token == "/") return kind::divide;
  if (token == "%") return kind::remainder;
  return std::nullopt;
}
}  // namespace

expr expression_parser::term() {
  expr left = factor();
  while (const auto what = product_sign(peek())) {
    const position place = where();
    ++at_;
    expr right = factor();
    left = made({.what = *what, .args = {std::move(left), std::move(right)}}, place);
  }
  return left;
}

expr expression_parser::factor() {
  const deeper guard(*this);
  const position place = where();
  if (accept("-")) return made({.what = kind::negate, .args = {factor()}}, place);
  expr base = primary();
  while (peek() == "as") {
    const position here = where();
    ++at_;
    base = made({.what = kind::cast, .args = {std::move(base)}, .type = type()}, here);
  }
  const position here = where();
  if (!accept("^")) return base;
  expr exponent = factor();
  return made({.what = kind::power, .args = {std::move(base), std::move(exponent)}}, here);
}

expr expression_parser::condition() {
  const deeper guard(*this);
  const auto chain = [&](std::string_view word, kind what, auto inner) {
    expr left = inner();
    while (peek() == word) {
      const position place = where();
      ++at_;
      expr right = inner();
      left = made({.what = what, .args = {std::move(left), std::move(right)}}, place);
    }
    return left;
  };
  return chain("or", kind::either, [&] { return chain("and", kind::both, [&] { return comparison(); }); });
}

expr expression_parser::comparison() {
  const deeper guard(*this);
  const position place = where();
  if (accept("not")) return made({.what = kind::negation, .args = {comparison()}}, place);
  expr left = plain(), found;
  while (true) {
    const position here = where();
    const auto sign = std::find_if(std::begin(k_comparisons), std::end(k_comparisons),
                                   [&](const auto& c) { return c.text == peek(); });
    if (sign == std::end(k_comparisons)) return found ? found : left;
    ++at_;
    expr right = plain();
    expr step = made({.what = sign->what, .args = {left, right}}, here);
    found = found ? made({.what = kind::both, .args = {std::move(found), std::move(step)}}, here) : std::move(step);
    left = std::move(right);
  }
}

// `max(c) x`, `max(i < 3, j < 3) x` and `max(i, j) x` bind indices; max(x[c], 0), and max(a, b) of known names, do not.
bool expression_parser::begins_reduction() const {
  if (!is_reduction(peek()) || peek(1) != "(") return false;
  const std::string_view first = peek(2), next = peek(3);
  if (arguments_of(peek()) == 0) return true;
  if (!is_word(first)) return false;
  if (next == ")" || next == "<" || next == "where") return true;
  const std::string_view last = peek(5);
  const bool lists_words =
      next == "," && is_word(peek(4)) && (last == ")" || last == "," || last == "<" || last == "where");
  return lists_words && values_.count(std::string(first)) == 0 && std::ranges::find(indices_, first) == indices_.end();
}

expr expression_parser::reduction() {
  const position place = where();
  const std::string which(tokens_[at_++].text);
  expect("(");
  std::vector<binder> bound;
  do {
    binder b{name("an index to reduce over"), nullptr};
    if (accept("<")) b.extent = plain();
    bound.push_back(std::move(b));
  } while (accept(","));
  for (const binder& b : bound) indices_.push_back(b.index);
  expr where_true = accept("where") ? condition() : nullptr;
  if (!accept(")")) unexpected("',', 'where' or ')'");
  expr result = reduction_body(which, std::move(bound), std::move(where_true), place);
  return result;
}

// The body is the product that follows. The last factors of a sum or mean that contain none of its indices stand
// outside: `sum(c) x[r,c]^2 / cols` is a sum that is divided once.
expr expression_parser::reduction_body(const std::string& which, std::vector<binder> bound, expr where_true,
                                       position place) {
  struct step {
    kind what;
    expr right;
    position where;
  };
  expr body;
  std::vector<step> steps;
  if (which == "any" || which == "all") {
    body = condition();
  } else {
    body = factor();
    while (const auto what = product_sign(peek())) {
      const position here = where();
      ++at_;
      expr right = factor();
      steps.push_back({*what, std::move(right), here});
    }
  }
  indices_.resize(indices_.size() - bound.size());
  const auto is_outside = [&](const step& s) {
    const std::set<std::string> names = names_in(s.right);
    return s.what != kind::remainder &&
           std::ranges::none_of(bound, [&](const binder& b) { return names.count(b.index) > 0; });
  };
  size_t inside = steps.size();
  if (which == "sum" || which == "mean")
    while (inside > 0 && is_outside(steps[inside - 1])) --inside;
  const auto apply = [&](expr left, const step& s) {
    return made({.what = s.what, .args = {std::move(left), s.right}}, s.where);
  };
  for (size_t i = 0; i < inside; ++i) body = apply(std::move(body), steps[i]);
  expr result = made({.what = kind::reduce,
                      .text = which,
                      .args = {std::move(body)},
                      .other = std::move(where_true),
                      .bound = std::move(bound)},
                     place);
  for (size_t i = inside; i < steps.size(); ++i) result = apply(std::move(result), steps[i]);
  return result;
}

expr expression_parser::primary() {
  if (begins_reduction()) return reduction();
  const position place = where();
  if (accept("(")) {
    expr inside = condition();
    expect(")");
    return inside;
  }
  if (is_number(peek())) {
    number();
    return made({.what = kind::number, .text = std::string(previous())}, place);
  }
  const std::string word = name("a value");
  if (peek() == "[") return indexed(word, place);
  if (peek() == "(") return call(word, place);
  return made({.what = kind::name, .text = word}, place);
}

expr expression_parser::indexed(std::string tensor, position place) {
  node n{.what = kind::at, .text = std::move(tensor)};
  expect("[");
  list("]", "a subscript", [&] { n.args.push_back(plain()); });
  if (accept("outside")) {
    const position here = where();
    const bool negative = accept("-");
    expr value = primary();
    n.other = negative ? made({.what = kind::negate, .args = {std::move(value)}}, here) : std::move(value);
  }
  return made(std::move(n), place);
}

expr expression_parser::call(std::string function, position place) {
  const bool of_depth = of_contract_ && (function == "log2" || function == "ceil");
  const int wanted = of_depth ? 1 : arguments_of(function);
  if (wanted == 0) {
    const std::string why = refusal_of(function), nearest(nearest_function(function));
    if (!why.empty()) fail(file_, place, function + ": " + why);
    fail(file_, place,
         "'" + function + "' is not a function; " +
             (nearest.empty() ? "a tensor's subscripts stand in [ ]" : "did you mean '" + nearest + "'?"));
  }
  node n{.what = kind::call, .text = std::move(function)};
  expect("(");
  list(")", "an argument", [&] { n.args.push_back(plain()); });
  if (static_cast<int>(n.args.size()) != wanted)
    fail(file_, place,
         n.text + ": it has " + std::to_string(n.args.size()) + " arguments, must have " + std::to_string(wanted));
  return made(std::move(n), place);
}

}  // namespace warpcheck::formula
