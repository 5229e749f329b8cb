// Each rule of the bound is needed: where it is left out, an honest kernel of some random formula exceeds the bound.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "reference/formula/evaluate.hpp"
#include "reference/formula/machine.hpp"
#include "reference/formula/printer.hpp"
#include "tests/formula/random_formulas.hpp"

namespace {

using namespace warpcheck::formula;
using namespace warpcheck::formula_test;

// What a rule is about: an operation, and a part of what its result may err by.
enum class operation {
  constant,
  add,
  multiply,
  divide,
  power,
  call,
  larger,
  pow,
  cast,
  stored,
  choose,
  compare,
  sum,
  mean,
  prod,
  extreme
};
enum class part {
  first,      // the error of its first operand, of its terms
  second,     // of its second one
  rounding,   // its own
  specials,   // what overflows, or is computed as Inf or NaN in place of a number
  order,      // subnormal products of its factors in another order
  between,    // products of its factors that overflow in another order
  otherwise,  // of choices: the branch that is not taken
  enclosed,   // its own rounding of the exact value in double
  inherited   // what its operands' exact values may be off by
};
struct rule {
  operation of;
  part what;
  const char* name;
};

constexpr rule k_rules[] = {
    {operation::constant, part::rounding, "a constant that the format does not hold"},
    {operation::add, part::first, "a + b: the error of a"},
    {operation::add, part::second, "a + b: the error of b"},
    {operation::add, part::rounding, "a + b: its rounding"},
    {operation::add, part::specials, "a + b: overflow"},
    {operation::multiply, part::first, "a b: the error of a"},
    {operation::multiply, part::second, "a b: the error of b"},
    {operation::multiply, part::rounding, "a b: its rounding"},
    {operation::multiply, part::specials, "a b: overflow"},
    {operation::multiply, part::order, "a b c: another order"},
    {operation::divide, part::order, "a b / c: an early division"},
    {operation::sum, part::order, "(sum a) b: a product with each term"},
    {operation::power, part::order, "a^k b: another order"},
    {operation::multiply, part::between, "a b c: an overflow in another order"},
    {operation::divide, part::between, "a b / c: an overflow of a / c"},
    {operation::sum, part::between, "(sum a) b: an overflow of a product with a term"},
    {operation::power, part::between, "a^k b: an overflow in another order"},
    {operation::divide, part::first, "a / b: the error of a"},
    {operation::divide, part::second, "a / b: the error of b"},
    {operation::divide, part::rounding, "a / b: its rounding"},
    {operation::divide, part::specials, "a / b: overflow"},
    {operation::power, part::first, "a^k: the error of a"},
    {operation::power, part::rounding, "a^k: its roundings"},
    {operation::power, part::specials, "a^k: overflow"},
    {operation::call, part::first, "f(a): the error of a"},
    {operation::call, part::rounding, "f(a): its own error"},
    {operation::call, part::specials, "f(a): overflow, and a beyond the domain"},
    {operation::larger, part::first, "max(a, b): the error of a"},
    {operation::larger, part::second, "max(a, b): the error of b"},
    {operation::larger, part::specials, "max(a, b): what may be Inf or NaN"},
    {operation::pow, part::first, "pow(a, b): the error of a"},
    {operation::pow, part::second, "pow(a, b): the error of b"},
    {operation::pow, part::rounding, "pow(a, b): its own error"},
    {operation::cast, part::first, "a as t: the error of a"},
    {operation::stored, part::rounding, "a value that may be stored in 16 bits"},
    {operation::choose, part::otherwise, "if a < b: the branch that a kernel may take instead"},
    {operation::compare, part::otherwise, "a < b: what the errors leave open"},
    {operation::sum, part::first, "sum: the errors of its terms"},
    {operation::sum, part::rounding, "sum: its roundings"},
    {operation::sum, part::specials, "sum: a partial sum that overflows"},
    {operation::mean, part::first, "mean: the errors of its terms"},
    {operation::mean, part::rounding, "mean: its roundings"},
    {operation::prod, part::first, "prod: the errors of its factors"},
    {operation::prod, part::rounding, "prod: its roundings"},
    {operation::prod, part::specials, "prod: a partial product that overflows"},
    {operation::extreme, part::first, "max over an index: the errors of its elements"},
    {operation::extreme, part::specials, "max over an index: elements that may be Inf or NaN"},
};

// The same of the exact value, which is an enclosure in double.
constexpr rule k_rules_of_value[] = {
    {operation::constant, part::enclosed, "a constant that is no double"},
    {operation::add, part::enclosed, "a + b: its rounding in double"},
    {operation::add, part::inherited, "a + b: the radii of a and b"},
    {operation::multiply, part::enclosed, "a b: its rounding in double"},
    {operation::multiply, part::inherited, "a b: the radii of a and b"},
    {operation::divide, part::enclosed, "a / b: its rounding in double"},
    {operation::divide, part::inherited, "a / b: the radii of a and b"},
    {operation::power, part::enclosed, "a^k: its roundings in double"},
    {operation::power, part::inherited, "a^k: the radius of a"},
    {operation::call, part::enclosed, "f(a): its error in double"},
    {operation::call, part::inherited, "f(a): the radius of a"},
    {operation::larger, part::inherited, "max(a, b): the radii of a and b"},
    {operation::pow, part::enclosed, "pow(a, b): its error in double"},
    {operation::pow, part::inherited, "pow(a, b): the radii of a and b"},
    {operation::cast, part::inherited, "a as t: the radius of a"},
    {operation::choose, part::inherited, "if a < b: the branch that the exact values leave open"},
    {operation::sum, part::enclosed, "sum: its roundings in double"},
    {operation::sum, part::inherited, "sum: the radii of its terms"},
    {operation::mean, part::enclosed, "mean: its roundings in double"},
    {operation::mean, part::inherited, "mean: the radii of its terms"},
    {operation::prod, part::enclosed, "prod: its roundings in double"},
    {operation::prod, part::inherited, "prod: the radii of its factors"},
    {operation::extreme, part::inherited, "max over an index: the radii of its elements"},
};

bounded without_error(bounded a) {
  if (a.is_finite()) a.e = 0;
  return a;
}
bounded without_radius(bounded a) {
  if (a.is_finite()) a.r = 0;
  return a;
}
bounded without_specials(bounded a) {
  if (a.is_finite()) a.s = 0;
  return a;
}

bounded without_factors(bounded a) {
  a.product_of = {};
  return a;
}

operation operation_of(reduction by) {
  switch (by) {
    case reduction::sum: return operation::sum;
    case reduction::mean: return operation::mean;
    case reduction::prod: return operation::prod;
    default: return operation::extreme;
  }
}

// The algebra of bounds without one rule. Roundings of f64 stand for none.
class lacking_algebra {
 public:
  using value = bounded;
  explicit lacking_algebra(std::optional<rule> lacks)
      : a_((contract())),
        fine_(parse_contract("arithmetic f64: functions 0 ulp, pow 0 ulp, division 1, slack 0")),
        lacks_(lacks) {}

