#include "reference/formula/gradient.hpp"

#include <algorithm>
#include <map>

#include "reference/formula/parser.hpp"
#include "reference/formula/printer.hpp"

namespace warpcheck::formula {
namespace {

expr literal(int64_t n) { return make_number(n); }
bool is_number(const expr& e, std::string_view text) { return e->what == kind::number && e->text == text; }

// Arithmetic that leaves out what is trivial.
expr negated(const expr& a) { return a->what == kind::negate ? a->args[0] : make_unary(kind::negate, a); }
expr times(const expr& a, const expr& b) {
  if (is_number(a, "0") || is_number(b, "0")) return literal(0);
  if (is_number(a, "1")) return b;
  if (is_number(b, "1")) return a;
  // What is masked is not computed: 0 times Inf would be NaN.
  if (a->what == kind::choose && is_number(a->args[2], "0"))
    return make_choice(a->args[0], times(a->args[1], b), a->args[2]);
  if (a->what == kind::negate) return negated(times(a->args[0], b));
  if (b->what == kind::negate) return negated(times(a, b->args[0]));
  return make_binary(kind::multiply, a, b);
}
expr over(const expr& a, const expr& b) {
  if (is_number(a, "0") || is_number(b, "1")) return a;
  if (a->what == kind::choose && is_number(a->args[2], "0"))
    return make_choice(a->args[0], over(a->args[1], b), a->args[2]);
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
expr masked(const expr& condition, const expr& g) { return make_choice(condition, g, literal(0)); }
expr both(const expr& a, const expr& b) { return a ? make_binary(kind::both, a, b) : b; }

// The adjoint of a in f(a), where g is that of y = f(a); null where the derivative is 0 everywhere.
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
  if (f == "relu") return masked(make_binary(kind::greater, a, literal(0)), g);
  if (f == "sigmoid") return times(g, times(y, one_minus(y)));
  if (f == "softplus") return times(g, call("sigmoid", a));
  if (f == "silu") {
    const expr s = call("sigmoid", a);
    return times(g, times(s, plus(literal(1), times(a, one_minus(s)))));
  }
  return nullptr;  // floor, round
}

// One place where a value is read, and what it adds to the adjoint of the element that is read: the sum of `adjoint`
// over the indices `bound`, where all `conditions` hold.
struct use {
  std::vector<expr> subscripts;
  expr adjoint;
  std::vector<binder> bound;
  std::vector<expr> conditions;
};

// sub = rest + sign * index, with neither sign * index nor the index in the rest; none where sub is not of this form.
struct linear {
  expr rest, factor;  // sub = rest + factor * index
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
      claim("d_" + t.name, t.where);
    }
    for (size_t i = forward_.definitions.size(); i-- > 0;)
      if (variables_.count(forward_.definitions[i].name)) backward(i);
    for (const tensor& t : op_.inputs) {
      if (is_integer(t.type)) continue;
      claim("d_" + t.name, t.where);
      result_.outputs.push_back({"d_" + t.name, t.shape, t.type});
      adjoints_.push_back(collected("d_" + t.name, t.name, t.shape, {}));
    }
    finish();
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(const expr& e, const std::string& what) const {
    throw formula_error("gradient of " + op_.name + ": no rule for " + what + " in '" + to_text(e) + "'");
  }
  void claim(const std::string& name, position where) {
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
    return std::any_of(names.begin(), names.end(), [&](const std::string& n) { return variables_.count(n) > 0; });
  }

  // The forward pass, with each inner reduction a definition of its own, so that its value has a name.

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
    if (uses != uses_.end()) {
      const std::string name = fresh(output ? "d_" + d.name + "_total" : "d_" + d.name);
      definition total = collected(name, d.name, d.extents, d.indices);
      if (output) total.value = plus(seed, total.value);
      adjoints_.push_back(total);
      seed = make_at(name, indices);
    }
    self_ = make_at(d.name, indices);
    definition_ = &d;
    back(d.value, seed, d.indices, {});
  }

