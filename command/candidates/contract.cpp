#include "command/candidates/contract.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "abi/candidate_table.hpp"

namespace warpcheck::cli {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(other_shape, scalar, value, shape)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(tensor_rule, name, is_input, is_optional, types, shape, others)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(scalar_rule, name, least, most, is_integer, usual, of_tensor)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(form_rule, tensors, scalars)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(contract, extents, forms)

namespace {

constexpr uintptr_t k_workspace_alignment = 16;

void require(bool condition, const std::string& sentence) {
  if (!condition) throw std::invalid_argument(sentence);
}

std::optional<double> find_scalar(const warpcheck_call& call, std::string_view name) {
  for (int32_t i = 0; i < call.num_scalars; ++i)
    if (call.scalars[i].name == name) return call.scalars[i].value;
  return std::nullopt;
}

const shape_rule& shape_of(const tensor_rule& rule, const warpcheck_call& call) {
  for (const other_shape& o : rule.others)
    if (find_scalar(call, o.scalar) == o.value) return o.shape;
  return rule.shape;
}

int64_t elements_of(const DLTensor& t) {
  int64_t n = 1;
  for (int k = 0; k < t.ndim; ++k) n *= t.shape[k];
  return n;
}

// The call's tensor for each tensor of the form, nullptr if there is none. Further tensors of the call are ignored.
std::vector<const DLTensor*> tensors_of(const form_rule& form, const warpcheck_call& call) {
  std::vector<const DLTensor*> list;
  int32_t inputs = 0, outputs = 0;
  for (const tensor_rule& rule : form.tensors)
    if (rule.is_input)
      list.push_back(inputs < call.num_inputs ? call.inputs[inputs++] : nullptr);
    else
      list.push_back(outputs < call.num_outputs ? call.outputs[outputs++] : nullptr);
  return list;
}

std::pair<int32_t, int32_t> counts_of(const form_rule& form) {
  const auto inputs = std::count_if(form.tensors.begin(), form.tensors.end(), [](const auto& t) { return t.is_input; });
  return {static_cast<int32_t>(inputs), static_cast<int32_t>(form.tensors.size()) - static_cast<int32_t>(inputs)};
}

// The number of matches between the call and the form; the form with the most is probably the one that is meant.
int likeness(const form_rule& form, const warpcheck_call& call) {
  const auto [inputs, outputs] = counts_of(form);
  if (call.num_inputs > inputs || call.num_outputs > outputs) return 0;
  int points = 1;
  const std::vector<const DLTensor*> given = tensors_of(form, call);
  for (size_t i = 0; i < given.size(); ++i) {
    const tensor_rule& rule = form.tensors[i];
    if (!given[i]) {
      points -= rule.is_optional ? 0 : 4;
      continue;
    }
    points += given[i]->ndim == static_cast<int32_t>(rule.shape.size()) ? 2 : -2;
    points += rule.types == 0 || (rule.types & dtype_bit(given[i]->dtype)) ? 1 : 0;
  }
  return points;
}

const form_rule& form_of(const contract& c, const warpcheck_call& call) {
  return *std::max_element(c.forms.begin(), c.forms.end(), [&](const form_rule& a, const form_rule& b) {
    return likeness(a, call) < likeness(b, call);
  });
}

tensor_view view_of(const tensor_rule& rule, const DLTensor* t, size_t dimensions) {
  tensor_view v;
  v.rule = &rule;
  require(t || rule.is_optional, fmt::format("{} is missing", rule.name));
  if (!t) return v;
  for (int k = 0; k < t->ndim; ++k)
    require(t->shape[k] >= 0, fmt::format("{} has the extent {}, must be >= 0", rule.name, t->shape[k]));
  if (rule.is_optional && elements_of(*t) == 0) return v;
  require(t->ndim == static_cast<int32_t>(dimensions),
          fmt::format("{} has {} dimensions, must have {}", rule.name, t->ndim, dimensions));
  v.tensor = t;
  v.cols = t->shape[t->ndim - 1];
  v.rows = 1;
  for (int k = 0; k + 1 < t->ndim; ++k) v.rows *= t->shape[k];
  v.ld = t->ndim > 1 && t->strides ? t->strides[t->ndim - 2] : v.cols;
  v.element = t->dtype.bits / 8;
  require(v.ld >= v.cols, fmt::format("ld{} is {}, must be >= cols = {}", rule.name, v.ld, v.cols));
  if (v.is_empty()) return v;
  require(t->data != nullptr, fmt::format("{} is null", rule.name));
  v.data = static_cast<char*>(t->data) + t->byte_offset;
  require(reinterpret_cast<uintptr_t>(v.data) % static_cast<uintptr_t>(v.element) == 0,
          fmt::format("{} is not aligned to its element", rule.name));
  return v;
}

void check_type(const tensor_view& v, const tensor_view& first) {
  if (!v.tensor) return;
  const uint32_t own = dtype_bit(v.tensor->dtype);
  require(v.rule->types == 0 ? own == dtype_bit(first.tensor->dtype) : (own & v.rule->types) != 0,
          fmt::format("{} has the wrong element type", v.rule->name));
}

// The sizes of extents, found from one dimension after the other.
class extent_solver {
 public:
  explicit extent_solver(const warpcheck_call& call) : call_(call) {}

