#include "reference/formula/program.hpp"

#include <algorithm>

#include "reference/formula/compiler.hpp"
#include "reference/formula/printer.hpp"

namespace warpcheck::formula {

int64_t floor_divide(int64_t a, int64_t b) {
  if (b == 0) throw formula_error("formula: a subscript or extent is divided by 0");
  const int64_t q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

int64_t multiplied(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product))
    throw formula_error("formula: a product of integers exceeds 64 bits; a factor such as 2.0 makes it a real number");
  return product;
}

program::program(const formula_operator& op, const call_data& call) : op_(op), call_(call), integers_(call.sizes) {
  for (const scalar& s : op.scalars)
    if (s.is_integer) {
      const auto given = call.scalars.find(s.name);
      integers_[s.name] = static_cast<int64_t>(given == call.scalars.end() ? s.fallback : given->second);
    }
  for (const tensor& t : op.inputs) {
    const auto found = call.inputs.find(t.name);
    if (found == call.inputs.end()) throw formula_error(t.name + ": the call has no such input");
    const std::vector<int64_t>& shape = found->second.shape;
    if (shape.size() != t.shape.size()) throw formula_error(t.name + ": its rank is not that of the formula");
    for (size_t i = 0; i < shape.size(); ++i)
      if (t.shape[i]->what == kind::name) integers_.emplace(t.shape[i]->text, shape[i]);
  }
  for (const derived_extent& d : op.derived) integers_[d.name] = whole(d.value);
  for (const tensor& t : op.inputs)
    if (call.inputs.find(t.name)->second.shape != shape_of(t))
      throw formula_error(t.name + ": its shape does not fit the other inputs");
  compiler(*this).run();
}

std::vector<int64_t> program::shape_of(const tensor& t) const {
  std::vector<int64_t> shape;
  for (const expr& e : t.shape) shape.push_back(whole(e));
  for (const int64_t n : shape)
    if (n < 0) throw formula_error(t.name + ": an extent is negative");
  return shape;
}

int64_t whole_value(const expr& e, const whole_values& of) {
  const auto arg = [&](size_t i) { return whole_value(e->args[i], of); };
  switch (e->what) {
    case kind::number: return std::stoll(e->text);
    case kind::name: {
      const auto found = of.find(e->text);
      if (found == of.end()) throw formula_error(e->text + ": the extent has no size");
      return found->second;
    }
    case kind::negate: return -arg(0);
    case kind::add: return arg(0) + arg(1);
    case kind::subtract: return arg(0) - arg(1);
    case kind::multiply: return multiplied(arg(0), arg(1));
    case kind::divide: return floor_divide(arg(0), arg(1));
    case kind::remainder: return arg(0) - floor_divide(arg(0), arg(1)) * arg(1);
    case kind::call: return e->text == "min" ? std::min(arg(0), arg(1)) : std::max(arg(0), arg(1));
    default: throw formula_error("'" + to_text(e) + "' is not an extent");
  }
}

int64_t program::whole(const expr& e) const { return whole_value(e, integers_); }

definition_code* program::find(std::string_view name) {
  const auto found =
      std::ranges::find_if(definitions_, [&](const definition_code& d) { return d.source->name == name; });
  return found == definitions_.end() ? nullptr : &*found;
}

}  // namespace warpcheck::formula
