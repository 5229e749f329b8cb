// A formula compiled for one call: extents and whole scalars are numbers, indices are slots of a frame, and subscripts
// are offsets. walker.hpp runs the program in an algebra.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "reference/formula/tree.hpp"

namespace warpcheck::formula {

// An input: values of a float tensor as doubles, which hold them exactly, or integers.
struct array {
  std::vector<int64_t> shape;
  std::vector<double> values = {};
  std::vector<int64_t> integers = {};
};

using whole_values = std::map<std::string, int64_t, std::less<>>;  // of extents and whole scalars, by name

// The arguments of a call. `sizes` has the extents that no input has, only outputs.
struct call_data {
  std::map<std::string, array, std::less<>> inputs;
  std::map<std::string, double, std::less<>> scalars = {};  // scalars that are left out have their usual value
  whole_values sizes = {};
};

struct code;
struct definition_code;

// base + sum of factor * frame[slot], or a tree for any other expression.
struct whole_code {
  enum class form : uint8_t { affine, negate, add, subtract, multiply, divide, remainder, min, max, load, chosen };
  struct term {
    int slot;
    int64_t factor;
  };
  form what = form::affine;
  int64_t base = 0;
  std::vector<term> terms;
  std::vector<whole_code> args;       // of a tree
  const array* integers = nullptr;    // load: args are subscripts
  definition_code* chosen = nullptr;  // an argmax: args are subscripts
  bool is_constant() const { return what == form::affine && terms.empty(); }
};

// An element of a tensor or definition. If `checked` is empty, no index is outside, and the offset suffices.
struct access {
  whole_code offset;  // affine
  struct dimension {
    whole_code subscript;
    int64_t size, stride;
  };
  std::vector<dimension> checked;
};

struct condition_code {
  enum class form : uint8_t { compare_whole, compare, both, either, negation, any, all, nonzero };
  form what = form::nonzero;
  kind sign = kind::less;              // of comparisons
  std::vector<whole_code> whole;       // two
  std::vector<code*> values;           // of a comparison two, of nonzero one
  std::vector<condition_code> parts;   // and, or, not; of any and all the body
  std::shared_ptr<struct loop> range;  // of any and all
};

// The indices of a reduction. `where` has the conditions that are not limits, which bound one index by others.
struct loop {
  struct index {
    int slot;
    int64_t size;
    std::vector<whole_code> from, below;  // the index is at least, and less than, each of these
  };
  std::vector<index> indices;
  std::unique_ptr<condition_code> where;  // may be null
};

enum class function : uint8_t {
  exp,
  log,
  log1p,
  expm1,
  sqrt,
  rsqrt,
  tanh,
  erf,
  sin,
  cos,
  abs,
  floor,
  round,
  pow,
  min,
  max,
  fmin,
  fmax
};
enum class reduction : uint8_t { sum, mean, prod, max, min, fmax, fmin, argmax, argmin };

struct code {
  enum class form : uint8_t {
    constant,  // text
    scalar,    // number
    whole,     // whole
    load,      // from `from` at `place`
    define,    // of `defined` at `place`
    negate,
    add,
    subtract,
    multiply,
    divide,
    power,  // args[0] to the whole power `exponent`
    call,
    choose,
    cast,
    reduce,
    scan,  // a reduction sum or prod whose terms are those up to an index
    truth  // a condition as 1 or 0
  };
  form what = form::constant;
  std::string text;
  double number = 0;
  int constant = -1;  // index of constants() for a constant or scalar
  whole_code whole;
  const array* from = nullptr;
  number_type from_type = number_type::f32;
  double from_least = 0;  // the input's elements are at least this; -inf: anything
  definition_code* defined = nullptr;
  access place;
  code* outside = nullptr;  // null: 0
  function of = function::exp;
  reduction by = reduction::sum;
  number_type type = number_type::f32;
  int exponent = 0;
  std::vector<code*> args;
  std::unique_ptr<condition_code> condition;
  std::shared_ptr<loop> range;
  // subtract: x - max(x), where x takes part in the maximum if this condition holds (null: always).
  bool below_maximum = false;
  std::unique_ptr<condition_code> takes_part;
  // sum: it has the term exp(0), because its terms are exp(x - max(x)) over the elements of the maximum.
  bool holds_one = false;
  // sum: over one index, of products of two input elements, none of them outside; then the steps of their offsets.
  bool is_dot = false;
  int64_t dot_steps[2] = {0, 0};
  // scan: the index that ends it, if that is excluded, if it runs from the end, and the slots of its terms.
  int scan_slot = -1, scan_id = -1;
  bool is_strict = false, is_backward = false;
  // reduce: its number among kept reductions, whose value does not depend on every index in scope; -1: not kept.
  int kept_id = -1;
  // For a scan or a kept reduction: the slots and sizes of the indices that it depends on.
  std::vector<int> key_slots;
  std::vector<int64_t> key_sizes;
};

struct definition_code {
  const definition* source = nullptr;
  const tensor* output = nullptr;  // the output that it defines, or null
  int id = 0;
  std::vector<int> slots;
  std::vector<int64_t> sizes;
  int64_t elements = 1;
  code* value = nullptr;
};

class program {
 public:
  // `op`, whose functions are not formulas themselves (expanded()), and `call` must outlive the program. Throws
  // formula_error if a shape does not fit or an extent is negative.
  program(const formula_operator& op, const call_data& call);
  program(const program&) = delete;
  program& operator=(const program&) = delete;

  const formula_operator& op() const { return op_; }
  const std::deque<definition_code>& definitions() const { return definitions_; }
  definition_code* find(std::string_view name);
  const std::vector<const code*>& constants() const { return constants_; }
  int slots() const { return slots_; }
  int scans() const { return scans_; }
  int kept_reductions() const { return kept_reductions_; }
  std::vector<int64_t> shape_of(const tensor& t) const;
  int64_t whole(const expr& e) const;  // of an expression of extents and whole scalars

 private:
  friend class compiler;
  const formula_operator& op_;
  const call_data& call_;
  whole_values integers_;
  std::deque<definition_code> definitions_;
  std::deque<code> codes_;
  std::vector<const code*> constants_;
  int slots_ = 0, scans_ = 0, kept_reductions_ = 0;
};

int64_t floor_divide(int64_t a, int64_t b);  // formula_error where b is 0
int64_t multiplied(int64_t a, int64_t b);    // formula_error beyond 64 bits
// The value of an extent or whole scalar, by the values of its names. formula_error if one is missing.
int64_t whole_value(const expr& e, const whole_values& of);

}  // namespace warpcheck::formula
