#include "reference/formula/mutation.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <utility>

#include "reference/formula/parser.hpp"
#include "reference/formula/printer.hpp"

namespace warpcheck::formula {
namespace {

using changed_tree = std::pair<std::string, expr>;  // what was changed, and the result

constexpr std::pair<kind, kind> k_other_signs[] = {
    {kind::less, kind::less_equal},       {kind::less_equal, kind::less}, {kind::greater, kind::greater_equal},
    {kind::greater_equal, kind::greater}, {kind::equal, kind::not_equal}, {kind::not_equal, kind::equal}};
constexpr std::pair<std::string_view, std::string_view> k_other_functions[] = {
    {"exp", "expm1"},   {"expm1", "exp"},   {"log", "log1p"}, {"log1p", "log"}, {"sqrt", "rsqrt"},  {"rsqrt", "sqrt"},
    {"tanh", "erf"},    {"erf", "tanh"},    {"sin", "cos"},   {"cos", "sin"},   {"max", "min"},     {"min", "max"},
    {"floor", "round"}, {"round", "floor"}, {"silu", "relu"}, {"relu", "silu"}, {"sigmoid", "tanh"}};
constexpr std::pair<std::string_view, std::string_view> k_other_reductions[] = {
    {"sum", "mean"}, {"sum", "max"},  {"mean", "sum"},      {"max", "min"},      {"max", "sum"},
    {"min", "max"},  {"prod", "sum"}, {"argmax", "argmin"}, {"argmin", "argmax"}};

// The changes of one definition.
class mutation {
 public:
  mutation(const formula_operator& op, const definition& d) : op_(op) {
    for (const binder& b : d.indices) indices_.push_back(b.index);
    everywhere(d.value, [&](const std::string& what, const expr& e) { found_.emplace_back(what, e); });
  }
  std::vector<changed_tree> found() && { return std::move(found_); }

 private:
  using sink = std::function<void(const std::string& what, const expr& e)>;

  // Visits the mutants of the node and of all nodes below it, each in its place.
  void everywhere(const expr& e, const sink& use) {
    here(e, use);
    for (const binder& b : e->bound) indices_.push_back(b.index);
    for (size_t i = 0; i < e->args.size(); ++i)
      everywhere(e->args[i], [&](const std::string& what, const expr& changed) {
        node n = *e;
        n.args[i] = changed;
        use(what, make(std::move(n)));
      });
    if (e->what == kind::reduce && e->other)
      everywhere(e->other, [&](const std::string& what, const expr& changed) {
        node n = *e;
        n.other = changed;
        use(what, make(std::move(n)));
      });
    indices_.resize(indices_.size() - e->bound.size());
  }

  void here(const expr& e, const sink& use) {
    const expr one = make_number(1);
    switch (e->what) {
      case kind::at: return of_access(e, use);
      case kind::add:
      case kind::subtract:
        use("term dropped", e->args[0]);
        use("first term dropped", e->what == kind::add ? e->args[1] : make_unary(kind::negate, e->args[1]));
        return use("sign", make_binary(e->what == kind::add ? kind::subtract : kind::add, e->args[0], e->args[1]));
      case kind::multiply: use("factor dropped", e->args[0]); return use("first factor dropped", e->args[1]);
      case kind::divide:
        use("divisor dropped", e->args[0]);
        return use("operands swapped", make_binary(kind::divide, e->args[1], e->args[0]));
      case kind::power: return use("power dropped", e->args[0]);
      case kind::negate: return use("sign", e->args[0]);
      case kind::number:
        if (e->text != "0")
          use("constant off by 0.1 %", make_number(to_text(std::strtod(e->text.c_str(), nullptr) * 1.001)));
        return;
      case kind::name:
        if (!op_.shape_of(e->text) && e->text != "pi" && e->text != "inf" && !is_index(e->text))
          use("extent or scalar - 1", make_binary(kind::subtract, e, one));
        return;
      case kind::choose: use("always then", e->args[1]); return use("always else", e->args[2]);
      case kind::call: return of_call(e, use);
      case kind::reduce: return of_reduction(e, use);
      default:
        for (const auto& [from, to] : k_other_signs)
          if (e->what == from) use("comparison", make_binary(to, e->args[0], e->args[1]));
    }
  }

