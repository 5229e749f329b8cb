#include "properties/formula/formula_structure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "reference/formula/printer.hpp"

namespace warpcheck::formula_trial {

using formula::expr, formula::formula_operator, formula::kind;

namespace {

constexpr size_t k_most_accesses = 20000;
constexpr char k_fresh = '#';  // is in the names of bound indices, of which each is made anew

struct access {
  std::string tensor;
  std::vector<expr> subscripts;
  std::vector<expr> conditions;
};

bool mentions_any(const expr& e, const std::set<std::string>& names) {
  const std::set<std::string> own = formula::names_in(e);
  return std::ranges::any_of(own, [&](const std::string& n) { return names.count(n) > 0; });
}

// Lists every element of an input that an expression may read, with definitions inlined.
class inliner {
 public:
  explicit inliner(const formula_operator& op) : op_(op) {}

  void add(const expr& e, const std::vector<expr>& conditions) {
    if (!e || found.size() > k_most_accesses) return;
    if ((e->what == kind::at || e->what == kind::name) && op_.shape_of(e->text)) return add_element(e, conditions);
    if (e->what == kind::name) {
      value_names.insert(e->text);
    } else if (e->what == kind::choose) {
      const std::vector<expr>& a = e->args;
      add(a[0], conditions);
      add(a[1], with(conditions, a[0]));
      add(a[2], with(conditions, formula::make_unary(kind::negation, a[0])));
    } else if (e->what == kind::reduce) {
      add_reduction(e, conditions);
    } else {
      for (const expr& a : e->args) add(a, conditions);
      add(e->other, conditions);
    }
  }

  std::vector<access> found;
  std::set<std::string> value_names;  // indices and extents whose values are numbers of the formula

 private:
  static std::vector<expr> with(std::vector<expr> conditions, const expr& more) {
    conditions.push_back(more);
    return conditions;
  }

  void add_element(const expr& e, const std::vector<expr>& conditions) {
    for (const expr& s : e->args) add_subscript(s, conditions);
    add(e->other, conditions);
    const formula::definition* const d = op_.find_definition(e->text);
    if (!d) {
      found.push_back({e->text, e->args, conditions});
      return;
    }
    formula::replacements names;
    for (size_t i = 0; i < d->indices.size(); ++i) names.emplace_back(d->indices[i].index, e->args[i]);
    add(formula::substitute(d->value, names), conditions);
  }

  // Elements that a subscript reads; its indices are no values.
  void add_subscript(const expr& s, const std::vector<expr>& conditions) {
    const std::set<std::string> before = value_names;
    add(s, conditions);
    value_names = before;
  }

  void add_reduction(const expr& e, const std::vector<expr>& conditions) {
    formula::replacements names;
    for (const formula::binder& b : e->bound)
      names.emplace_back(b.index, formula::make_name(fmt::format("{}{}{}", b.index, k_fresh, ++fresh_)));
    const expr where = e->other ? formula::substitute(e->other, names) : nullptr;
    add(formula::substitute(e->args[0], names), where ? with(conditions, where) : conditions);
    if (where) add(where, conditions);
    // Which one is the largest is a value.
    if (e->text == "argmax" || e->text == "argmin") value_names.insert(e->bound[0].index);
  }

