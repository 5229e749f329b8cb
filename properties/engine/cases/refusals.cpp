#include "properties/engine/cases/refusals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "properties/engine/cases/description.hpp"

namespace warpcheck::engine {
namespace {

// The dimensions that have the extent as a factor.
void refuse_negative(trial& t, const description& d, const std::string& extent) {
  const trial_case& c = t.the_case();
  sizes of = sizes_of(d, c);
  trial_case larger = c;
  ++of[extent];
  reshape(d, larger, of);
  t.expect_refusal(extent + " = -1", [&](auto& v) {
    for (size_t i = 0; i < v.size(); ++i)
      for (size_t k = 0; k < c.tensors[i].shape.size(); ++k)
        if (larger.tensors[i].shape[k] != c.tensors[i].shape[k]) v[i].shape[k] = -1;
  });
}

void refuse_tensor(trial& t, const call_form& form, size_t i) {
  const trial_case& c = t.the_case();
  const tensor_spec& s = c.tensors[i];
  const std::string& name = s.name;
  const auto element = static_cast<int64_t>(size_of(s.type));
  if (!form.find(name)->is_optional) t.expect_refusal(name + " = null", [i](auto& v) { v[i].data = nullptr; });
  if (s.shape.size() > 1)
    t.expect_refusal("ld" + name + " = cols - 1", [i](auto& v) {
      const auto rank = static_cast<size_t>(v[i].ndim);
      v[i].strides[rank - 2] = v[i].shape[rank - 1] - 1;
    });
  if (element > 1)
    t.expect_refusal(name + " is off by a byte", [i](auto& v) { v[i].data = static_cast<char*>(v[i].data) + 1; });
  if (s.is_input) return;
  for (size_t j = 0; j < i; ++j) {
    const tensor_spec& other = c.tensors[j];
    if (other.elements() == 0) continue;  // absent
    const auto step = static_cast<int64_t>(size_of(other.type));
    // In-place use is legal for an input of the same extents and type, so it must not be refused.
    const bool is_alike = other.is_input && other.shape == s.shape && (s.shape.size() > 1 || other.type == s.type);
    if (!is_alike) {
      t.expect_refusal(name + " lies in " + other.name, [i, j](auto& v) { v[i].data = v[j].data; });
      continue;
    }
    if (s.cols() > 1)
      t.expect_refusal(name + " overlaps " + other.name + " by all but one element",
                       [i, j, step](auto& v) { v[i].data = static_cast<char*>(v[j].data) + step; });
    if (s.rows() < 2) continue;
    t.expect_refusal(name + " = " + other.name + " with other strides", [i, j](auto& v) {
      v[i].data = v[j].data;
      const auto row = static_cast<size_t>(v[i].ndim) - 2;
      v[i].strides[row] = v[j].strides[row] + 1;
    });
  }
}

// Values beyond the description: the code after the last, a number beyond either end, NaN.
std::vector<std::string> illegal_values(const scalar_rule& s) {
  if (!s.names.empty()) return {fmt::format("{}", s.names.size())};
  if (s.is_integer) return {format_number(s.most + 1)};
  std::vector<std::string> values;
  if (std::isfinite(s.least)) values.push_back(format_number(s.least > 0 ? 0 : s.least - std::max(1.0, -s.least)));
  if (std::isfinite(s.most)) values.push_back(format_number(s.most + std::max(1.0, std::fabs(s.most))));
  if (!values.empty()) values.push_back("nan");
  return values;
}

}  // namespace

void refuse_workspaces(trial& t, workspace_size given) {
  const trial_case& c = t.the_case();
  for (size_t i = 0; i < c.tensors.size(); ++i) {
    // A workspace of one byte has no smaller size but none, and for none the candidate allocates its own.
    if (!c.tensors[i].is_workspace() || c.tensors[i].elements() < 2) continue;
    const std::string& name = c.tensors[i].name;
    if (given == workspace_size::least) t.expect_refusal(name + " of a byte less", [i](auto& v) { --v[i].shape[0]; });
    t.expect_refusal(name + " of one byte", [i](auto& v) { v[i].shape[0] = 1; });
    t.expect_refusal(name + " is off by a byte", [i](auto& v) { v[i].data = static_cast<char*>(v[i].data) + 1; });
  }
}

void refuse_common(trial& t, workspace_size given) {
  const trial_case& c = t.the_case();
  const description& d = *find_description(c.op);
  const call_form& form = *d.form_of(c);
  const sizes of = sizes_of(d, c);
  if (std::ranges::any_of(of, [&](const auto& e) { return !d.find(e.first)->derived && e.second < 1; }))
    t.skip("a call without elements does not break the contract in every way");
  for (const extent_info& e : d.extents)
    if (!e.derived && of.count(e.name)) refuse_negative(t, d, e.name);
  for (size_t i = 0; i < c.tensors.size(); ++i)
    if (c.tensors[i].elements() > 0) refuse_tensor(t, form, i);
  if (t.stated().has_our_plan) refuse_workspaces(t, given);
  for (const scalar_rule& s : form.scalars)
    for (const std::string& value : illegal_values(s)) {
      trial_case illegal = c;
      illegal.knobs[s.name] = value;
      t.expect_refusal(
          fmt::format("{} = {}", s.name, value), [](auto&) {}, &illegal);
    }
}

}  // namespace warpcheck::engine
