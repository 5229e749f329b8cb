#include "properties/formula/formula_bench.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace warpcheck::formula_trial {

using namespace engine;
using formula::whole_values;

namespace {

// Elements of the largest tensor, and of all outputs; nothing if a tensor has no elements.
struct magnitude {
  double largest = 0, outputs = 0;
};

std::optional<magnitude> magnitude_of(const named_formula& f, const sizes& of) {
  magnitude m;
  try {
    const whole_values all = values_of(f, of, {});
    const auto elements = [&](const formula::tensor& t) {
      double n = 1;
      for (const formula::expr& e : t.shape)
        n *= static_cast<double>(std::max<int64_t>(0, formula::whole_value(e, all)));
      m.largest = std::max(m.largest, n);
      return n;
    };
    for (const formula::tensor& t : f.op.inputs)
      if (elements(t) < 1) return std::nullopt;
    for (const formula::tensor& t : f.op.outputs) {
      const double n = elements(t);
      if (n < 1) return std::nullopt;
      m.outputs += n;
    }
  } catch (const formula::formula_error&) {
    return std::nullopt;
  }
  return m;
}

// Sizes by doubling: every extent in turn, while the largest tensor has at most `most` elements, a call takes no more
// than 2^12 operations an element, and no output becomes smaller (as it does by a larger window).
std::optional<sizes> sizes_up_to(const named_formula& f, const std::vector<std::string>& extents, double most) {
  sizes of;
  std::optional<magnitude> now;
  for (const int64_t least : {1, 2, 4, 8, 16, 32}) {
    for (const std::string& e : extents) of[e] = least;
    if ((now = magnitude_of(f, of))) break;
  }
  if (!now) return std::nullopt;
  for (bool grows = true; grows;) {
    grows = false;
    for (const std::string& e : extents) {
      sizes larger = of;
      larger[e] *= 2;
      const std::optional<magnitude> m = magnitude_of(f, larger);
      if (!m || m->largest > most || m->outputs < now->outputs) continue;
      if (cost_of(f.op, values_of(f, larger, {})) > 0x1p12 * most) continue;
      of = std::move(larger);
      now = m;
      grows = true;
    }
  }
  return of;
}

}  // namespace

std::map<std::string, recipe> bench_fills_of(const named_formula& f, const sizes& of) {
  std::map<std::string, recipe> fills;
  for (const formula::tensor& x : f.op.inputs) {
    if (x.of) {
      const int64_t n = formula::whole_value(x.of, values_of(f, of, {}));
      fills[x.name] = make_recipe("integers", {1, 0, static_cast<double>(std::max<int64_t>(1, n) - 1)});
    } else if (x.range) {
      const auto [least, most] = *x.range;
      const double top = std::min(most, std::max(least, -8.0) + 16);
      if (formula::is_integer(x.type))
        fills[x.name] = make_recipe("integers", {1, std::ceil(least), std::floor(top)});
      else
        fills[x.name] = make_recipe("uniform", {1, std::max(least, std::min(-8.0, top)), top});
    } else if (formula::is_integer(x.type)) {
      fills[x.name] = make_recipe("integers", {1, 0, 9});
    }
  }
  return fills;
}

bench_list bench_of(const named_formula& f) {
  bench_list list;
  std::vector<std::string> extents;
  const auto is_dimension = [&](const std::string& name) {
    const auto mentions = [&](const formula::tensor& t) {
      return std::ranges::any_of(t.shape, [&](const formula::expr& e) { return formula::mentions(e, name); });
    };
    return std::ranges::any_of(f.op.inputs, mentions) || std::ranges::any_of(f.op.outputs, mentions);
  };
  for (const std::string& name : f.op.free_extents())
    if (is_dimension(name)) extents.push_back(name);
  for (const double elements : {0x1p12, 0x1p18, 0x1p24}) {
    const std::optional<sizes> of = sizes_up_to(f, extents, elements);
    if (!of) break;
    if (!list.rows.empty() && list.rows.back().of == *of) continue;
    bench_row row;
    row.of = *of;
    row.type = memory_type(f.op.inputs.front());
    row.fills = bench_fills_of(f, *of);
    list.rows.push_back(std::move(row));
  }
  return list;
}

}  // namespace warpcheck::formula_trial
