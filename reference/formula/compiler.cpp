#include "reference/formula/compiler.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "reference/formula/printer.hpp"

namespace warpcheck::formula {
namespace {

constexpr std::pair<std::string_view, function> k_function_names[] = {
    {"exp", function::exp},     {"log", function::log},     {"log1p", function::log1p}, {"expm1", function::expm1},
    {"sqrt", function::sqrt},   {"rsqrt", function::rsqrt}, {"tanh", function::tanh},   {"erf", function::erf},
    {"sin", function::sin},     {"cos", function::cos},     {"abs", function::abs},     {"floor", function::floor},
    {"round", function::round}, {"pow", function::pow},     {"min", function::min},     {"max", function::max},
    {"fmin", function::fmin},   {"fmax", function::fmax}};
constexpr std::pair<std::string_view, reduction> k_reduction_names[] = {
    {"sum", reduction::sum},   {"mean", reduction::mean},     {"prod", reduction::prod},
    {"max", reduction::max},   {"min", reduction::min},       {"fmax", reduction::fmax},
    {"fmin", reduction::fmin}, {"argmax", reduction::argmax}, {"argmin", reduction::argmin}};

template <class Table>
auto named(const Table& table, std::string_view name) {
  for (const auto& [known, what] : table)
    if (known == name) return what;
  throw formula_error("'" + std::string(name) + "' is not evaluated");
}

bool has_division(const expr& e) {
  if (e->what == kind::divide) return true;
  if (e->what == kind::at) return false;  // subscripts
  return std::ranges::any_of(e->args, has_division);
}

bool is_name(const expr& e, std::string_view name) { return e->what == kind::name && e->text == name; }

// The comparison with its sides swapped.
kind mirrored(kind k) {
  switch (k) {
    case kind::less: return kind::greater;
    case kind::less_equal: return kind::greater_equal;
    case kind::greater: return kind::less;
    case kind::greater_equal: return kind::less_equal;
    default: return k;
  }
}

// Both arguments must be affine.
whole_code combined(const whole_code& a, const whole_code& b, int64_t factor) {
  whole_code sum = a;
  sum.base += multiplied(factor, b.base);
  for (const whole_code::term& t : b.terms) {
    const auto found = std::ranges::find_if(sum.terms, [&](const auto& other) { return other.slot == t.slot; });
    if (found == sum.terms.end()) {
      sum.terms.push_back({t.slot, multiplied(factor, t.factor)});
    } else {
      found->factor += multiplied(factor, t.factor);
    }
  }
  std::erase_if(sum.terms, [](const auto& t) { return t.factor == 0; });
  return sum;
}

}  // namespace

void compiler::run() {
  for (const definition& d : p_.op_.definitions) {
    definition_code& made = p_.definitions_.emplace_back();
    made.source = &d;
    made.output = p_.op_.find_output(d.name);
    made.id = static_cast<int>(p_.definitions_.size()) - 1;
    scope_.clear();
    const std::vector<expr> extents = p_.op_.extents_of(d);
    for (size_t i = 0; i < d.indices.size(); ++i) {
      const int64_t size = p_.whole(extents[i]);
      if (size < 0) throw formula_error(d.name + ": an extent is negative");
      made.sizes.push_back(size);
      made.slots.push_back(add_index(d.indices[i].index, size));
      made.elements *= size;
    }
    made.value = value(d.value);
  }
}

const compiler::scope_index* compiler::find_index(const std::string& name) const {
  const auto found = std::ranges::find_if(scope_, [&](const scope_index& i) { return i.name == name; });
  return found == scope_.end() ? nullptr : &*found;
}
int compiler::add_index(const std::string& name, int64_t size) {
  scope_.push_back({name, p_.slots_, size});
  return p_.slots_++;
}
int64_t compiler::extent_of(const binder& b, const expr& e) const {
  const expr extent = b.extent ? b.extent : p_.op_.inferred_extent(b.index, e);
  if (!extent) throw formula_error(b.index + ": the index has no extent");
  return std::max<int64_t>(p_.whole(extent), 0);
}

whole_code compiler::whole(const expr& e) const {
  using form = whole_code::form;
  whole_code w;
  if (e->what == kind::number || e->what == kind::name) {
    if (const scope_index* i = e->what == kind::name ? find_index(e->text) : nullptr) {
      w.terms = {{i->slot, 1}};
      return w;
    }
    if (e->what == kind::name && p_.op_.shape_of(e->text)) return whole_at(e);
    w.base = p_.whole(e);
    return w;
  }
  if (e->what == kind::at) return whole_at(e);
  for (const expr& a : e->args) w.args.push_back(whole(a));
  const bool affine = std::ranges::all_of(w.args, [](const auto& a) { return a.what == form::affine; });
  const whole_code zero;
  if (e->what == kind::negate && affine) return combined(zero, w.args[0], -1);
  if (e->what == kind::add && affine) return combined(w.args[0], w.args[1], 1);
  if (e->what == kind::subtract && affine) return combined(w.args[0], w.args[1], -1);
  if (e->what == kind::multiply && affine && (w.args[0].is_constant() || w.args[1].is_constant())) {
    const bool first = w.args[0].is_constant();
    return combined(zero, w.args[first ? 1 : 0], w.args[first ? 0 : 1].base);
  }
  switch (e->what) {
    case kind::negate: w.what = form::negate; break;
    case kind::add: w.what = form::add; break;
    case kind::subtract: w.what = form::subtract; break;
    case kind::multiply: w.what = form::multiply; break;
    case kind::divide: w.what = form::divide; break;
    case kind::remainder: w.what = form::remainder; break;
    case kind::call: w.what = e->text == "min" ? form::min : form::max; break;
    default: throw formula_error("'" + to_text(e) + "' is not a whole number");
  }
  return w;
}

whole_code compiler::whole_at(const expr& e) const {
  whole_code w;
  for (const expr& a : e->args) w.args.push_back(whole(a));
  if (p_.op_.find_input(e->text)) {
    w.what = whole_code::form::load;
    w.integers = &p_.call_.inputs.find(e->text)->second;
  } else {
    w.what = whole_code::form::chosen;
    w.chosen = p_.find(e->text);
  }
  return w;
}

access compiler::access_of(const std::vector<expr>& subscripts, const std::vector<int64_t>& shape) const {
  access a;
  int64_t stride = 1;
  bool inside = true;
  for (size_t i = subscripts.size(); i-- > 0;) {
    whole_code w = whole(subscripts[i]);
    const scope_index* const lone = subscripts[i]->what == kind::name ? find_index(subscripts[i]->text) : nullptr;
    const bool within = (lone && lone->size <= shape[i]) || (w.is_constant() && w.base >= 0 && w.base < shape[i]);
    inside = inside && within;
    if (w.what == whole_code::form::affine) a.offset = combined(a.offset, w, stride);
    a.checked.push_back({std::move(w), shape[i], stride});
    stride *= shape[i];
  }
  if (inside) a.checked.clear();
  return a;
}

code* compiler::new_code(code::form what) {
  code& c = p_.codes_.emplace_back();
  c.what = what;
  return &c;
}
code* compiler::constant(std::string text) {
  code* const c = new_code(code::form::constant);
  c->text = std::move(text);
  c->constant = static_cast<int>(p_.constants_.size());
  p_.constants_.push_back(c);
  return c;
}
code* compiler::binary(code::form what, const expr& e) {
  code* const c = new_code(what);
  c->args = {value(e->args[0]), value(e->args[1])};
  if (what == code::form::subtract) find_maximum(*c, e->args[0], e->args[1]);
  return c;
}

code* compiler::value(const expr& e) {
  const bool is_leaf = e->what == kind::number || e->what == kind::name || e->what == kind::at;
  if (!is_leaf && e->what != kind::call && is_whole(p_.op_, e) && !has_division(e)) {
    code* const c = new_code(code::form::whole);
    c->whole = whole(e);
    return c;
  }
  switch (e->what) {
    case kind::number: return constant(e->text);
    case kind::name: return value_name(e);
    case kind::at: return value_at(e, e->args);
    case kind::negate: {
      code* const c = new_code(code::form::negate);
      c->args = {value(e->args[0])};
      return c;
    }
    case kind::add: return binary(code::form::add, e);
    case kind::subtract: return binary(code::form::subtract, e);
    case kind::multiply: return binary(code::form::multiply, e);
    case kind::divide: return binary(code::form::divide, e);
    case kind::power: return value_power(e);
    case kind::call: {
      code* const c = new_code(code::form::call);
      c->of = named(k_function_names, e->text);
      for (const expr& a : e->args) c->args.push_back(value(a));
      return c;
    }
    case kind::choose: {
      code* const c = new_code(code::form::choose);
      c->condition = condition(e->args[0]);
      c->args = {value(e->args[1]), value(e->args[2])};
      return c;
    }
    case kind::cast: {
      code* const c = new_code(code::form::cast);
      c->type = e->type;
      c->args = {value(e->args[0])};
      return c;
    }
    case kind::reduce:
      if (e->text != "any" && e->text != "all") return value_reduce(e);
      [[fallthrough]];
    default: {
      code* const c = new_code(code::form::truth);
      c->condition = condition(e);
      return c;
    }
  }
}

code* compiler::value_name(const expr& e) {
  if (p_.op_.shape_of(e->text)) return value_at(e, {});
  if (e->text == "pi")
    return constant(
        "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862"
        "80348253421170679821480865132823066470938446");
  if (e->text == "inf") return constant("inf");
  const scalar* const s = p_.op_.find_scalar(e->text);
  if (!s || s->is_integer) {
    code* const c = new_code(code::form::whole);
    c->whole = whole(e);
    return c;
  }
  code* const c = new_code(code::form::scalar);
  const auto given = p_.call_.scalars.find(s->name);
  c->number = given == p_.call_.scalars.end() ? s->fallback : given->second;
  c->constant = static_cast<int>(p_.constants_.size());
  p_.constants_.push_back(c);
  return c;
}

code* compiler::value_at(const expr& e, const std::vector<expr>& subscripts) {
  const tensor* const input = p_.op_.find_input(e->text);
  if (input && is_integer(input->type) && !e->other) {
    code* const c = new_code(code::form::whole);
    c->whole = whole_at(e);
    return c;
  }
  code* const c = new_code(input ? code::form::load : code::form::define);
  std::vector<int64_t> shape;
  if (input) {
    c->from = &p_.call_.inputs.find(e->text)->second;
    c->from_type = input->type;
    c->from_least = input->range ? input->range->first : -std::numeric_limits<double>::infinity();
    shape = c->from->shape;
  } else {
    c->defined = p_.find(e->text);
    if (!c->defined) throw formula_error(e->text + ": it is used before its definition");
    shape = c->defined->sizes;
  }
  c->place = access_of(subscripts, shape);
  if (e->other) c->outside = value(e->other);
  return c;
}

code* compiler::value_power(const expr& e) {
  const expr& k = e->args[1];
  const bool negative = k->what == kind::negate;
  const expr& size = negative ? k->args[0] : k;
  if (size->what == kind::number && is_whole(p_.op_, size) && std::stoll(size->text) <= 64) {
    code* const c = new_code(code::form::power);
    c->exponent = static_cast<int>(std::stoll(size->text)) * (negative ? -1 : 1);
    c->args = {value(e->args[0])};
    return c;
  }
  code* const c = new_code(code::form::call);
  c->of = function::pow;
  c->args = {value(e->args[0]), value(k)};
  return c;
}

std::unique_ptr<condition_code> compiler::condition(const expr& e) {
  return e ? std::make_unique<condition_code>(condition_of(e)) : nullptr;
}

condition_code compiler::condition_of(const expr& e) {
  using form = condition_code::form;
  condition_code c;
  if (e->what == kind::both || e->what == kind::either || e->what == kind::negation) {
    c.what = e->what == kind::both ? form::both : e->what == kind::either ? form::either : form::negation;
    for (const expr& a : e->args) c.parts.push_back(condition_of(a));
    return c;
  }
  if (e->what >= kind::less && e->what <= kind::not_equal) {
    c.sign = e->what;
    const bool whole_sides = is_whole(p_.op_, e->args[0]) && is_whole(p_.op_, e->args[1]);
    c.what = whole_sides ? form::compare_whole : form::compare;
    for (const expr& a : e->args)
      if (whole_sides) {
        c.whole.push_back(whole(a));
      } else {
        c.values.push_back(value(a));
      }
    return c;
  }
  if (e->what == kind::reduce && (e->text == "any" || e->text == "all")) {
    c.what = e->text == "any" ? form::any : form::all;
    c.range = loop_of(e);
    c.parts.push_back(condition_of(e->args[0]));
    scope_.resize(scope_.size() - e->bound.size());
    return c;
  }
  c.values = {value(e)};
  return c;
}

// The indices of the loop stay in scope for its body.
std::shared_ptr<loop> compiler::loop_of(const expr& e) {
  auto l = std::make_shared<loop>();
  for (const binder& b : e->bound) {
    const int64_t size = extent_of(b, e);
    l->indices.push_back({add_index(b.index, size), size, {}, {}});
  }
  expr rest;
  const std::function<void(const expr&)> take = [&](const expr& part) {
    if (part->what == kind::both) {
      take(part->args[0]);
      take(part->args[1]);
    } else if (!as_limit(part, e->bound, *l)) {
      rest = rest ? make_binary(kind::both, rest, part) : part;
    }
  };
  if (e->other) take(e->other);
  l->where = condition(rest);
  return l;
}

// `k <= j`, where k is an index of the loop and j depends on none of them.
bool compiler::as_limit(const expr& e, const std::vector<binder>& bound, loop& l) const {
  if (e->what < kind::less || e->what > kind::equal) return false;
  for (size_t side = 0; side < 2; ++side) {
    const expr &left = e->args[side], &right = e->args[1 - side];
    for (size_t i = 0; i < bound.size(); ++i) {
      if (!is_name(left, bound[i].index) || !is_whole(p_.op_, right)) continue;
      if (std::ranges::any_of(bound, [&](const binder& b) { return mentions(right, b.index); })) continue;
      whole_code at = whole(right), after = at;
      if (at.what == whole_code::form::affine) {
        ++after.base;
      } else {
        whole_code one;
        one.base = 1;
        after = {};
        after.what = whole_code::form::add;
        after.args = {at, one};
      }
      switch (side == 0 ? e->what : mirrored(e->what)) {
        case kind::less: l.indices[i].below.push_back(std::move(at)); break;
        case kind::less_equal: l.indices[i].below.push_back(std::move(after)); break;
        case kind::greater: l.indices[i].from.push_back(std::move(after)); break;
        case kind::greater_equal: l.indices[i].from.push_back(std::move(at)); break;
        default: l.indices[i].from.push_back(std::move(at)); l.indices[i].below.push_back(std::move(after));
      }
      return true;
    }
  }
  return false;
}

code* compiler::value_reduce(const expr& e) {
  if (code* const scan = scan_of(e)) return scan;
  code* const c = new_code(code::form::reduce);
  c->by = named(k_reduction_names, e->text);
  if ((c->by == reduction::argmax || c->by == reduction::argmin) && e->bound.size() != 1)
    throw formula_error(e->text + ": it reduces over one index");
  c->holds_one = sums_the_maximum(e);
  c->range = loop_of(e);
  c->args = {value(e->args[0])};
  scope_.resize(scope_.size() - e->bound.size());
  find_dot(*c);
  keep_reduction(*c, e);
  return c;
}

// The indices in scope that `e` mentions.
void compiler::find_keys(code& c, const expr& e) const {
  const std::set<std::string> names = names_in(e);
  for (const scope_index& i : scope_)
    if (names.count(i.name)) c.key_slots.push_back(i.slot), c.key_sizes.push_back(i.size);
}

// A sum inside y[r, c] that depends on r alone is evaluated once for each r.
void compiler::keep_reduction(code& c, const expr& e) {
  find_keys(c, e);
  const auto is_long = [](const scope_index& i) { return i.size > 1; };
  const auto all = std::ranges::count_if(scope_, is_long);
  const auto used = std::ranges::count_if(c.key_sizes, [](int64_t size) { return size > 1; });
  if (used < all) c.kept_id = p_.kept_reductions_++;
}

void compiler::find_dot(code& c) const {
  const bool is_sum = c.by == reduction::sum && c.range->indices.size() == 1 && !c.range->where;
  const code& body = *c.args[0];
  if (!is_sum || body.what != code::form::multiply) return;
  for (size_t side = 0; side < 2; ++side) {
    const code& factor = *body.args[side];
    const bool is_narrow = factor.from_type != number_type::f64;
    if (factor.what != code::form::load || !factor.place.checked.empty() || !is_narrow) return;
    for (const whole_code::term& t : factor.place.offset.terms)
      if (t.slot == c.range->indices[0].slot) c.dot_steps[side] = t.factor;
  }
  c.is_dot = true;
}

// `sum(k where k <= j) f(k)`, with f independent of j, is one scan and not n sums.
code* compiler::scan_of(const expr& e) {
  const std::string end = scan_index(e);
  const scope_index* const last = end.empty() ? nullptr : find_index(end);
  if (!last || last->size != extent_of(e->bound[0], e)) return nullptr;
  const std::string& k = e->bound[0].index;
  const bool swapped = is_name(e->other->args[1], k);
  const kind sign = swapped ? mirrored(e->other->what) : e->other->what;
  code* const c = new_code(code::form::scan);
  c->by = named(k_reduction_names, e->text);
  c->scan_slot = last->slot;
  c->scan_id = p_.scans_++;
  c->is_strict = sign == kind::less || sign == kind::greater;
  c->is_backward = sign == kind::greater || sign == kind::greater_equal;
  find_keys(*c, e->args[0]);
  c->range = std::make_shared<loop>();
  c->range->indices.push_back({add_index(k, last->size), last->size, {}, {}});
  c->args = {value(e->args[0])};
  scope_.pop_back();
  return c;
}

maximum_match match_maximum(const formula_operator& op, const expr& x, const expr& top) {
  const bool refers = top->what == kind::at || top->what == kind::name;
  const definition* const d = refers ? op.find_definition(top->text) : nullptr;
  const expr largest = d ? d->value : top;
  if (d && d->type) return {};  // the rounded maximum may be less than x
  if (largest->what != kind::reduce || largest->text != "max") return {};
  replacements names;
  for (size_t i = 0; d && i < d->indices.size(); ++i) names.push_back({d->indices[i].index, top->args[i]});
  const expr body = substitute(largest->args[0], names);
  if (body->what != kind::at || x->what != kind::at || x->text != body->text || x->other || body->other) return {};
  const definition* const values = op.find_definition(x->text);
  if (values && values->type) return {};  // a kernel may take the maximum of values before they are rounded
  replacements at;
  for (size_t i = 0; i < body->args.size(); ++i) {
    const auto is_it = [&](const binder& b) { return is_name(body->args[i], b.index); };
    const auto inside = [&](const binder& b) { return mentions(body->args[i], b.index); };
    if (std::ranges::any_of(largest->bound, is_it))
      at.push_back({body->args[i]->text, x->args[i]});
    else if (std::ranges::any_of(largest->bound, inside) || !same(body->args[i], x->args[i]))
      return {};
  }
  maximum_match m{largest, largest->other, {}};
  for (const binder& b : largest->bound) {
    const auto found = std::ranges::find_if(at, [&](const auto& a) { return a.first == b.index; });
    const auto differs = [&](const auto& a) { return a.first == b.index && !same(a.second, found->second); };
    if (found == at.end() || std::ranges::any_of(at, differs)) return {};
    m.at.push_back(found->second);
  }
  if (m.takes_part) m.takes_part = substitute(substitute(m.takes_part, names), at);
  return m;
}

void compiler::find_maximum(code& difference, const expr& x, const expr& top) {
  const maximum_match m = match_maximum(p_.op_, x, top);
  if (!m.top) return;
  // An index within the extent of the maximum's index takes part in the maximum.
  for (size_t i = 0; i < m.at.size(); ++i) {
    const scope_index* const at = m.at[i]->what == kind::name ? find_index(m.at[i]->text) : nullptr;
    if (!at || at->size > extent_of(m.top->bound[i], m.top)) return;
  }
  difference.below_maximum = true;
  difference.takes_part = condition(m.takes_part);
}

// `sum(c where C) exp(x[c] - top)`, directly or by a definition, with top the maximum over the same c where C.
bool compiler::sums_the_maximum(const expr& e) const {
  if (e->text != "sum") return false;
  expr term = e->args[0];
  if (term->what == kind::at) {
    const definition* const d = p_.op_.find_definition(term->text);
    if (!d || d->type || term->other) return false;
    replacements names;
    for (size_t i = 0; i < d->indices.size(); ++i) names.push_back({d->indices[i].index, term->args[i]});
    term = substitute(d->value, names);
  }
  if (term->what != kind::call || term->text != "exp" || term->args[0]->what != kind::subtract) return false;
  const expr& top = term->args[0]->args[1];
  const maximum_match m = match_maximum(p_.op_, term->args[0]->args[0], top);
  if (!m.top || m.at.size() != e->bound.size() || !same(m.takes_part, e->other)) return false;
  for (const binder& b : e->bound) {
    const auto at = std::ranges::find_if(m.at, [&](const expr& a) { return is_name(a, b.index); });
    if (at == m.at.end() || mentions(top, b.index)) return false;
    if (extent_of(m.top->bound[static_cast<size_t>(at - m.at.begin())], m.top) != extent_of(b, e)) return false;
  }
  return true;
}

}  // namespace warpcheck::formula