  // Adds to uses_ what `g`, the adjoint of e, gives for each value that e reads.
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
      case kind::choose:
        go(e->args[1], masked(e->args[0], g));
        return go(e->args[2], make_choice(e->args[0], literal(0), g));
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
      back(a, masked(first, g), bound, conditions);
      return back(e->args[1], make_choice(first, literal(0), g), bound, conditions);
    }
    if (const expr adjoint = through(f, g, a, y)) back(a, adjoint, bound, conditions);
  }

  // Reductions stand at the top of a definition alone: lift() has seen to it.
  void back_reduction(const expr& e, expr g, std::vector<binder> bound, std::vector<expr> conditions) {
    const std::string& which = e->text;
    bound.insert(bound.end(), e->bound.begin(), e->bound.end());
    if (e->other) conditions.push_back(e->other);
    if (which == "max" || which == "min" || which == "fmax" || which == "fmin") {
      g = over(g, ties(e));
      g = masked(make_binary(kind::equal, e->args[0], self_), g);
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
    const expr one = masked(make_binary(kind::equal, e->args[0], self_), literal(1));
    // The one element that a condition other than this one fixes needs no count; it is counted all the same.
    return added_definition(
        "_ties", make_reduction("sum", e->bound, e->other, make_choice(one->args[0], literal(1), literal(0))));
  }
  expr terms(const expr& e) {
    if (e->other) return added_definition("_terms", make_reduction("sum", e->bound, e->other, literal(1)));
    expr count = literal(1);
    for (const binder& b : e->bound) count = times(count, b.extent);
    return count;
  }
  // The product of all factors but that of these indices.
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

  // Sums up the uses of a value. Its indices are those of `like`, or those with which it is read first.
  definition collected(const std::string& name, const std::string& of, const std::vector<expr>& shape,
                       const std::vector<binder>& like) {
    definition d;
    d.name = name;
    d.extents = shape;
    const std::vector<use>& uses = uses_[of];
    for (size_t i = 0; i < shape.size(); ++i) {
      std::string index = like.empty() ? "" : like[i].index;
      for (const use& u : uses)
        if (index.empty() && bound_index(u, i, shape[i])) index = u.subscripts[i]->text;
      const auto same_index = [&](const binder& b) { return b.index == index; };
      if (index.empty() || std::any_of(d.indices.begin(), d.indices.end(), same_index))
        index = fresh("t" + std::to_string(i));
      d.indices.push_back({index, shape[i]});
    }
    d.value = literal(0);
    for (const use& u : uses) d.value = plus(d.value, collected_use(u, d.indices));
    return d;
  }

  // Whether subscript i of the use is one of its bound indices alone, which runs over the whole extent.
  static bool bound_index(const use& u, size_t i, const expr& extent) {
    const expr& sub = u.subscripts[i];
    return sub->what == kind::name && std::any_of(u.bound.begin(), u.bound.end(), [&](const binder& b) {
             return b.index == sub->text && same(b.extent, extent);
           });
  }

  expr collected_use(const use& from, const std::vector<binder>& target) {
    use u = from;
    rename_bound(u);
    // Each dimension either is one of the bound indices, or fixes one, or is a condition.
    for (size_t i = 0; i < target.size(); ++i) {
      const expr sub = u.subscripts[i], here = make_name(target[i].index);
      if (bound_index(u, i, target[i].extent)) {
        eliminate(u, sub->text, here);
      } else if (!solve(u, sub, here)) {
        u.conditions.push_back(make_binary(kind::equal, sub, here));
      }
    }
    expr where;
    for (const expr& c : u.conditions) where = both(where, c);
    restore_names(u, where, target);
    if (!u.bound.empty()) return make_reduction("sum", u.bound, where, u.adjoint);
    return where ? masked(where, u.adjoint) : u.adjoint;
  }

  static void substitute_all(use& u, const replacements& names) {
    for (expr& s : u.subscripts) s = substitute(s, names);
    u.adjoint = substitute(u.adjoint, names);
    for (expr& c : u.conditions) c = substitute(c, names);
  }
  // Temporary names that no formula can hold, so that nothing is captured.
  static void rename_bound(use& u) {
    replacements renamed;
    for (binder& b : u.bound) {
      renamed.emplace_back(b.index, make_name("#" + b.index));
      b.index = "#" + b.index;
    }
    substitute_all(u, renamed);
  }
  void restore_names(use& u, expr& where, const std::vector<binder>& target) {
    replacements restored;
    for (binder& b : u.bound) {
      std::string index = b.index.substr(1);
      const auto same_index = [&](const binder& t) { return t.index == index; };
      if (std::any_of(target.begin(), target.end(), same_index)) index = fresh(index);
      restored.emplace_back(b.index, make_name(index));
      b.index = index;
    }
    substitute_all(u, restored);
    where = substitute(where, restored);
  }
  static void eliminate(use& u, const std::string& index, const expr& value) {
    u.bound.erase(std::find_if(u.bound.begin(), u.bound.end(), [&](const binder& b) { return b.index == index; }));
    substitute_all(u, {{index, value}});
  }
  // Where sub = rest + factor * index, fixes the index: it is (here - rest) / factor, where that is whole and legal.
  static bool solve(use& u, const expr& sub, const expr& here) {
    for (const binder& b : std::vector<binder>(u.bound)) {
      const auto form = mentions(sub, b.index) ? split_index(sub, b.index) : std::nullopt;
      if (!form) continue;
      const expr numerator = minus(here, form->rest), value = over(numerator, form->factor);
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

  // Puts the definitions in order, leaves out those that nothing uses, and extents that can be inferred.
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
  const definition* definition_ = nullptr;  // whose value is differentiated
  expr self_;                               // its name, with its indices
};

}  // namespace

formula_operator gradient(const formula_operator& op) { return differentiation(op).run(); }

}  // namespace warpcheck::formula
