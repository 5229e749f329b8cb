// Checks of a well-formed formula: names are known, indices bound, extents found, subscripts whole numbers.
#include <algorithm>
#include <map>

#include "reference/formula/edit_distance.hpp"
#include "reference/formula/expression_parser.hpp"
#include "reference/formula/lexer.hpp"
#include "reference/formula/parser.hpp"
#include "reference/formula/printer.hpp"

namespace warpcheck::formula {
namespace {

std::string in_quotes(std::string_view name) { return "'" + std::string(name) + "'"; }

class checker {
 public:
  checker(formula_operator& op, std::string_view file) : op_(op), file_(file) {}

  void run() {
    declare();
    shapes();
    int64_t nodes = 0;
    for (definition& d : op_.definitions) {
      nodes += one(d);
      if (nodes > k_most_nodes)
        fail(file_, d.where,
             "operator " + op_.name + ": it has more than " + std::to_string(k_most_nodes) +
                 " nodes, functions such as silu written out");
    }
    for (const tensor& t : op_.outputs)
      if (!op_.find_definition(t.name)) fail(file_, t.where, t.name + ": this output is never defined");
  }

 private:
  void declare_one(const std::string& name, position where, std::string_view what) {
    if (name == "pi" || name == "inf") fail(file_, where, name + ": this name is that of a number");
    if (name == "none") fail(file_, where, "none: this name is that of a value outside");
    if (!known_.emplace(name, what).second)
      fail(file_, where, name + ": the name is used twice; it is already " + std::string(known_[name]));
  }
  void declare() {
    for (const tensor& t : op_.inputs) declare_one(t.name, t.where, "an input");
    for (const scalar& s : op_.scalars) declare_one(s.name, s.where, "a scalar");
    for (const tensor& t : op_.outputs) declare_one(t.name, t.where, "an output");
    for (const derived_extent& d : op_.derived) declare_one(d.name, d.where, "an extent");
    for (const tensor& t : op_.outputs) later_.insert(t.name);
    for (const definition& d : op_.definitions) later_.insert(d.name);
    for (const auto* list : {&op_.inputs, &op_.outputs})
      for (const tensor& t : *list)
        if (t.shape.size() > k_most_dimensions)
          fail(file_, t.where, t.name + ": it has " + std::to_string(t.shape.size()) + " dimensions, at most 8");
  }

  // Throws if tensors have the extent in sums and products alone, such as x[2 * half].
  void given_by_a_call(const std::string& name) const {
    const tensor* user = nullptr;
    for (const auto* list : {&op_.inputs, &op_.outputs})
      for (const tensor& t : *list)
        for (const expr& e : t.shape) {
          if (e->what == kind::name && e->text == name) return;
          if (!user && mentions(e, name)) user = &t;
        }
    if (user)
      fail(file_, user->where,
           name + ": no dimension is this extent alone, so a call cannot give it; write two dimensions for a product");
  }

  // A name that means nothing else is a free extent.
  void shapes() {
    for (const std::string& name : op_.free_extents()) known_.emplace(name, "an extent");
    for (const auto* list : {&op_.inputs, &op_.outputs})
      for (const tensor& t : *list) {
        for (const expr& e : t.shape) extent(e);
        if (t.of) extent(t.of);
      }
    for (const derived_extent& d : op_.derived) extent(d.value);
    for (const std::string& name : op_.free_extents()) given_by_a_call(name);
    std::set<std::string_view> before;
    for (const derived_extent& d : op_.derived) {
      for (const derived_extent& other : op_.derived)
        if (before.count(other.name) == 0 && mentions(d.value, other.name))
          fail(file_, d.where,
               d.name + ": it uses the extent " + in_quotes(other.name) + ", which must come before it");
      before.insert(d.name);
    }
  }
  void extent(const expr& e) {
    walk(e, [&](const expr& n) {
      if (n->what == kind::at || (n->what == kind::name && is_value(n->text)))
        fail(file_, n->where,
             "extent: it depends on " + in_quotes(n->text) +
                 "; shapes that depend on data cannot be said, only extents and whole scalars can");
    });
    whole(e, "extent");
    resolve(e);
  }
  bool is_value(const std::string& name) const {
    const scalar* const s = op_.find_scalar(name);
    return op_.find_input(name) || later_.count(name) > 0 || (s && !s->is_integer);
  }

  int64_t one(definition& d) {
    const tensor* const out = op_.find_output(d.name);
    if (!out) declare_one(d.name, d.where, "a definition");
    if (defined_.count(d.name)) fail(file_, d.where, d.name + ": it is defined twice");
    if (d.type && is_integer(*d.type)) fail(file_, d.where, d.name + ": a definition is stored in a float type only");
    if (d.indices.size() > k_most_dimensions)
      fail(file_, d.where, d.name + ": it has " + std::to_string(d.indices.size()) + " dimensions, at most 8");
    if (out && out->shape.size() != d.indices.size())
      fail(file_, d.where,
           d.name + ": it has " + std::to_string(d.indices.size()) + " indices, the output has " +
               std::to_string(out->shape.size()) + " dimensions");
    current_ = &d;
    indices_.clear();
    for (const binder& b : d.indices) {
      bind(b.index, d.where);
      if (b.extent) extent(b.extent);
    }
    resolve(d.value);
    d.extents.clear();
    d.extents = op_.extents_of(d);
    for (size_t i = 0; i < d.extents.size(); ++i)
      if (!d.extents[i]) no_extent(d.indices[i].index, d.where);
    defined_.insert(d.name);
    return expanded(d.value)->size;
  }

