#include "bench/row_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "properties/engine/trials/property.hpp"

namespace warpcheck::bench {

using namespace engine;

trial_case case_of(const description& d, const bench_row& row) {
  target t;
  t.op = d.op;
  t.device = "cuda";
  t.type = row.type;
  std::map<std::string, recipe> fills = row.fills;
  const call_form& form = d.forms[row.form];
  for (const tensor_rule& info : form.tensors)
    if (d.lists_all_tensors) fills.try_emplace(info.name);
  trial_case c = make_case(d, t, row.of, std::move(fills), row.form);
  for (tensor_spec& x : c.tensors)
    if (d.lists_all_tensors && form.find(x.name)->is_optional && !row.tensors.contains(x.name)) {
      x.shape.assign(x.shape.size(), 0);
      x.ld = 0;
    }
  for (const auto& [name, type] : row.tensors) {
    if (tensor_spec* const there = c.find(name))
      there->type = type;
    else
      add_tensor(c, name, type);
  }
  for (const auto& [name, value] : row.scalars) set_knob(c, name, value);
  reshape(d, c, row.of);
  return c;
}

std::string name_of(const description& d, const bench_row& row) {
  if (!row.name.empty()) return d.op + "/" + row.name;
  std::string text = fmt::format("{}/{}/{}", d.op, warpcheck::name_of(row.type), row.of.size() == 1 ? "1x" : "");
  bool first = true;
  for (const extent_info& e : d.extents) {
    if (!row.of.contains(e.name)) continue;
    text += fmt::format("{}{}", first ? "" : "x", row.of.at(e.name));
    first = false;
  }
  if (row.offset != 0) text += fmt::format("/offset:{}", row.offset);
  for (const std::string& special : {row.note, row.variant})
    if (!special.empty()) text += "/" + special;
  return text;
}

traffic traffic_of(const description& d, const bench_row& row) {
  const trial_case c = case_of(d, row);
  const tensor_spec* const selection = c.find(d.bench.selection);
  traffic t;
  for (const tensor_spec& s : c.tensors) {
    if (s.is_workspace()) continue;
    const bool is_picked = selection && s.is_input && extent_of(d, c, s, 0) == d.bench.selection;
    const size_t bytes =
        is_picked ? bytes_of(s) * static_cast<size_t>(selection->elements()) / static_cast<size_t>(s.shape[0])
                  : bytes_of(s);
    (s.is_input ? t.in : t.out) += bytes;
    if (selection && s.is_input && s.name != d.bench.selection) t.picked += bytes;
  }
  const tensor_spec& x = c.tensors.front();
  const std::string& slices = d.bench.slices;
  if (!slices.empty() && extent_of(d, c, x, 0) == slices)
    t.slice = bytes_of(x) / static_cast<size_t>(std::max<int64_t>(1, row.of.at(slices)));
  return t;
}

int64_t elements_of(const description& d, const bench_row& row) {
  int64_t most = 0;
  for (const tensor_spec& t : case_of(d, row).tensors)
    if (!t.is_workspace()) most = std::max(most, t.elements());
  return most;
}

}  // namespace warpcheck::bench