  // True if the known sizes allow this size for a dimension.
  bool allows(const std::vector<std::string>& factors, int64_t size) const {
    int64_t known = 1;
    for (const std::string& factor : factors)
      if (const auto value = value_of(factor))
        known *= *value;
      else
        return true;
    return size == known;
  }

  const std::map<std::string, int64_t>& sizes() const { return of_; }

  // False while more than one factor of the dimension is unknown.
  bool agree(const std::string& tensor, size_t dimension, const std::vector<std::string>& factors, int64_t size) {
    int64_t known = 1;
    const std::string* open = nullptr;
    for (const std::string& factor : factors) {
      if (const auto value = value_of(factor))
        known *= *value;
      else if (open)
        return false;
      else
        open = &factor;
    }
    if (!open)
      require(size == known,
              fmt::format("{} has the extent {} in dimension {}, must have {}", tensor, size, dimension, known));
    else if (known > 0 && size % known == 0)
      of_[*open] = size / known;
    else
      require(size == 0, fmt::format("{} has the extent {} in dimension {}, must be a multiple of {}", tensor, size,
                                     dimension, known));
    return true;
  }

 private:
  std::optional<int64_t> value_of(const std::string& factor) const {
    int64_t number = 0;
    const char* const end = factor.data() + factor.size();
    if (std::from_chars(factor.data(), end, number).ptr == end) return number;
    if (const auto scalar = find_scalar(call_, factor)) return static_cast<int64_t>(*scalar);
    const auto found = of_.find(factor);
    return found == of_.end() ? std::nullopt : std::optional(found->second);
  }

  const warpcheck_call& call_;
  std::map<std::string, int64_t> of_;
};

extent_solver check_shapes(const std::vector<tensor_view>& tensors, const warpcheck_call& call) {
  extent_solver solver(call);
  std::vector<std::pair<const tensor_view*, size_t>> open, left;
  for (const tensor_view& v : tensors)
    for (int k = 0; v.tensor && k < v.tensor->ndim; ++k) open.emplace_back(&v, static_cast<size_t>(k));
  for (;; open.swap(left), left.clear()) {
    for (const auto& [v, k] : open)
      if (!solver.agree(v->rule->name, k, shape_of(*v->rule, call)[k], v->tensor->shape[k])) left.emplace_back(v, k);
    if (left.size() == open.size()) return solver;
  }
}

// An optional tensor without elements is absent if the sizes would give it some; an empty list of rows is a list.
void find_empty(std::vector<tensor_view>& tensors, const std::vector<const DLTensor*>& given,
                const extent_solver& solver, const warpcheck_call& call) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].tensor || !given[i]) continue;
    const shape_rule& shape = shape_of(*tensors[i].rule, call);
    bool fits = given[i]->ndim == static_cast<int32_t>(shape.size());
    for (size_t k = 0; fits && k < shape.size(); ++k) fits = solver.allows(shape[k], given[i]->shape[k]);
    if (fits) tensors[i].tensor = given[i];
  }
}

// True if an element of one lies in the other; gaps between rows belong to neither.
bool overlap(const tensor_view& a, const tensor_view& b) {
  if (a.is_empty() || b.is_empty()) return false;
  for (int64_t i = 0, j = 0; i < a.rows && j < b.rows;) {
    const auto at = reinterpret_cast<uintptr_t>(a.data) + static_cast<uintptr_t>(i * a.ld * a.element);
    const auto bt = reinterpret_cast<uintptr_t>(b.data) + static_cast<uintptr_t>(j * b.ld * b.element);
    if (at < bt + static_cast<uintptr_t>(b.cols * b.element) && bt < at + static_cast<uintptr_t>(a.cols * a.element))
      return true;
    at < bt ? ++i : ++j;
  }
  return false;
}

