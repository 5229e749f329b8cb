// Finds definitions that cancel, by the effect of adding s to one of their elements on every other value.
#include <algorithm>

#include "reference/formula/gradient.hpp"

namespace warpcheck::formula {
namespace {

// Adding s to the element of the definition at `place` adds weight * s to a value, or multiplies it by exp(weight * s).
// With weight 0 the value stays as it is.
struct change {
  enum { adds, scales, unknown } how = adds;
  int weight = 0;
  std::vector<expr> place = {};

  bool none() const { return how != unknown && weight == 0; }
};
const change k_none, k_unknown{change::unknown, 0, {}};

change changed(decltype(change::how) how, int weight, const std::vector<expr>& place) {
  return weight == 0 ? k_none : change{how, weight, place};
}

bool same_place(const change& a, const change& b) {
  return std::equal(a.place.begin(), a.place.end(), b.place.begin(), b.place.end(), same);
}
bool alike(const change& a, const change& b) {
  if (a.none() && b.none()) return true;
  return a.how != change::unknown && a.how == b.how && a.weight == b.weight && same_place(a, b);
}

bool is_zero(const expr& e) { return e->what == kind::number && e->text == "0"; }

class influence {
 public:
  influence(const formula_operator& op, const definition& of) : op_(op), of_(of) {}

  bool reaches_an_output() {
    for (const definition& d : op_.definitions) {
      if (d.name == of_.name) {
        if (op_.find_output(d.name)) return true;
        continue;
      }
      known_.emplace_back(&d, follow(d.value));
      if (op_.find_output(d.name) && !known_.back().second.none()) return true;
    }
    return false;
  }

 private:
  change of_name(const expr& e) const {
    if (e->text == of_.name) return {change::adds, 1, e->args};
    for (const auto& [d, c] : known_) {
      if (d->name != e->text) continue;
      change here = c;
      replacements indices;
      for (size_t i = 0; i < d->indices.size(); ++i) indices.emplace_back(d->indices[i].index, e->args[i]);
      for (expr& subscript : here.place) subscript = substitute(subscript, indices);
      return here;
    }
    return k_none;
  }

  // The sum of a and `sign` times b.
  static change sum_of(const change& a, const change& b, int sign) {
    if (a.none() && b.none()) return k_none;
    if (a.how == change::unknown || b.how == change::unknown) return k_unknown;
    if (a.how == change::scales || b.how == change::scales) return alike(a, b) ? a : k_unknown;
    if (!a.none() && !b.none() && !same_place(a, b)) return k_unknown;
    return changed(change::adds, a.weight + sign * b.weight, a.none() ? b.place : a.place);
  }
  static change product_of(const change& a, const change& b, int sign) {
    const auto scales = [](const change& c) { return c.none() || c.how == change::scales; };
    if (!scales(a) || !scales(b) || (!a.none() && !b.none() && !same_place(a, b))) return k_unknown;
    return changed(change::scales, a.weight + sign * b.weight, a.none() ? b.place : a.place);
  }
  change of_call(const expr& e) const {
    const change a = follow(e->args[0]);
    if (e->args.size() == 2) {
      const change b = follow(e->args[1]);
      if (a.none() && b.none()) return k_none;
      return e->text != "pow" && alike(a, b) ? a : k_unknown;  // min and max
    }
    if (a.none()) return k_none;
    if (e->text == "exp" && a.how == change::adds) return changed(change::scales, a.weight, a.place);
    if (e->text == "log" && a.how == change::scales) return changed(change::adds, a.weight, a.place);
    return k_unknown;
  }
  change of_reduction(const expr& e) const {
    if (e->other && !follow(e->other).none()) return k_unknown;
    const change body = follow(e->args[0]);
    if (body.none()) return k_none;
    for (const expr& subscript : body.place)
      for (const binder& b : e->bound)
        if (mentions(subscript, b.index)) return k_unknown;
    const bool scaled = body.how == change::scales, added = body.how == change::adds;
    if (e->text == "argmax" || e->text == "argmin") return scaled || added ? k_none : k_unknown;
    if (e->text == "sum") return scaled ? body : k_unknown;
    if (e->text == "prod" || e->text == "any" || e->text == "all") return k_unknown;
    return scaled || added ? body : k_unknown;  // mean, max and min
  }

  change follow(const expr& e) const {
    switch (e->what) {
      case kind::number: return k_none;
      case kind::name:
      case kind::at: {
        for (const expr& subscript : e->args)
          if (!follow(subscript).none()) return k_unknown;
        if (e->other && !follow(e->other).none()) return k_unknown;
        const change c = of_name(e);
        // The value outside a tensor does not depend on the element.
        return e->other && !c.none() ? k_unknown : c;
      }
      case kind::call: return of_call(e);
      case kind::reduce: return of_reduction(e);
      case kind::negate: {
        const change a = follow(e->args[0]);
        return a.how == change::adds ? changed(change::adds, -a.weight, a.place) : a;
      }
      case kind::add: return sum_of(follow(e->args[0]), follow(e->args[1]), 1);
      case kind::subtract: return sum_of(follow(e->args[0]), follow(e->args[1]), -1);
      case kind::multiply: return product_of(follow(e->args[0]), follow(e->args[1]), 1);
      case kind::divide: return product_of(follow(e->args[0]), follow(e->args[1]), -1);
      case kind::choose: {
        const change then = follow(e->args[1]), otherwise = follow(e->args[2]);
        if (!follow(e->args[0]).none()) return k_unknown;
        if (is_zero(e->args[2]) && then.how == change::scales) return then;  // 0 is scaled by any factor
        return alike(then, otherwise) ? then : k_unknown;
      }
      case kind::less:
      case kind::less_equal:
      case kind::greater:
      case kind::greater_equal:
      case kind::equal:
      case kind::not_equal: return alike(follow(e->args[0]), follow(e->args[1])) ? k_none : k_unknown;
      default:
        return std::ranges::all_of(e->args, [&](const expr& a) { return follow(a).none(); }) ? k_none : k_unknown;
    }
  }

  const formula_operator& op_;
  const definition& of_;
  std::vector<std::pair<const definition*, change>> known_;
};

}  // namespace

std::set<std::string> definitions_without_influence(const formula_operator& op) {
  std::set<std::string> found;
  for (const definition& d : op.definitions) {
    const bool is_extremum = d.value->what == kind::reduce && (d.value->text == "max" || d.value->text == "min" ||
                                                               d.value->text == "fmax" || d.value->text == "fmin");
    if (is_extremum && !influence(op, d).reaches_an_output()) found.insert(d.name);
  }
  return found;
}

}  // namespace warpcheck::formula
