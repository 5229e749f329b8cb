#include "reference/formula/gradient.hpp"

#include <algorithm>
#include <map>

#include "reference/formula/gradient_arithmetic.hpp"
#include "reference/formula/gradient_inlining.hpp"
#include "reference/formula/gradient_uses.hpp"
#include "reference/formula/parser.hpp"
#include "reference/formula/printer.hpp"

namespace warpcheck::formula {
namespace {

using namespace derivation;

// The adjoint of a in y = f(a), given g, the adjoint of y; null if the derivative is 0 everywhere.
expr through(const std::string& f, const expr& g, const expr& a, const expr& y) {
  if (f == "exp") return times(g, y);
  if (f == "log") return over(g, a);
  if (f == "log1p") return over(g, plus(literal(1), a));
  if (f == "expm1") return times(g, call("exp", a));
  if (f == "sqrt") return over(g, times(literal(2), y));
  if (f == "rsqrt") return negated(over(times(g, y), times(literal(2), a)));
  if (f == "tanh") return times(g, one_minus(squared(y)));
  if (f == "erf")
    return times(g, times(over(literal(2), call("sqrt", make_name("pi"))), call("exp", negated(squared(a)))));
  if (f == "sin") return times(g, call("cos", a));
  if (f == "cos") return negated(times(g, call("sin", a)));
  if (f == "abs")
    return make_choice(make_binary(kind::greater, a, literal(0)), g,
                       masked(make_binary(kind::less, a, literal(0)), negated(g)));
  if (f == "sigmoid") return times(g, times(y, one_minus(y)));
  if (f == "softplus") return times(g, call("sigmoid", a));
  if (f == "silu") {
    const expr s = call("sigmoid", a);
    return times(g, times(s, plus(literal(1), times(a, one_minus(s)))));
  }
  return nullptr;  // floor, round
}

class differentiation {
 public:
  explicit differentiation(const formula_operator& op) : op_(op) {
    result_.name = op.name + "_gradient";
    result_.inputs = op.inputs;
    result_.scalars = op.scalars;
    result_.derived = op.derived;
    result_.contract = op.contract;
    result_.parameters = op.parameters;
    for (const auto* list : {&op.inputs, &op.outputs})
      for (const tensor& t : *list) taken_.insert(t.name);
    for (const scalar& s : op.scalars) taken_.insert(s.name);
    for (const derived_extent& d : op.derived) taken_.insert(d.name);
    for (const std::string& e : op.free_extents()) taken_.insert(e);
    for (const definition& d : op.definitions) {
      taken_.insert(d.name);
      for (const binder& b : d.indices) taken_.insert(b.index);
      walk(d.value, [&](const expr& e) {
        for (const binder& b : e->bound) taken_.insert(b.index);
      });
    }
    // The forward pass: its definitions are added one by one, so that shapes are known.
    forward_.name = op.name;
    forward_.inputs = op.inputs, forward_.outputs = op.outputs, forward_.scalars = op.scalars;
    forward_.derived = op.derived;
  }