  value constant(const code& c) const {
    const value y = after(operation::constant, of(operation::constant).constant(c));
    return less(operation::constant, y, y);
  }
  value whole(int64_t n) const { return a_.whole(n); }
  value load(const code& c, double element) const { return a_.load(c, element); }
  value outside(const value& a) const { return a_.outside(a); }
  value negate(const value& a) const { return a_.negate(a); }
  value binary(code::form what, const value& a, const value& b, bool are_same) const {
    const operation o = what == code::form::multiply ? operation::multiply
                        : what == code::form::divide ? operation::divide
                                                     : operation::add;
    value y = of(o).binary(what, first(o, a), second(o, b), are_same && !lacks(o, part::first));
    if (lacks_order(o)) y = without_factors(y);
    return less(o, after(o, y), a_.binary(what, without_radius(a), without_radius(b), are_same));
  }
  value power(const value& a, int k) const {
    const operation o = operation::power;
    const value y = after(o, of(o).power(first(o, a), k));
    return less(o, lacks_order(o) ? without_factors(y) : y, a_.power(without_radius(a), k));
  }
  value call(function f, const value& a) const {
    const operation o = operation::call;
    return less(o, after(o, of(o).call(f, first(o, a))), a_.call(f, without_radius(a)));
  }
  value call(function f, const value& a, const value& b) const {
    const operation o = f == function::pow ? operation::pow : operation::larger;
    return less(o, after(o, of(o).call(f, first(o, a), second(o, b))),
                a_.call(f, without_radius(a), without_radius(b)));
  }
  value cast(const value& a, number_type t) const { return a_.cast(first(operation::cast, a), t); }
  value stored(const value& a, number_type t) const {
    return lacks(operation::stored, part::rounding) ? a : a_.stored(a, t);
  }
  value as_output(const value& a, number_type t) const { return a_.as_output(a, t); }
  value at_most_zero(const value& a) const { return a_.at_most_zero(a); }
  value holds_one(const value& a) const { return a_.holds_one(a); }
  value neutral(reduction by) const { return a_.neutral(by); }
  truth compare(kind sign, const value& a, const value& b) const {
    truth t = a_.compare(sign, a, b);
    if (lacks(operation::compare, part::otherwise)) t.computed_is_sure = true;
    return t;
  }
  value choose(truth t, const value& then, const value& otherwise) const {
    t.exact_is_sure |= lacks(operation::choose, part::inherited);
    if (lacks(operation::choose, part::otherwise)) return t.holds ? then : otherwise;
    return a_.choose(t, then, otherwise);
  }
  int64_t index_of(const value& a) const { return a_.index_of(a); }

  class total {
   public:
    total(const lacking_algebra& a, reduction by)
        : a_(&a), of_(operation_of(by)), inner_(a.of(of_), by), own_(a.a_, by) {}
    void add(const value& t, int64_t index) {
      const value term = a_->first(of_, t);
      inner_.add(a_->lacks(of_, part::specials) ? without_specials(term) : term, index);
      own_.add(without_radius(t), index);
    }
    value result() const {
      const value y = a_->after(of_, inner_.result());
      return a_->less(of_, a_->lacks_order(of_) ? without_factors(y) : y, own_.result());
    }

