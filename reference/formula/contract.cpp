#include "reference/formula/contract.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "reference/formula/expression_parser.hpp"
#include "reference/formula/printer.hpp"

namespace warpcheck::formula {
namespace {

class statement_parser {
 public:
  statement_parser(const logical_line& line, std::string_view file) : file_(file), p_(line, file, none_, true) {}

  contract parse() {
    p_.expect("arithmetic");
    c_.format = p_.type();
    if (is_integer(c_.format) || has_8_bits(c_.format) || c_.format == number_type::tf32)
      p_.unexpected("f64, f32, bf16 or f16 before");
    if (p_.accept(":")) {
      do statement();
      while (p_.accept(","));
    }
    p_.end();
    return c_;
  }

 private:
  void statement() {
    const position where = p_.where();
    if (p_.accept("functions")) {
      c_.functions = ulps(where);
    } else if (p_.accept("pow")) {
      c_.power = ulps(where);
    } else if (p_.accept("division")) {
      c_.division = count(where, 1, 16);
    } else if (p_.accept("slack")) {
      c_.slack = count(where, 0, 1000);
    } else if (p_.accept("rescales")) {
      c_.rescales = count(where, 0, 1000000);
    } else if (p_.accept("sums")) {
      sums(where);
    } else if (p_.accept("exp")) {
      p_.expect("by");
      p_.expect("exp2");
      c_.exp_by_exp2 = true;
    } else if (p_.accept("exact")) {
      c_.exact = true;
    } else if (p_.accept("flush")) {
      c_.flush = true;
    } else if (p_.accept("overflow")) {
      p_.expect("free");
      c_.overflow_free = true;
    } else {
      p_.unexpected(
          "a statement: functions K ulp, pow K ulp, division N, slack N, sums in any order, sums of depth D, sums 2u, "
          "rescales N, exp by exp2, exact, flush or overflow free");
    }
  }
  void sums(position where) {
    if (p_.accept("of")) {
      p_.expect("depth");
      p_.accept("<=");
      c_.depth = p_.plain();
      walk(c_.depth, [&](const expr& e) { depth_node(e); });
    } else if (p_.peek() == "in") {
      p_.expect("in");
      p_.expect("any");
      p_.expect("order");
      c_.depth = nullptr;
    } else {
      c_.sum_units = count(where, 1, 16);
      p_.expect("u");
    }
  }
  void depth_node(const expr& e) {
    const bool is_function = e->what == kind::call && (e->text == "log2" || e->text == "ceil" || e->text == "sqrt" ||
                                                       e->text == "min" || e->text == "max" || e->text == "floor");
    const bool is_sum = e->what == kind::add || e->what == kind::subtract || e->what == kind::multiply ||
                        e->what == kind::divide || e->what == kind::number || e->what == kind::negate;
    if (!is_sum && !is_function && !(e->what == kind::name && e->text == "n"))
      fail(file_, e->where, "sums of depth: an expression of n, with + - * /, log2, sqrt, ceil, floor, min and max");
  }
  double ulps(position where) {
    const double k = p_.number();
    if (k > 1e6) fail(file_, where, "ulp: the number must be at most 1e6");
    p_.expect("ulp");
    return k;
  }
  int count(position where, int least, int most) {
    const double k = p_.number();
    if (k != std::trunc(k) || k < least || k > most)
      fail(file_, where,
           "statement: its number must be whole and within " + std::to_string(least) + ".." + std::to_string(most));
    return static_cast<int>(k);
  }

  std::string_view file_;
  std::set<std::string> none_;
  expression_parser p_;
  contract c_;
};

double value_of(const expr& e, double n) {
  const auto arg = [&](size_t i) { return value_of(e->args[i], n); };
  switch (e->what) {
    case kind::number: return std::strtod(e->text.c_str(), nullptr);
    case kind::name: return n;
    case kind::negate: return -arg(0);
    case kind::add: return arg(0) + arg(1);
    case kind::subtract: return arg(0) - arg(1);
    case kind::multiply: return arg(0) * arg(1);
    case kind::divide: return arg(0) / arg(1);
    default: break;
  }
  if (e->text == "log2") return std::log2(arg(0));
  if (e->text == "sqrt") return std::sqrt(arg(0));
  if (e->text == "ceil") return std::ceil(arg(0));
  if (e->text == "floor") return std::floor(arg(0));
  return e->text == "min" ? std::min(arg(0), arg(1)) : std::max(arg(0), arg(1));
}

}  // namespace

contract parse_contract(const logical_line& line, std::string_view file) {
  return statement_parser(line, file).parse();
}

contract parse_contract(std::string_view text) {
  if (text.empty()) return {};
  const std::vector<logical_line> lines = split(text, "formula");
  if (lines.size() != 1) fail("formula", {1, 1}, "arithmetic: it is one line");
  return parse_contract(lines[0], "formula");
}

std::string to_text(const contract& c) {
  const contract usual;
  std::string list;
  const auto add = [&](bool differs, const std::string& statement) {
    if (differs) list += (list.empty() ? "" : ", ") + statement;
  };
  add(c.functions != usual.functions, "functions " + to_text(c.functions) + " ulp");
  add(c.power != usual.power, "pow " + to_text(c.power) + " ulp");
  add(c.division != usual.division, "division " + std::to_string(c.division));
  add(c.slack != usual.slack, "slack " + std::to_string(c.slack));
  add(c.depth != nullptr, c.depth ? "sums of depth " + to_text(c.depth) : "");
  add(c.sum_units != usual.sum_units, "sums " + std::to_string(c.sum_units) + "u");
  add(c.rescales != usual.rescales, "rescales " + std::to_string(c.rescales));
  add(c.exp_by_exp2, "exp by exp2");
  add(c.exact, "exact");
  add(c.flush, "flush");
  add(c.overflow_free, "overflow free");
  if (list.empty() && c.format == usual.format) return "";
  return "arithmetic " + std::string(name_of(c.format)) + (list.empty() ? "" : ": " + list);
}

double depth_of(const contract& c, double n) {
  if (!(n > 1)) return 0;
  if (!c.depth) return n - 1;
  const double d = value_of(c.depth, n);
  return d >= 0 ? std::min(d, n - 1) : d < 0 ? 0 : n - 1;
}

}  // namespace warpcheck::formula
