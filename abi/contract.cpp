#include "abi/contract.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "abi/candidate_table.hpp"

namespace warpcheck {
namespace {

constexpr uintptr_t k_workspace_alignment = 16;

// The shortest text that reads back as the value.
std::string text_of(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

[[noreturn]] void refuse(const std::string& sentence) { throw std::invalid_argument(sentence); }

std::optional<double> find_scalar(const warpcheck_call& call, std::string_view name) {
  for (int32_t i = 0; i < call.num_scalars; ++i)
    if (call.scalars[i].name == name) return call.scalars[i].value;
  return std::nullopt;
}

std::string_view shape_of(const tensor_rule& rule, const warpcheck_call& call) {
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
  list.reserve(form.tensors.size());
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
    points += given[i]->ndim == dimensions_of(rule.shape) ? 2 : -2;
    points += rule.types == 0 || (rule.types & dtype_bit(given[i]->dtype)) ? 1 : 0;
  }
  return points;
}

const form_rule& form_of(const contract& c, const warpcheck_call& call) {
  const auto rank = [&](const form_rule& form) {
    return std::pair(find_scalar(call, form.when.scalar) == form.when.value, likeness(form, call));
  };
  return *std::max_element(c.forms.begin(), c.forms.end(),
                           [&](const form_rule& a, const form_rule& b) { return rank(a) < rank(b); });
}

tensor_view view_of(const tensor_rule& rule, const DLTensor* t, int dimensions) {
  tensor_view v;
  v.rule = &rule;
  if (!t && !rule.is_optional) refuse(rule.name + " is missing");
  if (!t) return v;
  for (int k = 0; k < t->ndim; ++k)
    if (t->shape[k] < 0) refuse(rule.name + " has the extent " + std::to_string(t->shape[k]) + ", must be >= 0");
  if (rule.is_optional && elements_of(*t) == 0) return v;
  if (t->ndim != dimensions)
    refuse(rule.name + " has " + std::to_string(t->ndim) + " dimensions, must have " + std::to_string(dimensions));
  v.tensor = t;
  v.cols = t->shape[t->ndim - 1];
  v.rows = 1;
  for (int k = 0; k + 1 < t->ndim; ++k) v.rows *= t->shape[k];
  v.ld = t->ndim > 1 && t->strides ? t->strides[t->ndim - 2] : v.cols;
  v.element = t->dtype.bits / 8;
  v.type = dtype_bit(t->dtype);
  if (v.cols > 1 && t->strides && t->strides[t->ndim - 1] != 1)
    throw unsupported_call(rule.name + " has column stride " + std::to_string(t->strides[t->ndim - 1]) + ", must be 1");
  if (!v.is_empty() && t->data) v.data = static_cast<char*>(t->data) + t->byte_offset;
  return v;
}

void check_type(const tensor_view& v, const tensor_view& first) {
  if (v.tensor && (v.rule->types == 0 ? v.type != first.type : (v.type & v.rule->types) == 0))
    refuse(v.rule->name + " has the wrong element type");
}

void check_presence(const tensor_view& v, const checked_call& checked, const warpcheck_call& call) {
  const scalar_value* forbids = nullptr;
  for (const scalar_value& never : v.rule->never_with)
    if (find_scalar(call, never.scalar) == never.value) forbids = &never;
  if (!v.tensor && !forbids && !v.rule->before.empty() && !checked.at(v.rule->before).is_empty())
    refuse(v.rule->name + " is absent, must be " + v.rule->before + " as it was before");
  if (!v.tensor) return;
  if (forbids)
    refuse(v.rule->name + " is given, must be absent where " + forbids->scalar + " is " + text_of(forbids->value));
  if (!v.rule->beside.empty() && !checked.at(v.rule->beside).tensor)
    refuse(v.rule->name + " is given, must be absent where " + v.rule->beside + " is");
}

// The sizes of extents, found from one dimension after the other.
class extent_solver {
 public:
  explicit extent_solver(const warpcheck_call& call) : call_(call) {}

  // True if the known sizes allow this size for a dimension.
  bool allows(std::string_view factors, int64_t size) const {
    const product p = product_of(factors);
    return p.unknowns > 0 || size == p.known;
  }

