#include "ci/warpcheck/python/contract.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace warpcheck::python {
namespace {

constexpr uint32_t k_halves = WARPCHECK_F32 | WARPCHECK_F16 | WARPCHECK_BF16;
constexpr output_rule k_y = {"y", output_shape::as_input, 0, false, true};
constexpr output_rule k_softmax_index = {"index", output_shape::per_row, WARPCHECK_I64, true};
constexpr scalar_rule k_sigmoid[] = {{"mu"}, {"sigma"}};
constexpr scalar_rule k_reduce[] = {{"op", 3}};
constexpr scalar_rule k_scan[] = {{"kind", 2}};
constexpr scalar_rule k_argsort[] = {{"order", 2}};

constexpr operator_rule k_rules[] = {
    {"softmax", 2, k_halves, k_y, nullptr, 0, &k_softmax_index},
    {"log_softmax", 2, k_halves, k_y, nullptr, 0},
    {"logsumexp", 2, k_halves, {"y", output_shape::per_row, k_halves}, nullptr, 0},
    {"argmax", 2, k_halves, {"index", output_shape::per_row, WARPCHECK_I64}, nullptr, 0},
    {"sigmoid", 1, k_halves, k_y, k_sigmoid, 2},
    {"reduce", 2, WARPCHECK_F32 | WARPCHECK_F64, {"y", output_shape::per_row, 0}, k_reduce, 1},
    {"scan", 2, WARPCHECK_F32 | WARPCHECK_F64 | WARPCHECK_I64, k_y, k_scan, 1},
    {"argsort", 2, WARPCHECK_F32, {"index", output_shape::as_input, WARPCHECK_I32 | WARPCHECK_I64}, k_argsort, 1},
};

void require(bool condition, const std::string& sentence) {
  if (!condition) throw std::invalid_argument(sentence);
}

// A vector is a matrix of one row.
tensor_view view_of(const DLTensor* t, const char* name, int dimensions) {
  require(t != nullptr, fmt::format("{} is missing", name));
  require(t->ndim == dimensions, fmt::format("{} has {} dimensions, must have {}", name, t->ndim, dimensions));
  for (int i = 0; i < dimensions; ++i)
    require(t->shape[i] >= 0, fmt::format("{} has the extent {}, must be >= 0", name, t->shape[i]));
  tensor_view v = {name, static_cast<char*>(t->data), 1, t->shape[dimensions - 1], 0, t->dtype.bits / 8, t};
  v.ld = v.cols;
  if (v.data) v.data += t->byte_offset;
  if (dimensions == 2) {
    v.rows = t->shape[0];
    if (t->strides) v.ld = t->strides[0];
  }
  require(v.ld >= v.cols, fmt::format("ld{} is {}, must be >= cols = {}", name, v.ld, v.cols));
  if (v.empty()) return v;
  require(v.data != nullptr, fmt::format("{} is null", name));
  require(reinterpret_cast<uintptr_t>(v.data) % static_cast<uintptr_t>(v.element) == 0,
          fmt::format("{} is not aligned to its element", name));
  return v;
}

// Whether an element of one lies in the other; the gaps between rows belong to nobody.
bool overlap(const tensor_view& a, const tensor_view& b) {
  if (a.empty() || b.empty()) return false;
  for (int64_t i = 0, j = 0; i < a.rows && j < b.rows;) {
    const auto at = reinterpret_cast<uintptr_t>(a.data) + static_cast<uintptr_t>(i * a.ld * a.element);
    const auto bt = reinterpret_cast<uintptr_t>(b.data) + static_cast<uintptr_t>(j * b.ld * b.element);
    if (at < bt + static_cast<uintptr_t>(b.cols * b.element) && bt < at + static_cast<uintptr_t>(a.cols * a.element))
      return true;
    at < bt ? ++i : ++j;
  }
  return false;
}

void check_output(const output_rule& rule, const tensor_view& x, const tensor_view& y) {
  const bool is_vector = x.tensor->ndim == 1, per_row = rule.shape == output_shape::per_row;
  const int64_t rows = per_row ? 1 : x.rows, cols = per_row ? x.rows : x.cols;
  require(y.rows == rows && y.cols == cols,
          per_row || is_vector
              ? fmt::format("{} has {} elements, must have {}", y.name, y.cols, cols)
              : fmt::format("{} is {} x {}, must be {} x {} as x is", y.name, y.rows, y.cols, rows, cols));
  const uint32_t own = dtype_bit(y.tensor->dtype), of_x = dtype_bit(x.tensor->dtype);
  require(rule.dtypes == 0 ? own == of_x : (own & rule.dtypes) != 0,
          fmt::format("{} has the wrong element type", y.name));
  if (rule.may_be_input && x.data == y.data && x.ld == y.ld) return;
  require(!overlap(x, y), fmt::format("{} overlaps x", y.name));
}

const DLTensor* output(const warpcheck_call& call, int i) { return i < call.num_outputs ? call.outputs[i] : nullptr; }

}  // namespace

