#include "reference/formula/gradient_arithmetic.hpp"

#include <algorithm>

namespace warpcheck::formula::derivation {

expr negated(const expr& a) {
  if (is_number(a, "0")) return a;
  return a->what == kind::negate ? a->args[0] : make_unary(kind::negate, a);
}
expr times(const expr& a, const expr& b) {
  if (is_number(a, "0") || is_number(b, "0")) return literal(0);
  if (is_number(a, "1")) return b;
  if (is_number(b, "1")) return a;
  // The mask stays outermost, because 0 times Inf would be NaN.
  if (is_mask(a)) return masked(a->args[0], times(a->args[1], b));
  if (a->what == kind::negate) return negated(times(a->args[0], b));
  if (b->what == kind::negate) return negated(times(a, b->args[0]));
  return make_binary(kind::multiply, a, b);
}
expr over(const expr& a, const expr& b) {
  if (is_number(a, "0") || is_number(b, "1")) return a;
  if (is_mask(a)) return masked(a->args[0], over(a->args[1], b));
  if (a->what == kind::negate) return negated(over(a->args[0], b));
  return make_binary(kind::divide, a, b);
}
expr plus(const expr& a, const expr& b) {
  if (is_number(a, "0")) return b;
  if (is_number(b, "0")) return a;
  if (b->what == kind::negate) return make_binary(kind::subtract, a, b->args[0]);
  return make_binary(kind::add, a, b);
}
expr minus(const expr& a, const expr& b) { return plus(a, negated(b)); }
expr one_minus(const expr& a) { return make_binary(kind::subtract, literal(1), a); }
expr squared(const expr& a) { return make_binary(kind::power, a, literal(2)); }
expr call(std::string_view f, const expr& a) { return make_call(std::string(f), {a}); }
expr masked(const expr& condition, const expr& g) {
  if (g->what == kind::negate) return negated(masked(condition, g->args[0]));
  if (is_mask(g)) return masked(both(condition, g->args[0]), g->args[1]);
  return make_choice(condition, g, literal(0));
}
expr both(const expr& a, const expr& b) { return a ? make_binary(kind::both, a, b) : b; }

expr opposite(const formula_operator& op, const expr& condition) {
  if (condition->what == kind::negation) return condition->args[0];
  const bool is_comparison = condition->what >= kind::less && condition->what <= kind::not_equal;
  // NaN fulfils neither a < b nor a >= b.
  const bool are_whole = is_comparison && is_whole(op, condition->args[0]) && is_whole(op, condition->args[1]);
  const auto turned = [&](kind what) { return make_binary(what, condition->args[0], condition->args[1]); };
  if (condition->what == kind::equal) return turned(kind::not_equal);
  if (condition->what == kind::not_equal) return turned(kind::equal);
  if (are_whole) {
    switch (condition->what) {
      case kind::less: return turned(kind::greater_equal);
      case kind::less_equal: return turned(kind::greater);
      case kind::greater: return turned(kind::less_equal);
      default: return turned(kind::less);
    }
  }
  return make_unary(kind::negation, condition);
}

}  // namespace warpcheck::formula::derivation