  // False while more than one factor of the dimension is unknown.
  bool agree(const std::string& tensor, int dimension, std::string_view factors, int64_t size) {
    const product p = product_of(factors);
    if (p.unknowns > 1) return false;
    const bool fits = p.unknowns == 0 ? size == p.known : p.known > 0 ? size % p.known == 0 : size == 0;
    if (!fits)
      refuse(tensor + " has the extent " + std::to_string(size) + " in dimension " + std::to_string(dimension) +
             ", must " + (p.unknowns == 0 ? "have " : "be a multiple of ") + std::to_string(p.known) +
             (p.unknowns == 0 && factors != std::to_string(p.known) ? " = " + std::string(factors) : ""));
    if (p.unknowns == 1 && p.known > 0) of_.emplace(p.unknown, size / p.known);
    return true;
  }

  std::map<std::string, int64_t, std::less<>> take() { return std::move(of_); }

 private:
  struct product {
    int64_t known = 1;
    std::string_view unknown;
    int unknowns = 0;
  };

  product product_of(std::string_view factors) const {
    product p;
    for (const std::string_view factor : trimmed_parts(factors, "*")) {
      if (const auto value = value_of(factor)) {
        p.known *= *value;
      } else {
        p.unknown = factor;
        ++p.unknowns;
      }
    }
    return p;
  }

  std::optional<int64_t> value_of(std::string_view factor) const {
    int64_t number = 0;
    const char* const end = factor.data() + factor.size();
    if (std::from_chars(factor.data(), end, number).ptr == end) return number;
    if (const auto scalar = find_scalar(call_, factor)) return static_cast<int64_t>(*scalar);
    const auto found = of_.find(factor);
    return found == of_.end() ? std::nullopt : std::optional(found->second);
  }

  const warpcheck_call& call_;
  std::map<std::string, int64_t, std::less<>> of_;
};

// Dimensions whose product has several unknown extents wait until others have determined these.
void solve(extent_solver& solver, const std::vector<tensor_view>& tensors, const warpcheck_call& call) {
  for (size_t before = SIZE_MAX;;) {
    size_t open = 0;
    for (const tensor_view& v : tensors) {
      if (!v.tensor) continue;
      int k = 0;
      for (const std::string_view factors : trimmed_parts(shape_of(*v.rule, call), ",")) {
        if (!solver.agree(v.rule->name, k, factors, v.tensor->shape[k])) ++open;
        ++k;
      }
    }
    if (open == 0 || open == before) return;
    before = open;
  }
}

// An optional tensor without elements is absent if the sizes would give it some; an empty list of rows is a list.
void find_empty(std::vector<tensor_view>& tensors, const std::vector<const DLTensor*>& given,
                const extent_solver& solver, const warpcheck_call& call) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].tensor || !given[i]) continue;
    const std::string_view shape = shape_of(*tensors[i].rule, call);
    bool fits = given[i]->ndim == dimensions_of(shape);
    int k = 0;
    for (const std::string_view factors : trimmed_parts(shape, ",")) {
      fits = fits && solver.allows(factors, given[i]->shape[k]);
      ++k;
    }
    if (fits) tensors[i].tensor = given[i];
  }
}

std::string allowed_values(const scalar_rule& rule) {
  if (rule.names.empty())
    return (rule.is_integer ? "an integer from " : "a number from ") + text_of(rule.least) + " to " +
           text_of(rule.most);
  std::string list;
  for (size_t code = 0; code < rule.names.size(); ++code)
    list += (code == 0                       ? ""
             : code + 1 == rule.names.size() ? " or "
                                             : ", ") +
            std::to_string(code) + " (" + rule.names[code] + ")";
  return list;
}

double checked_scalar(const scalar_rule& rule, const warpcheck_call& call) {
  const auto given = find_scalar(call, rule.name);
  if (!given) refuse(rule.name + " is missing");
  const double value = *given;
  constexpr double k_most = std::numeric_limits<double>::max();
  const bool fits_least = rule.least <= -k_most || value >= rule.least;
  const bool fits_most = rule.most >= k_most || value <= rule.most;
  if (!fits_least || !fits_most || (rule.is_integer && value != std::floor(value)))
    refuse(rule.name + " is " + text_of(value) + ", must be " + allowed_values(rule));
  return value;
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
         out.type == in.type;
}

}  // namespace

