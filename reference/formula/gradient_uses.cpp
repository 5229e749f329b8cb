#include "reference/formula/gradient_uses.hpp"

#include <algorithm>
#include <optional>

#include "reference/formula/gradient_arithmetic.hpp"

namespace warpcheck::formula::derivation {
namespace {

// Whole numbers: a - (b - c) is a - b + c.
expr whole_difference(const expr& a, const expr& b) {
  return b->what == kind::subtract ? plus(minus(a, b->args[0]), b->args[1]) : minus(a, b);
}

// sub = rest + factor * index, with the index in neither; nothing if sub has another form.
struct linear {
  expr rest, factor;
};

std::optional<linear> split_index(const expr& sub, const std::string& index) {
  if (!mentions(sub, index)) return linear{sub, literal(0)};
  switch (sub->what) {
    case kind::name: return linear{literal(0), literal(1)};
    case kind::add:
    case kind::subtract: {
      const auto a = split_index(sub->args[0], index), b = split_index(sub->args[1], index);
      if (!a || !b || (!is_number(a->factor, "0") && !is_number(b->factor, "0"))) return std::nullopt;
      const bool adds = sub->what == kind::add;
      if (!adds && !is_number(b->factor, "0")) return std::nullopt;  // a negative factor
      return linear{adds ? plus(a->rest, b->rest) : minus(a->rest, b->rest), plus(a->factor, b->factor)};
    }
    case kind::multiply: {
      const bool first = mentions(sub->args[0], index);
      const auto inner = split_index(sub->args[first ? 0 : 1], index);
      const expr& other = sub->args[first ? 1 : 0];
      if (!inner || mentions(other, index) || !is_number(inner->rest, "0")) return std::nullopt;
      return linear{literal(0), times(inner->factor, other)};
    }
    default: return std::nullopt;
  }
}

void substitute_all(use& u, const replacements& names) {
  for (expr& s : u.subscripts) s = substitute(s, names);
  u.adjoint = substitute(u.adjoint, names);
  for (expr& c : u.conditions) c = substitute(c, names);
}

// Gives bound indices names that no formula can contain, so that nothing is captured.
void rename_bound(use& u) {
  replacements renamed;
  for (binder& b : u.bound) {
    renamed.emplace_back(b.index, make_name("#" + b.index));
    b.index = "#" + b.index;
  }
  substitute_all(u, renamed);
}
void restore_names(use& u, const std::vector<binder>& target,
                   const std::function<std::string(const std::string&)>& fresh) {
  replacements restored;
  for (binder& b : u.bound) {
    std::string index = b.index.substr(1);
    const auto same_index = [&](const binder& t) { return t.index == index; };
    if (std::ranges::any_of(target, same_index)) index = fresh(index);
    restored.emplace_back(b.index, make_name(index));
    b.index = index;
  }
  substitute_all(u, restored);
}

void eliminate(use& u, const std::string& index, const expr& value) {
  u.bound.erase(std::ranges::find_if(u.bound, [&](const binder& b) { return b.index == index; }));
  substitute_all(u, {{index, value}});
}

// Replaces every `what` in a tree.
expr replaced(const expr& e, const expr& what, const expr& by) {
  if (!e) return e;
  if (same(e, what)) return by;
  return with_children(e, [&](const expr& a) { return replaced(a, what, by); });
}

// Removes the condition that a division has no remainder, and returns true if there was one.
bool take_exact_division(use& u, const expr& quotient) {
  const expr exact =
      make_binary(kind::equal, make_binary(kind::remainder, quotient->args[0], quotient->args[1]), literal(0));
  const auto found = std::ranges::find_if(u.conditions, [&](const expr& c) { return same(c, exact); });
  if (found == u.conditions.end()) return false;
  u.conditions.erase(found);
  return true;
}

// If sub = rest + factor * index, fixes the index as (here - rest) / factor, if that is whole and legal.
bool solve(use& u, const expr& sub, const expr& here) {
  for (const binder& b : std::vector<binder>(u.bound)) {
    if (!mentions(sub, b.index)) continue;
    if (sub->what == kind::divide && !mentions(sub->args[1], b.index)) {
      const auto numerator = split_index(sub->args[0], b.index);
      if (numerator && is_number(numerator->factor, "1") && take_exact_division(u, sub)) {
        for (expr& c : u.conditions) c = replaced(c, sub, here);
        return solve(u, sub->args[0], times(here, sub->args[1]));
      }
      continue;
    }
    const auto form = split_index(sub, b.index);
    if (!form) continue;
    u.adjoint = replaced(u.adjoint, sub, here);
    for (expr& c : u.conditions) c = replaced(c, sub, here);
    const expr numerator = whole_difference(here, form->rest), value = over(numerator, form->factor);
    eliminate(u, b.index, value);
    if (!is_number(form->factor, "1"))
      u.conditions.push_back(
          make_binary(kind::equal, make_binary(kind::remainder, numerator, form->factor), literal(0)));
    u.conditions.push_back(make_binary(kind::greater_equal, value, literal(0)));
    u.conditions.push_back(make_binary(kind::less, value, b.extent));
    return true;
  }
  return false;
}

// True for 0 <= i and i < n, if i is the index and n its extent.
bool always_holds(const expr& c, const binder& b) {
  const expr index = make_name(b.index), zero = literal(0);
  return same(c, make_binary(kind::less_equal, zero, index)) || same(c, make_binary(kind::less, index, b.extent));
}

bool has_bound_index(const use& u, const expr& e) {
  return std::ranges::any_of(u.bound, [&](const binder& b) { return mentions(e, b.index); });
}

bool same_bound(const use& a, const use& b) {
  return std::equal(a.bound.begin(), a.bound.end(), b.bound.begin(), b.bound.end(),
                    [](const binder& x, const binder& y) { return x.index == y.index && same(x.extent, y.extent); });
}

// Merges two uses into one that differ in one condition alone, which is `c` for one and not c for the other.
bool merge(const formula_operator& op, use& a, const use& b) {
  if (!same_bound(a, b) || a.conditions.size() != b.conditions.size()) return false;
  size_t at = a.conditions.size();
  for (size_t i = 0; i < a.conditions.size(); ++i) {
    if (same(a.conditions[i], b.conditions[i])) continue;
    if (at != a.conditions.size() || !same(opposite(op, a.conditions[i]), b.conditions[i])) return false;
    at = i;
  }
  if (at == a.conditions.size()) {
    if (!a.bound.empty()) return false;  // two sums are rounded apart
    a.adjoint = plus(a.adjoint, b.adjoint);
    return true;
  }
  a.adjoint = make_choice(a.conditions[at], a.adjoint, b.adjoint);
  a.conditions.erase(a.conditions.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

expr value_of(const use& u) {
  // A sign stands before the sum and its condition.
  if (u.adjoint->what == kind::negate) {
    use positive = u;
    positive.adjoint = u.adjoint->args[0];
    return negated(value_of(positive));
  }
  expr outer, inner;
  for (const expr& c : u.conditions) {
    expr& where = has_bound_index(u, c) ? inner : outer;
    where = both(where, c);
  }
  const expr sum = u.bound.empty() ? u.adjoint : make_reduction("sum", u.bound, inner, u.adjoint);
  return outer ? masked(outer, sum) : sum;
}

}  // namespace

void add_condition(std::vector<expr>& conditions, const expr& condition) {
  if (condition->what == kind::both) {
    for (const expr& part : condition->args) add_condition(conditions, part);
  } else if (std::ranges::none_of(conditions, [&](const expr& c) { return same(c, condition); })) {
    conditions.push_back(condition);
  }
}

bool is_bound_index(const use& u, size_t i, const expr& extent) {
  const expr& sub = u.subscripts[i];
  return sub->what == kind::name &&
         std::ranges::any_of(u.bound, [&](const binder& b) { return b.index == sub->text && same(b.extent, extent); });
}

use placed(use u, const std::vector<binder>& target, const std::function<std::string(const std::string&)>& fresh) {
  rename_bound(u);
  for (size_t i = 0; i < target.size(); ++i) {
    const expr sub = u.subscripts[i], here = make_name(target[i].index);
    if (is_bound_index(u, i, target[i].extent)) {
      eliminate(u, sub->text, here);
    } else if (!solve(u, sub, here)) {
      add_condition(u.conditions, make_binary(kind::equal, sub, here));
    }
    std::erase_if(u.conditions, [&](const expr& c) { return always_holds(c, target[i]); });
  }
  restore_names(u, target, fresh);
  return u;
}

std::vector<expr> take_common_conditions(std::vector<use>& uses) {
  std::vector<expr> common;
  if (uses.empty()) return common;
  for (const expr& c : uses[0].conditions) {
    const bool in_all = std::ranges::all_of(uses, [&](const use& u) {
      return !has_bound_index(u, c) &&
             std::ranges::any_of(u.conditions, [&](const expr& other) { return same(c, other); });
    });
    if (in_all) common.push_back(c);
  }
  for (use& u : uses)
    u.conditions.erase(std::remove_if(u.conditions.begin(), u.conditions.end(),
                                      [&](const expr& c) {
                                        return std::ranges::any_of(common,
                                                                   [&](const expr& other) { return same(c, other); });
                                      }),
                       u.conditions.end());
  return common;
}

expr total_of(const formula_operator& op, std::vector<use> uses) {
  // Conditions of subscripts come first: they cost nothing, and may be limits of a loop.
  for (use& u : uses)
    std::stable_partition(u.conditions.begin(), u.conditions.end(), [&](const expr& c) {
      return std::ranges::all_of(c->args, [&](const expr& a) { return is_whole(op, a); });
    });
  for (size_t i = 0; i < uses.size(); ++i)
    for (size_t j = i + 1; j < uses.size();)
      if (merge(op, uses[i], uses[j])) {
        uses.erase(uses.begin() + static_cast<std::ptrdiff_t>(j));
      } else {
        ++j;
      }
  expr total = literal(0);
  for (const use& u : uses) total = plus(total, value_of(u));
  return total;
}

}  // namespace warpcheck::formula::derivation