const operator_rule* find_rule(std::string_view op) {
  const auto* found = std::find_if(std::begin(k_rules), std::end(k_rules), [&](const auto& r) { return r.name == op; });
  return found == std::end(k_rules) ? nullptr : found;
}

std::string rule_names() {
  std::string names;
  for (const operator_rule& r : k_rules) names += (names.empty() ? "" : ", ") + std::string(r.name);
  return names;
}

std::vector<tensor_view> checked_tensors(const operator_rule& rule, const warpcheck_call& call) {
  require(call.num_inputs == 1, fmt::format("the call has {} inputs, must have 1", call.num_inputs));
  const auto rank = [&](const output_rule& o) { return o.shape == output_shape::per_row ? 1 : rule.dimensions; };
  std::vector<tensor_view> list = {view_of(call.inputs[0], "x", rule.dimensions),
                                   view_of(output(call, 0), rule.output.name, rank(rule.output))};
  check_output(rule.output, list[0], list[1]);
  if (!rule.second) return list;
  const DLTensor* const second = output(call, 1);
  const bool absent = !second || (second->ndim == 1 && second->shape[0] == 0);
  if (absent) {
    list.push_back({rule.second->name, nullptr, 0, 0, 0, 1, nullptr});
    return list;
  }
  list.push_back(view_of(second, rule.second->name, rank(*rule.second)));
  check_output(*rule.second, list[0], list[2]);
  require(!overlap(list[1], list[2]), fmt::format("{} overlaps {}", rule.second->name, rule.output.name));
  return list;
}

double checked_scalar(const scalar_rule& rule, const warpcheck_call& call) {
  for (int32_t i = 0; i < call.num_scalars; ++i) {
    if (std::string_view(call.scalars[i].name) != rule.name) continue;
    const double value = call.scalars[i].value;
    bool known = rule.codes == 0;
    for (int code = 0; code < rule.codes; ++code) known |= value == code;
    require(known, fmt::format("{} is {}, must be an integer from 0 to {}", rule.name, value, rule.codes - 1));
    return value;
  }
  throw std::invalid_argument(fmt::format("{} is missing", rule.name));
}

uint32_t dtype_bit(const DLDataType& type) {
  if (type.lanes != 1) return 0;
  switch (type.code) {
    case kDLFloat:
      return type.bits == 32 ? WARPCHECK_F32 : type.bits == 16 ? WARPCHECK_F16 : type.bits == 64 ? WARPCHECK_F64 : 0;
    case kDLBfloat: return type.bits == 16 ? WARPCHECK_BF16 : 0;
    case kDLInt: return type.bits == 64 ? WARPCHECK_I64 : type.bits == 32 ? WARPCHECK_I32 : 0;
    case kDLUInt:
      return type.bits == 8 ? WARPCHECK_U8 : type.bits == 16 ? WARPCHECK_U16 : type.bits == 32 ? WARPCHECK_U32 : 0;
    default: return 0;
  }
}

const char* dtype_name(uint32_t bit) {
  constexpr const char* names[] = {"f32", "f16", "bf16", "f64", "i64", "i32", "u8", "u16", "u32"};
  for (size_t i = 0; i < std::size(names); ++i)
    if (bit == 1u << i) return names[i];
  return nullptr;
}

}  // namespace warpcheck::python
