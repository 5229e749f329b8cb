// A formula operator in index notation: its parameters, its outputs, and one expression tree per definition.
// docs/formulas.md has the grammar; parser.hpp makes these values, printer.hpp prints them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/formula/number_type.hpp"

namespace warpcheck::formula {

// A place in a formula's text, counted from 1; 0 if the tree was not read from a text.
struct position {
  int line = 0, column = 0;
};

// Thrown for a text that is no valid formula: "FILE:LINE:COLUMN: problem, what is allowed".
struct formula_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class kind : uint8_t {
  number,  // text: as written
  name,    // text: an index, extent, scalar, or a tensor or definition without dimensions
  at,      // text[args] outside other
  call,    // text(args)
  negate,
  add,
  subtract,
  multiply,
  divide,
  remainder,
  power,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  both,      // and
  either,    // or
  negation,  // not
  choose,    // if args[0] then args[1] else args[2]
  cast,      // args[0] as type
  reduce     // text(bound where other) args[0]
};

struct node;
using expr = std::shared_ptr<const node>;

// An index and the number of its values. Without an extent it has that of the dimension whose subscript it is, alone.
struct binder {
  std::string index;
  expr extent;
};

// Trees are immutable, and parts may be shared between trees.
struct node {
  kind what = kind::number;
  std::string text = {};
  std::vector<expr> args = {};
  expr other = nullptr;                 // at: the value outside the tensor, or none; reduce: the condition; may be null
  std::vector<binder> bound = {};       // of a reduction
  number_type type = number_type::f32;  // of a cast
  position where = {};
  int size = 1;  // nodes of the tree; a shared node counts each time it is reached
};

inline constexpr int k_most_nodes = 4000;    // of an operator
inline constexpr int k_most_dimensions = 8;  // of a tensor or definition

// Makes the node and counts it. Throws formula_error if the tree has more than k_most_nodes.
expr make(node n);
expr make_number(std::string text);
expr make_number(int64_t value);
expr make_name(std::string name);
expr make_at(std::string tensor, std::vector<expr> subscripts, expr outside = nullptr);  // a name if there are none
expr make_call(std::string function, std::vector<expr> args);
expr make_unary(kind what, expr a);
expr make_binary(kind what, expr a, expr b);
expr make_choice(expr condition, expr then, expr otherwise);
expr make_cast(expr a, number_type type);
expr make_reduction(std::string which, std::vector<binder> bound, expr where, expr body);

bool same(const expr& a, const expr& b);  // compares the trees; positions do not count
// Calls `visit` with every node of the tree, outermost first, including subscripts, conditions and extents of indices.
void walk(const expr& e, const std::function<void(const expr&)>& visit);
// The node with `change` applied to each of its children; the node itself where no child changed.
expr with_children(const expr& e, const std::function<expr(const expr&)>& change);
// Replaces names by expressions, except for indices that the expression binds.
using replacements = std::vector<std::pair<std::string, expr>>;
expr substitute(const expr& e, const replacements& names);
// The names on which an expression depends, including tensors, without its own bound indices.
std::set<std::string> names_in(const expr& e);
bool mentions(const expr& e, std::string_view name);

struct tensor {
  std::string name;
  std::vector<expr> shape;
  number_type type = number_type::f32;
  expr of = nullptr;                                              // elements are indices of this extent
  std::optional<std::pair<double, double>> range = std::nullopt;  // the legal values of elements
  position where = {};
};

struct scalar {
  std::string name;
  double fallback = 0, least = 0, most = 0;
  bool has_range = false;
  bool is_integer = false;  // written `in a..b`: extents and subscripts may use it
  position where = {};
};

struct definition {
  std::string name;
  std::vector<binder> indices;
  std::optional<number_type> type;  // a kernel may store the value in this type
  expr value;
  std::vector<std::string> comments = {};  // lines above it
  position where = {};
  std::vector<expr> extents = {};  // of the indices; check() finds them
};

struct derived_extent {
  std::string name;
  expr value;
  std::vector<std::string> comments = {};
  position where = {};
};

struct formula_operator {
  std::string name;
  std::vector<tensor> inputs, outputs;
  std::vector<scalar> scalars;
  std::vector<std::string> parameters;  // inputs and scalars in the order in which they are written
  std::vector<derived_extent> derived;
  std::vector<definition> definitions;     // of outputs, too; each uses only those before it
  std::string contract;                    // the line `arithmetic ...`, canonical; "": the default
  std::vector<std::string> comments = {};  // lines above the operator
  std::vector<std::string> contract_comments = {};
  position where = {};

  const tensor* find_input(std::string_view n) const;
  const tensor* find_output(std::string_view n) const;
  const scalar* find_scalar(std::string_view n) const;
  const definition* find_definition(std::string_view n) const;
  // The extents of a tensor or definition by name; nothing for other names.
  std::optional<std::vector<expr>> shape_of(std::string_view n) const;
  // The extents of a definition's indices: those of its output, or else as written, or else inferred.
  std::vector<expr> extents_of(const definition& d) const;
  // The extent of an index: that of a dimension whose subscript in `e` is the index alone; null if there is none.
  expr inferred_extent(std::string_view index, const expr& e) const;
  // The names of free extents, in the order in which shapes mention them.
  std::vector<std::string> free_extents() const;
};

// True if an expression is a whole number, exactly; its `/` is floor division if it is a subscript, an extent or a side
// of a comparison. Numbers without a point, indices, extents, whole scalars, integer tensors, argmax, and + - * / % min
// max.
bool is_whole(const formula_operator& op, const expr& e);

// The index up to, or from, which `sum(k where k <= j) f(k)` runs, here "j", if f does not contain it: one scan then
// gives the elements for all j. "" for all other expressions.
std::string scan_index(const expr& e);

// The number of a function's arguments by its name; 0 for other names.
int arguments_of(std::string_view function);
bool is_reduction(std::string_view name);
// The function or reduction whose name is closest to `name`, for error messages; "" if none is similar.
std::string_view nearest_function(std::string_view name);
// sigmoid, silu, relu and softplus are formulas themselves, of one parameter `x`; null for other functions.
expr meaning_of(std::string_view function);
// True for `x[i] outside none`, the notation for an element that a reduction leaves out.
bool is_left_out(const expr& at);
// The operator with a condition on the reduction in place of each `outside none`.
formula_operator with_guards(const formula_operator& op);
// The same with the formulas of functions in place of their names. Values, bounds and gradients use this form.
formula_operator expanded(const formula_operator& op);
expr expanded(const expr& e);

}  // namespace warpcheck::formula