  const formula_operator& op_;
  int fresh_ = 0;
};

void flatten(const expr& condition, std::vector<expr>& into) {
  if (condition->what != kind::both) return into.push_back(condition);
  for (const expr& a : condition->args) flatten(a, into);
}

// The range in which a comparison with an index of the output keeps a bound index, or `all`.
dimension_reading limited(const std::string& name, const std::vector<expr>& conditions,
                          const std::set<std::string>& indices) {
  std::vector<expr> flat;
  for (const expr& c : conditions) flatten(c, flat);
  for (const expr& c : flat) {
    const bool below = c->what == kind::less || c->what == kind::less_equal;
    const bool above = c->what == kind::greater || c->what == kind::greater_equal;
    if (!below && !above) continue;
    const expr &a = c->args[0], &b = c->args[1];
    if (a->what != kind::name || b->what != kind::name) continue;
    if (a->text == name && indices.count(b->text)) return {below ? reading::up_to : reading::from, b->text};
    if (b->text == name && indices.count(a->text)) return {below ? reading::from : reading::up_to, a->text};
  }
  return {reading::all, ""};
}

dimension_reading reading_of(const expr& subscript, const std::vector<expr>& conditions,
                             const std::set<std::string>& indices) {
  if (subscript->what == kind::number) return {reading::fixed, ""};
  if (subscript->what == kind::name) {
    if (indices.count(subscript->text)) return {reading::same, subscript->text};
    return limited(subscript->text, conditions, indices);
  }
  bool gathers = false;
  formula::walk(subscript, [&](const expr& e) { gathers |= e->what == kind::at || e->what == kind::reduce; });
  if (gathers) return {reading::gathered, ""};
  return {mentions_any(subscript, indices) ? reading::window : reading::all, ""};
}

dimension_reading weaker(const dimension_reading& a, const dimension_reading& b) {
  if (a.how == reading::nothing || (a.how == b.how && a.index == b.index)) return b;
  const auto is_limited = [](const dimension_reading& r, reading how) {
    return r.how == how || r.how == reading::same;
  };
  for (const reading how : {reading::up_to, reading::from})
    if (is_limited(a, how) && is_limited(b, how) && a.index == b.index) return {how, a.index};
  return {reading::all, ""};
}

struct output_study {
  const formula::tensor* output = nullptr;
  const formula::definition* value = nullptr;
  std::set<std::string> indices;
  std::vector<access> found;
  std::set<std::string> value_names;
  std::vector<access_summary> summaries;
};

output_study study_output(const formula_operator& op, const formula::tensor& output) {
  output_study s;
  s.output = &output;
  s.value = op.find_definition(output.name);
  for (const formula::binder& b : s.value->indices) s.indices.insert(b.index);
  inliner all(op);
  all.add(s.value->value, {});
  s.found = std::move(all.found);
  s.value_names = std::move(all.value_names);
  for (const access& a : s.found) {
    auto at = std::ranges::find_if(s.summaries, [&](const access_summary& y) { return y.input == a.tensor; });
    if (at == s.summaries.end()) {
      s.summaries.push_back({output.name, a.tensor, std::vector<dimension_reading>(a.subscripts.size())});
      at = std::prev(s.summaries.end());
    }
    for (size_t k = 0; k < a.subscripts.size(); ++k)
      at->dimensions[k] = weaker(at->dimensions[k], reading_of(a.subscripts[k], a.conditions, s.indices));
  }
  return s;
}

bool is_extent(const expr& e, const std::string& name) { return e->what == kind::name && e->text == name; }

// A subscript uses an index other than alone, and other than as the subscript of a list that it reads.
bool is_in_arithmetic(const expr& subscript, const std::string& index) {
  if (subscript->what == kind::name || subscript->what == kind::at) return false;
  if (subscript->what == kind::reduce) return formula::mentions(subscript, index);
  return std::ranges::any_of(subscript->args,
                             [&](const expr& a) { return is_extent(a, index) || is_in_arithmetic(a, index); });
}

// True if slices of the extent are independent in this output.
bool is_batch(const formula_operator& op, const output_study& s, const std::string& extent) {
  std::string index;
  for (size_t k = 0; k < s.output->shape.size(); ++k) {
    if (!is_extent(s.output->shape[k], extent)) {
      if (formula::mentions(s.output->shape[k], extent)) return false;
    } else if (!index.empty()) {
      return false;
    } else {
      index = s.value->indices[k].index;
    }
  }
  bool is_used = false;
  for (const access_summary& a : s.summaries) {
    const std::vector<expr> shape = *op.shape_of(a.input);
    for (size_t k = 0; k < shape.size(); ++k) {
      if (!formula::mentions(shape[k], extent)) continue;
      if (index.empty() || !is_extent(shape[k], extent)) return false;
      if (a.dimensions[k].how != reading::same || a.dimensions[k].index != index) return false;
      is_used = true;
    }
  }
  if (index.empty()) return true;
  const bool is_loose = std::ranges::any_of(s.found, [&](const access& a) {
    const auto has = [&](const expr& e) { return formula::mentions(e, index); };
    return std::ranges::any_of(a.conditions, has) ||
           std::ranges::any_of(a.subscripts, [&](const expr& e) { return is_in_arithmetic(e, index); });
  });
  return is_used && !is_loose && !s.value_names.count(index) && !s.value_names.count(extent);
}

void find_batch(const formula_operator& op, const std::vector<output_study>& all, formula_structure& s) {
  for (const std::string& extent : op.free_extents()) {
    const bool is_a_dimension = std::ranges::any_of(op.outputs, [&](const formula::tensor& t) {
      return std::ranges::any_of(t.shape, [&](const expr& e) { return is_extent(e, extent); });
    });
    const bool is_listed = std::ranges::any_of(
        op.inputs, [&](const formula::tensor& t) { return t.of && formula::mentions(t.of, extent); });
    // A length that a formula divides by, or ends a loop with, is a value.
    const bool is_a_value =
        std::ranges::any_of(all, [&](const output_study& o) { return o.value_names.count(extent) > 0; });
    if (is_a_dimension && !is_listed && !is_a_value &&
        std::ranges::all_of(all, [&](const output_study& o) { return is_batch(op, o, extent); }))
      s.batch_extents.push_back(extent);
  }
}

void find_causal(const formula_operator& op, const output_study& o, formula_structure& s) {
  for (const access_summary& a : o.summaries)
    for (size_t k = 0; k < a.dimensions.size(); ++k) {
      if (a.dimensions[k].how != reading::up_to) continue;
      for (size_t i = 0; i < o.value->indices.size(); ++i)
        if (o.value->indices[i].index == a.dimensions[k].index &&
            formula::same(op.shape_of(a.input)->at(k), o.output->shape[i]))
          s.causal.push_back({o.output->name, a.input, i, k});
    }
}

void find_in_place(const formula_operator& op, const std::vector<output_study>& all, formula_structure& s) {
  if (op.outputs.size() != 1) return;
  const output_study& o = all.front();
  for (const access_summary& a : o.summaries) {
    const formula::tensor& x = *op.find_input(a.input);
    bool legal = x.type == o.output->type && x.shape.size() == o.output->shape.size() && !x.shape.empty();
    for (size_t k = 0; legal && k < x.shape.size(); ++k)
      legal = formula::same(x.shape[k], o.output->shape[k]) && a.dimensions[k].how == reading::same &&
              a.dimensions[k].index == o.value->indices[k].index;
    if (legal) s.in_place.emplace_back(o.output->name, a.input);
  }
}

void find_emptying(const formula_operator& op, formula_structure& s) {
  for (const std::string& extent : op.free_extents()) {
    const auto is_empty = [&](const formula::tensor& t) {
      return std::ranges::any_of(t.shape, [&](const expr& e) { return is_extent(e, extent); });
    };
    const auto needs = [&](const formula::tensor& t) {
      const auto has = [&](const expr& e) { return !is_extent(e, extent) && formula::mentions(e, extent); };
      return (t.of && formula::mentions(t.of, extent)) || std::ranges::any_of(t.shape, has);
    };
    if (std::ranges::all_of(op.outputs, is_empty) && std::ranges::none_of(op.inputs, needs) &&
        std::ranges::none_of(op.outputs, needs))
      s.emptying_extents.push_back(extent);
  }
}

// Indices of an extent that are nothing but subscripts of dimensions of that extent.
class place_blindness {
 public:
  place_blindness(const formula_operator& op, const std::string& extent) : op_(op), extent_(extent) {}

