#include "reference/formula/printer.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace warpcheck::formula {
namespace {

// The precedence of a kind: the grammar's levels, times ten.
enum level : int {
  k_choice = 0,
  k_either = 10,
  k_both = 20,
  k_not = 30,
  k_comparison = 40,
  k_sum = 50,
  k_reduction = 55,
  k_term = 60,
  k_factor = 70,
  k_power = 80,
  k_cast = 85,
  k_primary = 90
};

struct operation {
  std::string_view symbol;
  int level;
};
operation operation_of(kind k) {
  switch (k) {
    case kind::add: return {" + ", k_sum};
    case kind::subtract: return {" - ", k_sum};
    case kind::multiply: return {" * ", k_term};
    case kind::divide: return {" / ", k_term};
    case kind::remainder: return {" % ", k_term};
    case kind::power: return {"^", k_power};
    case kind::less: return {" < ", k_comparison};
    case kind::less_equal: return {" <= ", k_comparison};
    case kind::greater: return {" > ", k_comparison};
    case kind::greater_equal: return {" >= ", k_comparison};
    case kind::equal: return {" == ", k_comparison};
    case kind::not_equal: return {" != ", k_comparison};
    case kind::both: return {" and ", k_both};
    case kind::either: return {" or ", k_either};
    default: return {"", k_primary};
  }
}

bool is_product(const expr& e) { return e->what == kind::multiply || e->what == kind::divide; }
bool gives_up_factors(const expr& reduction) { return reduction->text == "sum" || reduction->text == "mean"; }
bool depends_on(const expr& e, const std::vector<binder>& bound) {
  const std::set<std::string> names = names_in(e);
  return std::ranges::any_of(bound, [&](const binder& b) { return names.count(b.index) > 0; });
}

// True if a product that begins with a reduction needs no parentheses around it, because its factors parse as outside.
bool begins_with_open_reduction(const expr& e) {
  expr first = e;
  std::vector<expr> factors;
  while (is_product(first)) {
    factors.push_back(first->args[1]);
    first = first->args[0];
  }
  return first->what == kind::reduce && gives_up_factors(first) && !factors.empty() &&
         std::ranges::none_of(factors, [&](const expr& f) { return depends_on(f, first->bound); });
}

std::string show(const expr& e, int outer);

// For places where the grammar expects an expression without comparisons.
std::string show_plain(const expr& e) { return show(e, e->what == kind::choose ? k_choice : k_sum); }

std::string show_list(const std::vector<expr>& list) {
  std::string text;
  for (const expr& e : list) text += (text.empty() ? "" : ", ") + show_plain(e);
  return text;
}

std::string show_binders(const std::vector<binder>& bound) {
  std::string text;
  for (const binder& b : bound)
    text += (text.empty() ? "" : ", ") + b.index + (b.extent ? " < " + show_plain(b.extent) : "");
  return text;
}

std::string show_reduction(const expr& e) {
  const std::string head =
      e->text + "(" + show_binders(e->bound) + (e->other ? " where " + show(e->other, k_choice) : "") + ") ";
  const expr& body = e->args[0];
  if (e->text == "any" || e->text == "all") return head + show(body, k_choice);
  // A last factor without the indices would parse as outside the reduction.
  const bool closed = gives_up_factors(e) && is_product(body) && !depends_on(body->args[1], e->bound);
  return head + show(body, closed ? k_primary : k_term);
}

std::string show_at(const expr& e) {
  std::string text = e->text + "[" + show_list(e->args) + "]";
  if (!e->other) return text;
  const bool negative = e->other->what == kind::negate;
  return text + " outside " + (negative ? "-" : "") + show(negative ? e->other->args[0] : e->other, k_primary);
}

// The text and its level.
std::pair<std::string, int> parts_of(const expr& e) {
  switch (e->what) {
    case kind::number:
    case kind::name: return {e->text, k_primary};
    case kind::at: return {show_at(e), k_primary};
    case kind::call: return {e->text + "(" + show_list(e->args) + ")", k_primary};
    case kind::negate: return {"-" + show(e->args[0], k_factor), k_factor};
    case kind::negation: return {"not " + show(e->args[0], k_not), k_not};
    case kind::cast: return {show(e->args[0], k_cast) + " as " + std::string(name_of(e->type)), k_cast};
    case kind::choose:
      return {"if " + show(e->args[0], e->args[0]->what == kind::choose ? k_either : k_choice) + " then " +
                  show_plain(e->args[1]) + " else " + show_plain(e->args[2]),
              k_choice};
    case kind::reduce: return {show_reduction(e), e->text == "any" || e->text == "all" ? k_choice : k_reduction};
    default: break;
  }
  const operation o = operation_of(e->what);
  // Comparisons do not chain, powers group to the right, everything else to the left.
  int left = o.level, right = o.level + 1;
  if (o.level == k_comparison) left = right = k_sum;
  if (o.level == k_power) left = k_primary, right = k_factor;
  if (begins_with_open_reduction(e)) left = k_reduction;
  return {show(e->args[0], left) + std::string(o.symbol) + show(e->args[1], right), o.level};
}

std::string show(const expr& e, int outer) {
  auto [text, inner] = parts_of(e);
  return inner < outer ? "(" + text + ")" : text;
}

std::string show_tensor(const tensor& t) {
  std::string text = t.name;
  if (t.type != (t.of ? number_type::i32 : number_type::f32)) text += ": " + std::string(name_of(t.type));
  if (!t.shape.empty()) text += "[" + show_list(t.shape) + "]";
  if (t.of) text += " of " + show_plain(t.of);
  if (t.range) text += " in [" + to_text(t.range->first) + ", " + to_text(t.range->second) + "]";
  return text;
}

std::string show_scalar(const scalar& s) {
  std::string text = s.name + " = " + to_text(s.fallback);
  if (!s.has_range) return text;
  if (s.is_integer)
    return text + " in " + std::to_string(std::llround(s.least)) + ".." + std::to_string(std::llround(s.most));
  return text + " in [" + to_text(s.least) + ", " + to_text(s.most) + "]";
}

std::string show_comments(const std::vector<std::string>& comments, std::string_view indent) {
  std::string text;
  for (const std::string& c : comments) text += std::string(indent) + "#" + (c.empty() ? "" : " " + c) + "\n";
  return text;
}

// The head, with a break after the parameters if it is longer than a line.
std::string show_head(const formula_operator& op) {
  std::string parameters, outputs;
  for (const std::string& name : op.parameters) {
    const tensor* const t = op.find_input(name);
    parameters += (parameters.empty() ? "" : ", ") + (t ? show_tensor(*t) : show_scalar(*op.find_scalar(name)));
  }
  for (const tensor& t : op.outputs) outputs += (outputs.empty() ? "" : ", ") + show_tensor(t);
  const std::string left = "operator " + op.name + "(" + parameters + ")";
  const bool fits = left.size() + outputs.size() + 4 <= 120;
  return left + (fits ? " -> " : "\n    -> ") + outputs + "\n";
}

}  // namespace

