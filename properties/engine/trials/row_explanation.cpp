// Explanations of operators with one input and one output, row by row: chooses the row and its element.
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "properties/engine/trials/explanation.hpp"

namespace warpcheck::engine {
namespace {

using doubles = std::vector<double>;

const tensor_spec& first_output(const trial_case& c) {
  for (const tensor_spec& t : c.tensors)
    if (!t.is_input && !t.is_workspace()) return t;
  throw std::logic_error("a case without an output");
}

// An output with one element for each row of a matrix.
bool is_row_value(const trial_case& c) {
  return first_output(c).shape.size() == 1 && c.tensors.front().shape.size() == 2;
}

doubles row_of(const trial_case& c, const host_tensor& t, int64_t row) {
  return is_row_value(c) ? doubles{t.value(0, row)} : t.row(row);
}

struct place {
  int64_t row = 0, element = 0;
};

// Returns the place of the report's worst element, or else of the element furthest from its exact value, relative to
// its bound.
place place_of(const observed_call& call, const host_tensor& x, const host_tensor* y, const row_explainer& explainer) {
  const trial_case& c = call.c;
  if (call.worst && call.worst->tensor == first_output(c).name)
    return is_row_value(c) ? place{call.worst->col, 0} : place{call.worst->row, call.worst->col};
  constexpr int64_t k_most_rows = 64;
  place found;
  double worst = -1;
  for (int64_t row = 0; y && row < std::min(x.spec.rows(), k_most_rows); ++row) {
    const doubles values = x.row(row), actual = row_of(c, *y, row);
    if (actual.empty()) continue;
    const explained_row explained = explainer({c, values, y->spec.type, 0, actual});
    for (size_t i = 0; i < actual.size(); ++i)
      if (const double s = share_of_bound(actual[i], explained.exact[i], explained.bound[i]); s > worst) {
        worst = s;
        found = {row, static_cast<int64_t>(i)};
      }
  }
  return found;
}

std::string input_sentence(const explained_call& s) {
  double least = HUGE_VAL, most = -HUGE_VAL;
  int64_t nans = 0, infinite = 0;
  for (const double v : s.input) {
    nans += std::isnan(v);
    infinite += std::isinf(v);
    if (std::isfinite(v)) least = std::min(least, v), most = std::max(most, v);
  }
  std::string text = fmt::format("Row {} has {} element{}", s.row, s.input.size(), s.input.size() == 1 ? "" : "s");
  if (least <= most) text += fmt::format(", finite ones from {:.9g} to {:.9g}", least + 0.0, most + 0.0);  // no -0
  if (infinite) text += fmt::format(", {} infinite", infinite);
  if (nans) text += fmt::format(", {} NaN", nans);
  return text + ".";
}

explained_call explain_rows(const observed_call& call, const row_explainer& explainer) {
  explained_call s;
  const tensor_spec& out = first_output(call.c);
  const host_tensor& x = call.inputs.at(call.c.tensors.front().name);
  if (x.spec.elements() == 0) return s;
  const host_tensor* y = call.outputs ? &call.outputs->at(out.name) : nullptr;
  const place at = place_of(call, x, y, explainer);
  s.output = out.name;
  s.element_name = fmt::format("{}[{}]", out.name, at.element);
  s.row_name = "the row";
  s.row = at.row;
  s.element = at.element;
  s.input = x.row(at.row);
  if (y) s.actual = row_of(call.c, *y, at.row);
  s.values = explainer({call.c, s.input, out.type, at.element, s.actual});
  s.about = {input_sentence(s)};
  return s;
}

}  // namespace

explainer_registration::explainer_registration(std::string op, row_explainer explainer)
    : explainer_registration(std::move(op),
                             call_explainer([explainer = std::move(explainer)](const observed_call& call) {
                               return explain_rows(call, explainer);
                             })) {}

}  // namespace warpcheck::engine