  bool holds() {
    for (const formula::definition& d : op_.definitions) {
      const std::vector<expr> extents = op_.extents_of(d);
      indices_.clear();
      for (size_t k = 0; k < extents.size(); ++k)
        if (is_extent(extents[k], extent_)) indices_.insert(d.indices[k].index);
      if (!is_blind(d.value)) return false;
    }
    return true;
  }

 private:
  bool is_index(const expr& e) const { return e->what == kind::name && indices_.count(e->text) > 0; }

  bool is_blind(const expr& e) {
    if (!e) return true;
    if (is_index(e)) return false;
    if (e->what == kind::reduce) return is_blind_reduction(e);
    const std::vector<expr> shape = e->what == kind::at ? *op_.shape_of(e->text) : std::vector<expr>();
    for (size_t k = 0; k < e->args.size(); ++k) {
      const bool is_place = k < shape.size() && is_extent(shape[k], extent_);
      if (is_place != is_index(e->args[k]) || (!is_place && !is_blind(e->args[k]))) return false;
    }
    return is_blind(e->other);
  }

  bool is_blind_reduction(const expr& e) {
    const std::set<std::string> outer = indices_;
    const bool tells_places = e->text == "argmax" || e->text == "argmin";
    bool holds = true;
    for (const formula::binder& b : e->bound) {
      const expr size = b.extent ? b.extent : op_.inferred_extent(b.index, e->args[0]);
      indices_.erase(b.index);
      if (!size || !is_extent(size, extent_)) continue;
      indices_.insert(b.index);
      holds = holds && !tells_places;
    }
    holds = holds && is_blind(e->other) && is_blind(e->args[0]);
    indices_ = outer;
    return holds;
  }