   private:
    const lacking_algebra* a_;
    operation of_;
    bound_algebra::total inner_, own_;
  };

 private:
  bool lacks(operation o, part p) const { return lacks_ && lacks_->of == o && lacks_->what == p; }
  bool lacks_order(operation o) const { return lacks(o, part::order) || lacks(o, part::between); }
  const bound_algebra& of(operation o) const { return lacks(o, part::rounding) ? fine_ : a_; }
  value first(operation o, const value& a) const { return lacks(o, part::first) ? without_error(a) : enclosed(o, a); }
  value second(operation o, const value& a) const { return lacks(o, part::second) ? without_error(a) : enclosed(o, a); }
  value enclosed(operation o, const value& a) const { return lacks(o, part::inherited) ? without_radius(a) : a; }
  // Without the radius that an operation on exact values has.
  value less(operation o, value y, const value& own) const {
    if (lacks(o, part::enclosed) && y.is_finite() && own.is_finite()) y.r = std::fmax(0, y.r - own.r * (1 + 0x1p-20));
    return y;
  }
  value after(operation o, const value& y) const { return lacks(o, part::specials) ? without_specials(y) : y; }

  bound_algebra a_, fine_;
  std::optional<rule> lacks_;
};

enum class verdict { within, beyond, special };

// What a kernel's value is to a bound. Beyond: it certainly exceeds it; special: it is Inf or NaN and may not be.
verdict verdict_on(const bounded& b, double actual) {
  if (b.e == k_inf || !b.is_finite()) return verdict::within;
  if (std::isfinite(actual))
    return std::fabs(actual - b.v) - b.r > b.e * (1 + 0x1p-50) ? verdict::beyond : verdict::within;
  const uint8_t what = std::isnan(actual) ? not_a_number : actual > 0 ? plus_infinity : minus_infinity;
  return b.s & what ? verdict::within : verdict::special;
}

// A formula and kernel that a bound without the rule rejects, in the first `trees` random ones; "" if there is none.
std::string rejected_without(const std::optional<rule>& lacks, int trees) {
  const bool reorders = lacks && (lacks->what == part::order || lacks->what == part::between);
  const bool is_special = lacks && (lacks->what == part::specials || lacks->what == part::between);
  const verdict sought = is_special ? verdict::special : verdict::beyond;
  for (int t = 0; t < trees; ++t) {
    std::seed_seq seed = {77U, static_cast<uint32_t>(t)};
    draws g(seed);
    const formula_operator op = drawn_operator(g), plain = expanded(op);
    const formula_operator other = reorders ? expanded(reordered(g, op)) : plain;
    for (int recipe = 0; recipe < 6; ++recipe) {
      const call_data c = drawn_call(g, recipe);
      program code(plain, c), other_code(other, c);
      walker<machine_algebra> kernel(other_code, machine_algebra({.seed = g() | 1}));
      walker<lacking_algebra> bounds(code, lacking_algebra(lacks));
      const definition_code& y = *code.find("y");
      for (int64_t i = 0; i < y.elements; ++i) {
        const double actual = kernel.element(*other_code.find("y"), i);
        const verdict found = verdict_on(bounds.element(y, i), actual);
        if (lacks ? found == sought : found != verdict::within) return to_text(op);
      }
    }
  }
  return "";
}

bool encloses(const bounded& b, long double x) {
  return std::fabs(x - b.v) <= b.r * (1 + 0x1p-40L) + std::fabs(x) * 1e-19L;
}

// A formula whose exact value, to 20 digits, lies within the enclosure, and outside of that without the rule.
std::string misplaced_without(const rule& lacks, int trees) {
  for (int t = 0; t < trees; ++t) {
    std::seed_seq seed = {78U, static_cast<uint32_t>(t)};
    draws g(seed);
    const formula_operator op = drawn_operator(g), plain = expanded(op);
    for (int recipe = 0; recipe < 5; ++recipe) {
      const call_data c = drawn_call(g, recipe);
      program code(plain, c);
      walker<lacking_algebra> whole(code, lacking_algebra(std::nullopt)), bounds(code, lacking_algebra(lacks));
      evaluation exact(op, c);
      const definition_code& y = *code.find("y");
      for (int64_t i = 0; i < y.elements; ++i) {
        const bounded with = whole.element(y, i), without = bounds.element(y, i);
        if (!with.is_finite() || !without.is_finite() || (with.v == without.v && with.r == without.r)) continue;
        const long double x = std::strtold(exact.text("y", i).c_str(), nullptr);
        if (encloses(with, x) && !encloses(without, x)) return to_text(op);
      }
    }
  }
  return "";
}

TEST(FormulaRules, EachOfTheExactValueIsNeeded) {
  for (const rule& r : k_rules_of_value) EXPECT_NE(misplaced_without(r, 20000), "") << r.name;
}

TEST(FormulaRules, EachIsNeeded) {
  EXPECT_EQ(rejected_without(std::nullopt, 3000), "");
  for (const rule& r : k_rules) EXPECT_NE(rejected_without(r, 400000), "") << r.name;
}

}  // namespace
