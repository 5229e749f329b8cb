#include "reference/formula/tree.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "reference/formula/edit_distance.hpp"
#include "reference/formula/parser.hpp"

namespace warpcheck::formula {
namespace {

struct function_info {
  std::string_view name;
  int arguments;
  std::string_view meaning = {};
};
constexpr function_info k_functions[] = {{"exp", 1},
                                         {"log", 1},
                                         {"log1p", 1},
                                         {"expm1", 1},
                                         {"sqrt", 1},
                                         {"rsqrt", 1},
                                         {"tanh", 1},
                                         {"erf", 1},
                                         {"sin", 1},
                                         {"cos", 1},
                                         {"abs", 1},
                                         {"floor", 1},
                                         {"round", 1},
                                         {"pow", 2},
                                         {"min", 2},
                                         {"max", 2},
                                         {"fmin", 2},
                                         {"fmax", 2},
                                         {"sigmoid", 1, "1 / (1 + exp(-x))"},
                                         {"relu", 1, "max(x, 0)"},
                                         {"softplus", 1, "max(x, 0) + log1p(exp(-abs(x)))"},
                                         {"silu", 1, "x / (1 + exp(-x))"}};

const function_info* find_function(std::string_view name) {
  const auto found =
      std::find_if(std::begin(k_functions), std::end(k_functions), [&](const auto& f) { return f.name == name; });
  return found == std::end(k_functions) ? nullptr : found;
}

template <class List>
auto* find_named(const List& list, std::string_view name) {
  const auto found = std::ranges::find_if(list, [&](const auto& one) { return one.name == name; });
  return found == list.end() ? nullptr : &*found;
}

void collect_names(const expr& e, std::vector<std::string>& bound, std::set<std::string>& found) {
  if (!e) return;
  const bool has_name = e->what == kind::name || e->what == kind::at;
  if (has_name && std::ranges::find(bound, e->text) == bound.end()) found.insert(e->text);
  // The scope of a bound index does not include its own extent.
  for (const binder& b : e->bound) collect_names(b.extent, bound, found);
  for (const binder& b : e->bound) bound.push_back(b.index);
  for (const expr& a : e->args) collect_names(a, bound, found);
  collect_names(e->other, bound, found);
  bound.resize(bound.size() - e->bound.size());
}

}  // namespace

expr make(node n) {
  int64_t size = 1;
  for (const expr& a : n.args) size += a->size;
  if (n.other) size += n.other->size;
  for (const binder& b : n.bound)
    if (b.extent) size += b.extent->size;
  if (size > k_most_nodes)
    throw formula_error("formula: it has more than " + std::to_string(k_most_nodes) +
                        " nodes, functions such as silu written out");
  n.size = static_cast<int>(size);
  return std::make_shared<const node>(std::move(n));
}

expr make_number(std::string text) { return make({.what = kind::number, .text = std::move(text)}); }
expr make_number(int64_t value) {
  return value < 0 ? make_unary(kind::negate, make_number(std::to_string(-value))) : make_number(std::to_string(value));
}
expr make_name(std::string name) { return make({.what = kind::name, .text = std::move(name)}); }
expr make_at(std::string tensor, std::vector<expr> subscripts, expr outside) {
  if (subscripts.empty()) return make_name(std::move(tensor));
  return make(
      {.what = kind::at, .text = std::move(tensor), .args = std::move(subscripts), .other = std::move(outside)});
}
expr make_call(std::string function, std::vector<expr> args) {
  return make({.what = kind::call, .text = std::move(function), .args = std::move(args)});
}
expr make_unary(kind what, expr a) { return make({.what = what, .args = {std::move(a)}}); }
expr make_binary(kind what, expr a, expr b) { return make({.what = what, .args = {std::move(a), std::move(b)}}); }
expr make_choice(expr condition, expr then, expr otherwise) {
  return make({.what = kind::choose, .args = {std::move(condition), std::move(then), std::move(otherwise)}});
}
expr make_cast(expr a, number_type type) { return make({.what = kind::cast, .args = {std::move(a)}, .type = type}); }
expr make_reduction(std::string which, std::vector<binder> bound, expr where, expr body) {
  return make({.what = kind::reduce,
               .text = std::move(which),
               .args = {std::move(body)},
               .other = std::move(where),
               .bound = std::move(bound)});
}

bool same(const expr& a, const expr& b) {
  if (a == b) return true;
  if (!a || !b || a->what != b->what || a->size != b->size || a->text != b->text || a->type != b->type) return false;
  const auto same_binder = [](const binder& x, const binder& y) {
    return x.index == y.index && same(x.extent, y.extent);
  };
  return std::equal(a->args.begin(), a->args.end(), b->args.begin(), b->args.end(), same) && same(a->other, b->other) &&
         std::equal(a->bound.begin(), a->bound.end(), b->bound.begin(), b->bound.end(), same_binder);
}

void walk(const expr& e, const std::function<void(const expr&)>& visit) {
  if (!e) return;
  visit(e);
  for (const binder& b : e->bound) walk(b.extent, visit);
  for (const expr& a : e->args) walk(a, visit);
  walk(e->other, visit);
}

expr with_children(const expr& e, const std::function<expr(const expr&)>& change) {
  bool changed = false;
  const auto apply = [&](const expr& a) {
    if (!a) return a;
    expr now = change(a);
    changed = changed || now != a;
    return now;
  };
  node n = *e;
  for (expr& a : n.args) a = apply(a);
  n.other = apply(n.other);
  for (binder& b : n.bound) b.extent = apply(b.extent);
  return changed ? make(std::move(n)) : e;
}

expr substitute(const expr& e, const replacements& names) {
  if (!e) return e;
  if (e->what == kind::name) {
    const auto found = std::ranges::find_if(names, [&](const auto& n) { return n.first == e->text; });
    return found == names.end() ? e : found->second;
  }
  if (e->what != kind::reduce) return with_children(e, [&](const expr& a) { return substitute(a, names); });
  replacements inner;
  for (const auto& n : names)
    if (std::ranges::none_of(e->bound, [&](const binder& b) { return b.index == n.first; })) inner.push_back(n);
  node n = *e;
  for (binder& b : n.bound) b.extent = substitute(b.extent, names);
  n.args[0] = substitute(n.args[0], inner);
  n.other = substitute(n.other, inner);
  return make(std::move(n));
}

std::set<std::string> names_in(const expr& e) {
  std::vector<std::string> bound;
  std::set<std::string> found;
  collect_names(e, bound, found);
  return found;
}

bool mentions(const expr& e, std::string_view name) {
  const std::set<std::string> names = names_in(e);
  return names.find(std::string(name)) != names.end();
}

const tensor* formula_operator::find_input(std::string_view n) const { return find_named(inputs, n); }
const tensor* formula_operator::find_output(std::string_view n) const { return find_named(outputs, n); }
const scalar* formula_operator::find_scalar(std::string_view n) const { return find_named(scalars, n); }
const definition* formula_operator::find_definition(std::string_view n) const { return find_named(definitions, n); }

std::optional<std::vector<expr>> formula_operator::shape_of(std::string_view n) const {
  if (const tensor* t = find_input(n)) return t->shape;
  if (const tensor* t = find_output(n)) return t->shape;
  if (const definition* d = find_definition(n)) return extents_of(*d);
  return std::nullopt;
}

std::vector<expr> formula_operator::extents_of(const definition& d) const {
  if (const tensor* out = find_output(d.name)) return out->shape;
  if (d.extents.size() == d.indices.size()) return d.extents;
  std::vector<expr> extents;
  for (const binder& b : d.indices) extents.push_back(b.extent ? b.extent : inferred_extent(b.index, d.value));
  return extents;
}

expr formula_operator::inferred_extent(std::string_view index, const expr& e) const {
  if (!e) return nullptr;
  if (e->what == kind::at) {
    const auto shape = shape_of(e->text);
    for (size_t i = 0; shape && i < std::min(shape->size(), e->args.size()); ++i)
      if (e->args[i]->what == kind::name && e->args[i]->text == index) return (*shape)[i];
  }
  for (const binder& b : e->bound)
    if (expr found = inferred_extent(index, b.extent)) return found;
  for (const expr& a : e->args)
    if (expr found = inferred_extent(index, a)) return found;
  return inferred_extent(index, e->other);
}

std::vector<std::string> formula_operator::free_extents() const {
  std::vector<std::string> names;
  const auto add = [&](const expr& e) {
    walk(e, [&](const expr& n) {
      if (n->what != kind::name || find_scalar(n->text) || find_named(derived, n->text)) return;
      if (std::ranges::find(names, n->text) == names.end()) names.push_back(n->text);
    });
  };
  for (const tensor& t : inputs)
    for (const expr& e : t.shape) add(e);
  for (const tensor& t : inputs) add(t.of);
  for (const tensor& t : outputs)
    for (const expr& e : t.shape) add(e);
  return names;
}

int arguments_of(std::string_view function) {
  const function_info* const f = find_function(function);
  return f ? f->arguments : 0;
}

namespace {

constexpr std::string_view k_reductions[] = {"sum",  "prod", "mean",   "max",    "min", "fmax",
                                             "fmin", "any",  "argmax", "argmin", "all"};

}  // namespace

bool is_reduction(std::string_view name) {
  return std::find(std::begin(k_reductions), std::end(k_reductions), name) != std::end(k_reductions);
}

std::string_view nearest_function(std::string_view name) {
  constexpr size_t k_long = 5;  // in shorter names two changes leave too little
  size_t best = name.size() < k_long ? 2 : 3;
  std::string_view nearest;
  const auto consider = [&](std::string_view known) {
    const size_t now = edit_distance(name, known);
    if (now < best) best = now, nearest = known;
  };
  for (const function_info& f : k_functions) consider(f.name);
  for (const std::string_view known : k_reductions) consider(known);
  return nearest;
}

expr meaning_of(std::string_view function) {
  const function_info* const f = find_function(function);
  return f && !f->meaning.empty() ? parse_expression(f->meaning) : nullptr;
}

expr expanded(const expr& e) {
  if (!e) return e;
  const expr inside = with_children(e, [](const expr& a) { return expanded(a); });
  if (inside->what != kind::call) return inside;
  const expr meaning = meaning_of(inside->text);
  return meaning ? substitute(meaning, {{"x", inside->args[0]}}) : inside;
}

formula_operator expanded(const formula_operator& op) {
  formula_operator now = with_guards(op);
  for (definition& d : now.definitions) d.value = expanded(d.value);
  return now;
}

bool is_left_out(const expr& at) {
  return at->what == kind::at && at->other && at->other->what == kind::name && at->other->text == "none";
}

namespace {

// `scope` has the indices around e, with their extents.
expr with_guards(const formula_operator& op, const expr& e, std::vector<binder> scope) {
  if (!e) return e;
  for (const binder& b : e->bound) scope.push_back({b.index, b.extent ? b.extent : op.inferred_extent(b.index, e)});
  const expr inside = with_children(e, [&](const expr& a) { return with_guards(op, a, scope); });
  if (inside->what != kind::reduce) return inside;
  node n = *inside;
  const auto require = [&](const expr& condition) {
    n.other = n.other ? make_binary(kind::both, n.other, condition) : condition;
  };
  const std::function<expr(const expr&)> take = [&](const expr& a) -> expr {
    if (!a || !is_left_out(a)) return a ? with_children(a, take) : a;
    const std::vector<expr> shape = *op.shape_of(a->text);
    for (size_t k = 0; k < a->args.size(); ++k) {
      const expr& sub = a->args[k];
      const bool fits = sub->what == kind::name && std::ranges::any_of(scope, [&](const binder& b) {
                          return b.index == sub->text && same(b.extent, shape[k]);
                        });
      if (fits) continue;
      require(make_binary(kind::less_equal, make_number(int64_t{0}), sub));
      require(make_binary(kind::less, sub, shape[k]));
    }
    return make_at(a->text, a->args);
  };
  n.args[0] = take(n.args[0]);
  return make(std::move(n));
}

}  // namespace

formula_operator with_guards(const formula_operator& op) {
  formula_operator now = op;
  for (definition& d : now.definitions) {
    std::vector<binder> scope = d.indices;
    const std::vector<expr> extents = op.extents_of(d);
    for (size_t i = 0; i < scope.size(); ++i) scope[i].extent = extents[i];
    d.value = with_guards(op, d.value, std::move(scope));
  }
  return now;
}

std::string scan_index(const expr& e) {
  if (e->what != kind::reduce || (e->text != "sum" && e->text != "prod") || e->bound.size() != 1 || !e->other ||
      e->other->what < kind::less || e->other->what > kind::greater_equal)
    return "";
  const auto is_term = [&](const expr& side) { return side->what == kind::name && side->text == e->bound[0].index; };
  const expr &left = e->other->args[0], &right = e->other->args[1];
  if (is_term(left) == is_term(right)) return "";
  const expr& end = is_term(left) ? right : left;
  return end->what == kind::name && !mentions(e->args[0], end->text) ? end->text : "";
}

}  // namespace warpcheck::formula