  void of_access(const expr& e, const sink& use) {
    const std::optional<std::vector<expr>> shape = op_.shape_of(e->text);
    const expr one = make_number(1);
    for (size_t i = 0; i < e->args.size(); ++i) {
      const auto put = [&](const expr& subscript) {
        node n = *e;
        n.args[i] = subscript;
        return make(std::move(n));
      };
      const expr& sub = e->args[i];
      use("index + 1", put(make_binary(kind::add, sub, one)));
      if (sub->what != kind::name || !shape) continue;
      use("index is 0", put(make_number(0)));
      use("index - 1", put(make_binary(kind::subtract, sub, one)));
      use("index reversed", put(make_binary(kind::subtract, make_binary(kind::subtract, (*shape)[i], one), sub)));
    }
    if (e->args.size() == 2 && !same(e->args[0], e->args[1]))
      use("subscripts swapped", make_at(e->text, {e->args[1], e->args[0]}, e->other));
    if (e->other) use("padding is 0", make_at(e->text, e->args));
  }

  void of_call(const expr& e, const sink& use) {
    for (const auto& [from, to] : k_other_functions)
      if (e->text == from) use(std::string(from) + " is " + std::string(to), make_call(std::string(to), e->args));
    const bool selects = e->text == "max" || e->text == "min" || e->text == "fmax" || e->text == "fmin";
    if (selects || e->text == "abs" || e->text == "sqrt") use(e->text + " dropped", e->args[0]);
    if (selects) use("first of " + e->text + " dropped", e->args[1]);
  }

  void of_reduction(const expr& e, const sink& use) {
    for (const auto& [from, to] : k_other_reductions)
      if (e->text == from)
        use(std::string(from) + " is " + std::string(to),
            make_reduction(std::string(to), e->bound, e->other, e->args[0]));
    if (e->other) return use("condition dropped", make_reduction(e->text, e->bound, nullptr, e->args[0]));
    std::vector<binder> bound = e->bound;
    binder& last = bound.back();
    if (!last.extent) last.extent = op_.inferred_extent(last.index, e);
    const expr index = make_name(last.index), one = make_number(1);
    use("last left out",
        make_reduction(e->text, bound, make_binary(kind::less, index, make_binary(kind::subtract, last.extent, one)),
                       e->args[0]));
    use("first left out",
        make_reduction(e->text, bound, make_binary(kind::greater, index, make_number(0)), e->args[0]));
  }

  bool is_index(const std::string& name) const { return std::ranges::find(indices_, name) != indices_.end(); }

  const formula_operator& op_;
  std::vector<std::string> indices_;
  std::vector<changed_tree> found_;
};

}  // namespace

std::vector<double> numbers_of(const formula_operator& op) {
  std::vector<double> found;
  for (const definition& d : op.definitions)
    walk(d.value, [&](const expr& e) {
      const double v = e->what == kind::number ? std::strtod(e->text.c_str(), nullptr) : 0;
      if (v != 0 && std::ranges::find(found, v) == found.end()) found.push_back(v);
    });
  return found;
}

std::vector<formula_mutant> mutants_of(const formula_operator& op) {
  std::vector<formula_mutant> all;
  for (size_t i = 0; i < op.definitions.size(); ++i)
    for (auto& [what, value] : mutation(op, op.definitions[i]).found()) {
      formula_mutant m{what + ": " + op.definitions[i].name + " = " + to_text(value), op};
      definition& d = m.op.definitions[i];
      for (size_t k = 0; k < d.indices.size(); ++k) d.indices[k].extent = d.extents[k];
      d.value = value;
      try {
        check(m.op);
        all.push_back(std::move(m));
      } catch (const formula_error&) {
        // The change gives no formula, for example a subscript that is not a whole number.
      }
    }
  return all;
}

}  // namespace warpcheck::formula