  const formula_operator& op_;
  const std::string& extent_;
  std::set<std::string> indices_;
};

void find_permutable(const formula_operator& op, formula_structure& s) {
  for (const std::string& extent : op.free_extents()) {
    const bool is_listed = std::ranges::any_of(
        op.inputs, [&](const formula::tensor& t) { return t.of && formula::mentions(t.of, extent); });
    const bool is_a_dimension = std::ranges::any_of(op.inputs, [&](const formula::tensor& t) {
      return std::ranges::any_of(t.shape, [&](const expr& e) { return is_extent(e, extent); });
    });
    if (!is_listed && is_a_dimension && place_blindness(op, extent).holds()) s.permutable_extents.push_back(extent);
  }
}

}  // namespace

formula_structure study(const formula_operator& op) {
  formula_structure s;
  std::vector<output_study> all;
  for (const formula::tensor& t : op.outputs) all.push_back(study_output(op, t));
  find_emptying(op, s);
  find_permutable(op, s);
  for (const output_study& o : all) {
    s.is_known &= o.found.size() <= k_most_accesses;
    s.accesses.insert(s.accesses.end(), o.summaries.begin(), o.summaries.end());
  }
  if (!s.is_known) return s;
  find_batch(op, all, s);
  for (const output_study& o : all) find_causal(op, o, s);
  find_in_place(op, all, s);
  return s;
}

std::string to_text(const formula_operator& op, const access_summary& a) {
  const auto text_of = [](const dimension_reading& r) -> std::string {
    switch (r.how) {
      case reading::same: return "= " + r.index;
      case reading::up_to: return "up to " + r.index;
      case reading::from: return "from " + r.index;
      case reading::fixed: return "fixed";
      case reading::window: return "window";
      case reading::gathered: return "gathered";
      default: return "any";
    }
  };
  std::string out, in;
  for (const formula::binder& b : op.find_definition(a.output)->indices) out += (out.empty() ? "" : ", ") + b.index;
  for (const dimension_reading& r : a.dimensions) in += (in.empty() ? "" : ", ") + text_of(r);
  return fmt::format("{}{} reads {}{}", a.output, out.empty() ? "" : "[" + out + "]", a.input,
                     in.empty() ? "" : "[" + in + "]");
}

}  // namespace warpcheck::formula_trial