// True for the in-place form: an output in the memory of an input with the same extents and layout.
bool is_in_place(const tensor_view& out, const tensor_view& in) {
  return in.rule->is_input && in.tensor && out.tensor && out.data == in.data && out.rule->shape == in.rule->shape &&
         out.rows == in.rows && out.cols == in.cols && out.ld == in.ld && out.tensor->ndim == in.tensor->ndim &&
         dtype_bit(out.tensor->dtype) == dtype_bit(in.tensor->dtype);
}

void check_memory(const std::vector<tensor_view>& tensors) {
  for (const tensor_view& out : tensors) {
    if (out.rule->is_input) continue;
    for (const tensor_view* other = tensors.data(); other != &out; ++other)
      require(is_in_place(out, *other) || !overlap(out, *other),
              fmt::format("{} overlaps {}", out.rule->name, other->rule->name));
    // A workspace of less than one unit of its alignment counts as none.
    if (is_workspace(out) && !out.is_empty())
      require(reinterpret_cast<uintptr_t>(out.data) % k_workspace_alignment == 0 &&
                  out.cols >= static_cast<int64_t>(k_workspace_alignment),
              "work is not aligned to 16 bytes, or has less than 16");
  }
}

double checked_scalar(const scalar_rule& rule, const warpcheck_call& call) {
  const auto given = find_scalar(call, rule.name);
  require(given.has_value(), fmt::format("{} is missing", rule.name));
  const double value = *given;
  // The largest numbers stand for no limit, because JSON has no infinity. A limit refuses NaN.
  constexpr double k_most = std::numeric_limits<double>::max();
  const bool fits_least = rule.least <= -k_most || value >= rule.least;
  const bool fits_most = rule.most >= k_most || value <= rule.most;
  require(fits_least && fits_most && (!rule.is_integer || value == std::floor(value)),
          fmt::format("{} is {}, must be {} from {} to {}", rule.name, value,
                      rule.is_integer ? "an integer" : "a number", rule.least, rule.most));
  return value;
}

}  // namespace

std::string to_text(const contract& c) { return nlohmann::json(c).dump(); }
contract contract_of(const std::string& text) { return nlohmann::json::parse(text).get<contract>(); }

checked_call check_call(const contract& c, const warpcheck_call& call) {
  const form_rule& form = form_of(c, call);
  const auto [inputs, outputs] = counts_of(form);
  require(call.num_inputs <= inputs, fmt::format("the call has {} inputs, must have {}", call.num_inputs, inputs));
  require(call.num_outputs <= outputs, fmt::format("the call has {} outputs, must have {}", call.num_outputs, outputs));
  checked_call checked;
  for (const scalar_rule& rule : form.scalars) checked.scalars.emplace_back(&rule, checked_scalar(rule, call));
  const std::vector<const DLTensor*> given = tensors_of(form, call);
  for (size_t i = 0; i < given.size(); ++i) {
    checked.tensors.push_back(view_of(form.tensors[i], given[i], shape_of(form.tensors[i], call).size()));
    check_type(checked.tensors.back(), checked.tensors.front());
  }
  const extent_solver solver = check_shapes(checked.tensors, call);
  checked.extents = solver.sizes();
  find_empty(checked.tensors, given, solver, call);
  check_memory(checked.tensors);
  return checked;
}

bool is_workspace(const tensor_view& v) { return !v.rule->is_input && v.rule->name == "work"; }

warpcheck_status answer(warpcheck_call* call, warpcheck_status status, const std::string& message) {
  if (call->message && call->message_size > 0) std::snprintf(call->message, call->message_size, "%s", message.c_str());
  return status;
}

warpcheck_operator operator_of(const contract& c, const char* op, warpcheck_device device, uint32_t dtypes,
                               warpcheck_status (*run)(warpcheck_call*), std::vector<const char*>& extents) {
  extents.clear();
  for (const std::string& name : c.extents) extents.push_back(name.c_str());
  warpcheck_operator made =
      operator_of_rows(op, device, dtypes, run, nullptr, 0, {nullptr, 0}, nullptr, extents.data());
  made.num_extents = static_cast<int32_t>(extents.size());
  return made;
}

const char* dtype_name(uint32_t bit) {
  constexpr const char* names[] = {"f32", "f16", "bf16", "f64", "i64", "i32", "u8", "u16", "u32", "i8", "e4m3", "e5m2"};
  for (size_t i = 0; i < std::size(names); ++i)
    if (bit == 1u << i) return names[i];
  return nullptr;
}

}  // namespace warpcheck::cli