  formula_operator run() {
    for (const tensor& t : op_.inputs)
      if (!is_integer(t.type)) variables_.insert(t.name);
    for (const definition& d : op_.definitions) add_forward(d);
    for (const std::string& name : definitions_without_influence(forward_)) variables_.erase(name);
    for (const tensor& t : op_.outputs) {
      if (!variables_.count(t.name)) continue;
      result_.inputs.push_back({"d_" + t.name, t.shape, t.type});
      result_.parameters.push_back("d_" + t.name);
      reserve_name("d_" + t.name, t.where);
    }
    for (size_t i = forward_.definitions.size(); i-- > 0;)
      if (variables_.count(forward_.definitions[i].name)) backward(i);
    for (const tensor& t : op_.inputs) {
      if (is_integer(t.type)) continue;
      reserve_name("d_" + t.name, t.where);
      result_.outputs.push_back({"d_" + t.name, t.shape, t.type});
      adjoints_.push_back(collected("d_" + t.name, t.name, t.shape, {}, nullptr));
    }
    finish();
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(const expr& e, const std::string& what) const {
    throw formula_error("gradient of " + op_.name + ": no rule for " + what + " in '" + to_text(e) + "'");
  }
  void reserve_name(const std::string& name, position where) {
    if (!taken_.insert(name).second)
      throw formula_error("gradient of " + op_.name + ": line " + std::to_string(where.line) + ": the name '" + name +
                          "' is used; rename it, for the adjoints are called d_NAME");
  }
  std::string fresh(const std::string& stem) {
    std::string name = stem;
    for (int n = 2; !taken_.insert(name).second; ++n) name = stem + std::to_string(n);
    return name;
  }
  bool is_variable(const expr& e) const {
    const std::set<std::string> names = names_in(e);
    return std::ranges::any_of(names, [&](const std::string& n) { return variables_.count(n) > 0; });
  }

  // The forward pass, in which each inner reduction becomes a definition of its own, so that its value has a name.

  using scope = std::vector<binder>;

  expr lift(const expr& e, const scope& around, const std::string& stem, bool outermost) {
    if (!e || (e->what != kind::reduce && e->args.empty())) return e;
    if (e->what != kind::reduce) return with_children(e, [&](const expr& a) { return lift(a, around, stem, false); });
    node n = *e;
    scope inside = around;
    for (binder& b : n.bound) {
      if (!b.extent) b.extent = forward_.inferred_extent(b.index, e);
      inside.push_back(b);
    }
    n.args[0] = lift(n.args[0], inside, stem, false);
    n.other = lift(n.other, inside, stem, false);
    const expr whole = make(std::move(n));
    if (outermost || !is_variable(whole)) return whole;
    definition d;
    d.name = fresh(stem + "_" + whole->text);
    const std::set<std::string> names = names_in(whole);
    std::vector<expr> subscripts;
    for (const binder& b : around) {
      if (!names.count(b.index)) continue;
      d.indices.push_back(b);
      d.extents.push_back(b.extent);
      subscripts.push_back(make_name(b.index));
    }
    d.value = whole;
    variables_.insert(d.name);
    forward_.definitions.push_back(d);
    return make_at(d.name, subscripts);
  }

  void add_forward(definition d) {
    d.extents = op_.extents_of(d);
    for (size_t i = 0; i < d.indices.size(); ++i) d.indices[i].extent = d.extents[i];
    d.value = lift(d.value, d.indices, d.name, true);
    const bool selects = d.value->what == kind::reduce && (d.value->text == "argmax" || d.value->text == "argmin" ||
                                                           d.value->text == "any" || d.value->text == "all");
    if (is_variable(d.value) && !selects) variables_.insert(d.name);
    forward_.definitions.push_back(std::move(d));
  }

  // The backward pass.

  void backward(size_t at) {
    const definition& d = forward_.definitions[at];
    const tensor* const output = forward_.find_output(d.name);
    const auto uses = uses_.find(d.name);
    std::vector<expr> indices;
    for (const binder& b : d.indices) indices.push_back(make_name(b.index));
    expr seed = output ? make_at("d_" + d.name, indices) : nullptr;
    if (!output && uses == uses_.end()) return;  // nothing depends on it
    std::vector<expr> conditions;                // elements where they fail have no influence, and may be NaN
    if (uses != uses_.end()) {
      const std::string name = fresh(output ? "d_" + d.name + "_total" : "d_" + d.name);
      definition total = collected(name, d.name, d.extents, d.indices, output ? nullptr : &conditions);
      if (output) total.value = plus(seed, total.value);
      adjoints_.push_back(total);
      seed = make_at(name, indices);
    }
    self_ = make_at(d.name, indices);
    definition_ = &d;
    back(d.value, seed, d.indices, conditions);
  }

  // Adds to uses_ the terms that `g`, the adjoint of e, contributes to each value that e reads.
  void back(const expr& e, const expr& g, const std::vector<binder>& bound, const std::vector<expr>& conditions) {
    if (!is_variable(e)) return;
    const auto go = [&](const expr& a, const expr& adjoint) { back(a, adjoint, bound, conditions); };
    const expr y = e == definition_->value && !definition_->type ? self_ : e;
    switch (e->what) {
      case kind::name:
      case kind::at:
        if (e->other && is_variable(e->other)) refuse(e, "a variable value outside of a tensor");
        uses_[e->text].push_back({e->args, g, bound, conditions});
        return;
      case kind::negate: return go(e->args[0], negated(g));
      case kind::add: go(e->args[0], g); return go(e->args[1], g);
      case kind::subtract: go(e->args[0], g); return go(e->args[1], negated(g));
      case kind::multiply: go(e->args[0], times(g, e->args[1])); return go(e->args[1], times(g, e->args[0]));
      case kind::divide:
        go(e->args[0], over(g, e->args[1]));
        return go(e->args[1], negated(over(times(g, y), e->args[1])));
      case kind::power: return back_power(e, g, y, bound, conditions);
      case kind::cast: return go(e->args[0], g);
      case kind::choose: return back_choice(e->args[0], e->args[1], e->args[2], g, bound, conditions);
      case kind::call: return back_call(e, g, y, bound, conditions);
      case kind::reduce: return back_reduction(e, g, bound, conditions);
      default: refuse(e, "this operation");
    }
  }

  void back_power(const expr& e, const expr& g, const expr& y, const std::vector<binder>& bound,
                  const std::vector<expr>& conditions) {
    const expr &a = e->args[0], &k = e->args[1];
    const bool whole = k->what == kind::number && is_whole(op_, k);
    const int64_t n = whole ? std::stoll(k->text) : 0;
    if (whole && n == 0) return;
    const expr less = whole ? literal(n - 1) : minus(k, literal(1));
    const expr rest = !whole   ? make_call("pow", {a, less})
                      : n == 1 ? literal(1)
                      : n == 2 ? a
                               : make_binary(kind::power, a, less);
    back(a, times(g, times(k, rest)), bound, conditions);
    back(k, times(g, times(y, call("log", a))), bound, conditions);
  }

  void back_choice(const expr& condition, const expr& then, const expr& otherwise, const expr& g,
                   const std::vector<binder>& bound, const std::vector<expr>& conditions) {
    std::vector<expr> holds = conditions, fails = conditions;
    add_condition(holds, condition);
    add_condition(fails, opposite(op_, condition));
    back(then, g, bound, holds);
    back(otherwise, g, bound, fails);
  }

  void back_call(const expr& e, const expr& g, const expr& y, const std::vector<binder>& bound,
                 const std::vector<expr>& conditions) {
    const std::string& f = e->text;
    const expr& a = e->args[0];
    if (f == "pow") {
      const expr& b = e->args[1];
      back(a, times(g, times(b, make_call("pow", {a, minus(b, literal(1))}))), bound, conditions);
      return back(b, times(g, times(y, call("log", a))), bound, conditions);
    }
    if (e->args.size() == 2) {
      const bool most = f == "max" || f == "fmax";
      const expr first = make_binary(most ? kind::greater_equal : kind::less_equal, a, e->args[1]);
      return back_choice(first, a, e->args[1], g, bound, conditions);
    }
    if (f == "relu") return back_choice(make_binary(kind::greater, a, literal(0)), a, literal(0), g, bound, conditions);
    if (const expr adjoint = through(f, g, a, y)) back(a, adjoint, bound, conditions);
  }

  // lift() has moved every reduction to the top of a definition.
  void back_reduction(const expr& e, expr g, std::vector<binder> bound, std::vector<expr> conditions) {
    const std::string& which = e->text;
    bound.insert(bound.end(), e->bound.begin(), e->bound.end());
    if (e->other) add_condition(conditions, e->other);
    if (which == "max" || which == "min" || which == "fmax" || which == "fmin") {
      g = over(g, ties(e));
      add_condition(conditions, make_binary(kind::equal, e->args[0], self_));
    } else if (which == "mean") {
      g = over(g, terms(e));
    } else if (which == "prod") {
      g = times(g, other_factors(e));
    } else if (which != "sum") {
      refuse(e, which);
    }
    back(e->args[0], g, bound, conditions);
  }

  expr added_definition(const std::string& stem, expr value) {
    definition d;
    d.name = fresh(definition_->name + stem);
    d.indices = definition_->indices;
    d.extents = definition_->extents;
    d.value = std::move(value);
    added_[definition_->name].push_back(d);
    return make_at(d.name, self_->args);
  }
  // How many elements attain the maximum.
  expr ties(const expr& e) {
    const expr attains = make_binary(kind::equal, e->args[0], self_);
    return added_definition("_ties", make_reduction("sum", e->bound, both(e->other, attains), literal(1)));
  }
  expr terms(const expr& e) {
    if (e->other) return added_definition("_terms", make_reduction("sum", e->bound, e->other, literal(1)));
    expr count = literal(1);
    for (const binder& b : e->bound) count = times(count, b.extent);
    return count;
  }
  // The product of all factors except those of these indices.
  expr other_factors(const expr& e) {
    replacements renamed;
    std::vector<binder> others = e->bound;
    expr differs;
    for (binder& b : others) {
      const std::string index = fresh(b.index);
      const expr one = make_binary(kind::not_equal, make_name(index), make_name(b.index));
      differs = differs ? make_binary(kind::either, differs, one) : one;
      renamed.emplace_back(b.index, make_name(index));
      b.index = index;
    }
    const expr where = e->other ? both(substitute(e->other, renamed), differs) : differs;
    return make_reduction("prod", others, where, substitute(e->args[0], renamed));
  }

  // Sums the uses of a value. Its indices are those of `like`, or those of its first use. If `common` can hold them,
  // conditions that all uses share are moved there.
  definition collected(const std::string& name, const std::string& of, const std::vector<expr>& shape,
                       const std::vector<binder>& like, std::vector<expr>* common) {
    definition d;
    d.name = name;
    d.extents = shape;
    std::vector<use> uses = uses_[of];
    for (size_t i = 0; i < shape.size(); ++i) {
      std::string index = like.empty() ? "" : like[i].index;
      for (const use& u : uses)
        if (index.empty() && is_bound_index(u, i, shape[i])) index = u.subscripts[i]->text;
      const auto same_index = [&](const binder& b) { return b.index == index; };
      if (index.empty() || std::ranges::any_of(d.indices, same_index)) index = fresh("t" + std::to_string(i));
      d.indices.push_back({index, shape[i]});
    }
    for (use& u : uses) u = placed(u, d.indices, [&](const std::string& stem) { return fresh(stem); });
    if (common) *common = take_common_conditions(uses);
    d.value = total_of(op_, std::move(uses));
    return d;
  }

  // Orders the definitions, and removes unused ones and extents that can be inferred.
  void finish() {
    std::vector<definition> all;
    for (const definition& d : forward_.definitions) {
      all.push_back(d);
      for (const definition& more : added_[d.name]) all.push_back(more);
    }
    all.insert(all.end(), adjoints_.begin(), adjoints_.end());
    std::set<std::string> used;
    for (const tensor& t : result_.outputs) used.insert(t.name);
    for (size_t i = all.size(); i-- > 0;) {
      if (!used.count(all[i].name)) {
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
        continue;
      }
      for (const std::string& n : names_in(all[i].value)) used.insert(n);
    }
    inline_definitions(result_, all);
    for (definition& d : all) {
      d.comments.clear();
      result_.definitions.push_back(d);
      definition& now = result_.definitions.back();
      now.value = without_extents(now.value);
      for (size_t i = 0; i < now.indices.size(); ++i) {
        const expr inferred = result_.inferred_extent(now.indices[i].index, now.value);
        if (result_.find_output(now.name) || (inferred && same(inferred, now.indices[i].extent)))
          now.indices[i].extent = nullptr;
      }
      now.extents.clear();
    }
    check(result_, result_.name);
  }
  expr without_extents(const expr& e) {
    if (!e) return e;
    const expr inside = with_children(e, [&](const expr& a) { return without_extents(a); });
    if (inside->what != kind::reduce) return inside;
    node n = *inside;
    for (binder& b : n.bound) {
      const expr inferred = result_.inferred_extent(b.index, inside);
      if (inferred && same(inferred, b.extent)) b.extent = nullptr;
    }
    return make(std::move(n));
  }

  const formula_operator& op_;
  formula_operator forward_, result_;
  std::set<std::string> taken_, variables_;
  std::map<std::string, std::vector<use>> uses_;
  std::map<std::string, std::vector<definition>> added_;  // after the definition of this name
  std::vector<definition> adjoints_;
  const definition* definition_ = nullptr;  // the definition whose value is differentiated
  expr self_;                               // its name, with its indices
};

}  // namespace

formula_operator gradient(const formula_operator& op) {
  const formula_operator guarded = with_guards(op);
  return differentiation(guarded).run();
}

}  // namespace warpcheck::formula