  void bind(const std::string& index, position where) {
    if (std::ranges::find(indices_, index) != indices_.end())
      fail(file_, where, index + ": the index is bound already; use another name");
    if (index == "none") fail(file_, where, "none: an index cannot have this name, which is that of a value outside");
    const auto found = known_.find(index);
    if (found != known_.end() || index == "pi" || index == "inf")
      fail(file_, where,
           index + ": an index cannot have this name, which is " +
               (found == known_.end() ? "a number" : std::string(found->second)));
    indices_.push_back(index);
  }
  [[noreturn]] void no_extent(const std::string& index, position where) {
    fail(file_, where,
         index + ": no dimension has this index alone as its subscript; write its extent, '" + index + " < n'");
  }

  void resolve(const expr& e) {
    if (!e) return;
    if (e->what == kind::name) return resolve_name(e, 0);
    if (e->what == kind::at) {
      resolve_name(e, e->args.size());
      for (const expr& a : e->args) whole(a, "subscript");
      if (is_left_out(e)) return resolve_left_out(e);
    }
    if (e->what == kind::reduce) return resolve_reduction(e);
    for (const expr& a : e->args) resolve(a);
    resolve(e->other);
  }
  void resolve_left_out(const expr& e) {
    if (reductions_ == 0)
      fail(file_, e->where, e->text + ": 'outside none' leaves out a term, so it stands in a reduction");
    for (const expr& a : e->args) resolve(a);
  }
  void resolve_reduction(const expr& e) {
    // An extent may be inferred from a definition, whose own extents are inferred before.
    walk(e, [&](const expr& inner) {
      if (inner->what == kind::at) refuse_later(inner);
    });
    for (const binder& b : e->bound) {
      if (b.extent) extent(b.extent);
      bind(b.index, e->where);
      if (!b.extent && !op_.inferred_extent(b.index, e)) no_extent(b.index, e->where);
    }
    const int around = reductions_;
    reductions_ = around + 1;
    resolve(e->args[0]);
    reductions_ = 0;  // of the condition, which has no terms
    resolve(e->other);
    reductions_ = around;
    indices_.resize(indices_.size() - e->bound.size());
  }
  void resolve_name(const expr& e, size_t subscripts) {
    const std::string& name = e->text;
    if (name == "pi" || name == "inf" || std::ranges::find(indices_, name) != indices_.end()) {
      if (subscripts > 0) fail(file_, e->where, name + ": it is not a tensor");
      return;
    }
    refuse_later(e);
    const auto found = known_.find(name);
    if (found == known_.end()) unknown(e);
    const auto shape = op_.shape_of(name);
    if (!shape && subscripts > 0) fail(file_, e->where, name + ": it is " + std::string(found->second) + ", no tensor");
    if (shape && shape->size() != subscripts)
      fail(file_, e->where,
           name + ": it has " + std::to_string(subscripts) + " subscripts, must have " + std::to_string(shape->size()));
  }
  void refuse_later(const expr& e) const {
    if (!current_ || !later_.count(e->text) || defined_.count(e->text)) return;
    fail(file_, e->where,
         e->text + (e->text == current_->name
                        ? ": it uses itself; a recurrence cannot be said, only 'sum(k where k <= j)' and alike"
                        : ": it is used before its definition"));
  }
  [[noreturn]] void unknown(const expr& e) {
    std::string nearest;
    size_t best = 3;
    const auto consider = [&](const std::string& name) {
      const size_t now = edit_distance(name, e->text);
      if (now < std::min(best, e->text.size())) best = now, nearest = name;
    };
    for (const auto& [name, what] : known_) consider(name);
    for (const std::string& index : indices_) consider(index);
    fail(file_, e->where,
         in_quotes(e->text) + " is unknown; " +
             (nearest.empty() ? "a name is an input, scalar, extent, index or earlier definition"
                              : "did you mean " + in_quotes(nearest) + "?"));
  }

  // Throws where a subscript or extent is no integer expression.
  void whole(const expr& e, std::string_view what) {
    if (!is_whole(op_, e))
      fail(file_, e->where, std::string(what) + ": " + in_quotes(to_text(e)) + " is not a whole number");
  }

  formula_operator& op_;
  std::string_view file_;
  std::map<std::string, std::string_view, std::less<>> known_;
  std::set<std::string, std::less<>> later_, defined_;
  std::vector<std::string> indices_;
  int reductions_ = 0;  // nesting of reductions around the expression that is resolved
  definition* current_ = nullptr;
};

}  // namespace

bool is_whole(const formula_operator& op, const expr& e) {
  const auto all = [&] { return std::ranges::all_of(e->args, [&](const expr& a) { return is_whole(op, a); }); };
  switch (e->what) {
    case kind::number: return e->text.find_first_of(".eE") == std::string::npos && e->text.size() <= 15;
    case kind::name: {
      if (const scalar* s = op.find_scalar(e->text)) return s->is_integer;
      if (e->text == "pi" || e->text == "inf") return false;
      [[fallthrough]];
    }
    case kind::at: {
      if (const tensor* t = op.find_input(e->text)) return is_integer(t->type);
      if (const definition* d = op.find_definition(e->text))
        return d->value->what == kind::reduce && (d->value->text == "argmax" || d->value->text == "argmin");
      return e->what == kind::name;
    }
    case kind::call: return (e->text == "min" || e->text == "max") && all();
    case kind::negate:
    case kind::add:
    case kind::subtract:
    case kind::multiply:
    case kind::divide:
    case kind::remainder: return all();
    default: return false;
  }
}

void check(formula_operator& op, std::string_view file) { checker(op, file).run(); }

}  // namespace warpcheck::formula