scalar_rule enumeration(std::string name, std::vector<std::string> names, double usual, std::string meaning,
                        std::string of_tensor) {
  const double most = static_cast<double>(names.size()) - 1;
  return {std::move(name), usual, std::move(meaning), 0, most, true, std::move(names), std::move(of_tensor)};
}

int dimensions_of(std::string_view shape) { return static_cast<int>(std::count(shape.begin(), shape.end(), ',')) + 1; }

bool is_workspace(const tensor_view& v) { return !v.rule->is_input && v.rule->name == "work"; }

const tensor_view& checked_call::at(std::string_view tensor) const {
  for (const tensor_view& v : tensors)
    if (v.rule->name == tensor) return v;
  throw std::logic_error("the contract has no tensor " + std::string(tensor));
}

double checked_call::scalar(std::string_view name) const {
  for (const auto& [rule, value] : scalars)
    if (rule->name == name) return value;
  throw std::logic_error("the contract has no scalar " + std::string(name));
}

int64_t checked_call::extent(std::string_view name) const {
  const auto found = extents.find(name);
  if (found == extents.end()) throw std::logic_error("no tensor of the call has the extent " + std::string(name));
  return found->second;
}

checked_call check_call(const contract& c, const warpcheck_call& call) {
  checked_call checked;
  const form_rule& form = form_of(c, call);
  checked.form = &form;
  const auto [inputs, outputs] = counts_of(form);
  const auto check_count = [](int32_t count, int32_t most, const char* what) {
    if (count > most)
      refuse("the call has " + std::to_string(count) + what + std::string(", must have ") + std::to_string(most));
  };
  check_count(call.num_inputs, inputs, " inputs");
  check_count(call.num_outputs, outputs, " outputs");
  for (const scalar_rule& rule : form.scalars) checked.scalars.emplace_back(&rule, checked_scalar(rule, call));
  const std::vector<const DLTensor*> given = tensors_of(form, call);
  checked.tensors.reserve(given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    const tensor_rule& rule = form.tensors[i];
    checked.tensors.push_back(view_of(rule, given[i], dimensions_of(shape_of(rule, call))));
    check_type(checked.tensors.back(), checked.tensors.front());
  }
  for (const tensor_view& v : checked.tensors) check_presence(v, checked, call);
  extent_solver solver(call);
  solve(solver, checked.tensors, call);
  find_empty(checked.tensors, given, solver, call);
  checked.extents = solver.take();
  return checked;
}

void check_memory(const checked_call& call) {
  for (const tensor_view& v : call.tensors) {
    const std::string& name = v.rule->name;
    if (v.tensor && v.ld < v.cols)
      refuse("ld" + name + " is " + std::to_string(v.ld) + ", must be >= cols = " + std::to_string(v.cols));
    if (v.is_empty()) continue;
    if (!v.rule->before.empty() && !is_in_place(call.at(v.rule->before), v)) refuse(name + " is not " + v.rule->before);
    if (!v.data) refuse(name + " is null");
    if (reinterpret_cast<uintptr_t>(v.data) % static_cast<uintptr_t>(v.element) != 0)
      refuse(name + " is not aligned to its element");
  }
  for (const tensor_view& out : call.tensors) {
    if (out.rule->is_input) continue;
    for (const tensor_view* other = call.tensors.data(); other != &out; ++other)
      if (!is_in_place(out, *other) && overlap(out, *other)) refuse(out.rule->name + " overlaps " + other->rule->name);
    // A workspace of less than one unit of its alignment counts as none.
    if (is_workspace(out) && !out.is_empty() &&
        (reinterpret_cast<uintptr_t>(out.data) % k_workspace_alignment != 0 ||
         out.cols < static_cast<int64_t>(k_workspace_alignment)))
      refuse("work is not aligned to 16 bytes, or has less than 16");
  }
}

}  // namespace warpcheck