std::string to_text(const expr& e) { return show(e, k_choice); }

std::string to_text(double x) {
  char text[40];
  std::string shortest(text, std::to_chars(text, text + sizeof text, x).ptr);
  const size_t e = shortest.find('e');  // 1e-06 and 1e+06 are written 1e-6 and 1e6
  if (e == std::string::npos) return shortest;
  while (shortest.size() > e + 3 && shortest[e + 2] == '0') shortest.erase(e + 2, 1);
  if (shortest[e + 1] == '+') shortest.erase(e + 1, 1);
  return shortest;
}

std::string to_text(const formula_operator& op) {
  std::string text = show_comments(op.comments, "") + show_head(op);
  if (!op.contract.empty()) text += show_comments(op.contract_comments, "  ") + "  " + op.contract + "\n";
  for (const derived_extent& d : op.derived)
    text += show_comments(d.comments, "  ") + "  extent " + d.name + " = " + show_plain(d.value) + "\n";
  for (const definition& d : op.definitions) {
    text += show_comments(d.comments, "  ") + "  " + d.name;
    if (d.type) text += ": " + std::string(name_of(*d.type));
    if (!d.indices.empty()) text += "[" + show_binders(d.indices) + "]";
    text += " = " + to_text(d.value) + "\n";
  }
  return text;
}

}  // namespace warpcheck::formula
