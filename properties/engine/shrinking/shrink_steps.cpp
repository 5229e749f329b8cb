#include "properties/engine/shrinking/shrink_steps.hpp"

#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/shrinking/shrink.hpp"

namespace warpcheck::engine {

bool is_fixed_knob(std::string_view name) { return name == "device" || name == "candidate" || name == "formula"; }

namespace {

// --- The order: which case is simpler ---

constexpr int64_t k_small_matrix_elements = 8;  // so few values are listed one by one
constexpr int64_t k_scan_elements = 1 << 20;    // special values are not searched beyond that

double cost_of(double v) {
  if (std::isnan(v)) return std::signbit(v) ? 90.5 : 90;
  if (std::isinf(v)) return v > 0 ? 80 : 81;
  if (v == 0) return std::signbit(v) ? 2.5 : 0;
  const double sign = v < 0 ? 0.5 : 0, magnitude = std::abs(v);
  if (magnitude == 1) return 1 + sign;
  if (magnitude == std::trunc(magnitude) && magnitude <= 1 << 20) return 2 + std::log2(magnitude) + sign;
  std::string digits = fmt::format("{}", magnitude);
  digits = digits.substr(0, digits.find('e'));
  return 100 + 40 * static_cast<double>(digits.size()) + std::abs(std::log2(magnitude)) / 32 + sign;
}

double cost_of_distribution(const std::string& name) {
  static const std::map<std::string_view, double> costs = {
      {"constant", 0},   {"integers", 1}, {"dyadic", 2},   {"alternating", 2}, {"ascending", 2},
      {"descending", 2}, {"spike", 2},    {"sawtooth", 2}, {"one_hot", 3},     {"stagnation", 3},
      {"late_rise", 3},  {"npy", 9},      {"derived", 0}};
  const auto found = costs.find(name);
  return found == costs.end() ? 5 : found->second;
}

double cost_of_knobs(const trial_case& c) {
  double cost = 0;
  for (const auto& [name, value] : c.knobs)
    if (name != "schedule" && !is_fixed_knob(name)) cost += 1;
  if (!is_emulated(c)) return cost + (c.knobs.count("schedule") ? 1 : 0);
  // One plain schedule is simpler than the default set, and any of these is simpler than a token.
  const std::string schedule = c.knob("schedule");
  if (schedule == "fair") return cost;
  if (schedule == "greedy" || schedule == "reverse") return cost + 0.25;
  return cost + (schedule == "default" ? 0.5 : 0.75);
}

// Compared lexicographically.
std::array<double, 8> cost_of(const trial_case& c) {
  std::array<double, 8> cost = {};
  for (const tensor_spec& t : c.tensors) {
    cost[0] += static_cast<double>(t.elements());
    for (int64_t extent : t.shape) cost[1] += static_cast<double>(extent);
    cost[6] += static_cast<double>(t.ld - t.cols() + t.offset) + (t.is_in_memory_of_another() ? 1 : 0);
    if (!t.is_input || !t.same.empty()) continue;
    cost[2] += cost_of_distribution(t.fill.distribution);
    cost[3] += static_cast<double>(t.fill.edits.size());
    for (double a : t.fill.arguments) cost[4] += cost_of(a);
    for (const edit& e : t.fill.edits) cost[5] += cost_of(e.value) + static_cast<double>(e.row + e.col);
  }
  cost[7] = cost_of_knobs(c);
  return cost;
}

// --- The steps ---

}  // namespace

// An extent that only an optional tensor has is 0 if the case leaves the tensor out.
int64_t extent(const trial_case& c, const axis& a) { return size_in(sizes_of(*find_description(c.op), c), a.front()); }

std::vector<axis> axes(const trial_case& c) {
  std::vector<axis> found;
  const description* d = find_description(c.op);
  if (!d) return found;
  const sizes of = sizes_of(*d, c);
  std::map<int64_t, size_t> place;
  for (const extent_info& e : d->extents) {
    const auto size = of.find(e.name);
    if (e.derived || size == of.end()) continue;
    const auto [at, is_new] = place.emplace(size->second, found.size());
    if (is_new) found.emplace_back();
    found[at->second].push_back(e.name);
  }
  for (size_t i = 0, together = found.size(); i < together; ++i)
    if (const axis all = found[i]; all.size() > 1)
      for (const std::string& name : all) found.push_back({name});
  return found;
}

namespace {

std::vector<std::string> parameters(const std::string& distribution) {
  std::vector<std::string> names;
  for (const distribution_info& info : distributions()) {
    if (info.name != distribution) continue;
    for (size_t begin = 0; begin <= info.parameters.size();) {
      const size_t end = std::min(info.parameters.find(',', begin), info.parameters.size());
      std::string name(info.parameters.substr(begin, end - begin));
      if (name.ends_with('?')) name.pop_back();
      names.push_back(std::move(name));
      begin = end + 1;
    }
  }
  return names;
}

bool is_array(const tensor_spec& t) { return t.fill.distribution == "npy"; }

// Keeps the columns that a recipe names within a tensor of a new shape.
void keep_recipe_inside(tensor_spec& t) {
  const std::vector<std::string> names = parameters(t.fill.distribution);
  for (size_t k = 0; k < std::min(names.size(), t.fill.arguments.size()); ++k) {
    double& argument = t.fill.arguments[k];
    if (names[k] == "column") argument = std::min(argument, static_cast<double>(std::max<int64_t>(0, t.cols() - 1)));
    if (names[k] == "begin" || names[k] == "end") argument = std::min(argument, static_cast<double>(t.cols()));
  }
}

// Moves edits that lie outside to the last row and column, and left of an edit that is there already.
void keep_edits_inside(tensor_spec& t) {
  if (t.elements() == 0) {
    t.fill.edits.clear();
    return;
  }
  std::vector<edit> kept;
  // The last of several edits of one element counts.
  for (auto e = t.fill.edits.rbegin(); e != t.fill.edits.rend(); ++e) {
    const bool moved = e->row >= t.rows() || e->col >= t.cols();
    edit inside = *e;
    inside.row = std::min(e->row, t.rows() - 1);
    inside.col = std::min(e->col, t.cols() - 1);
    const auto taken = [&] {
      return std::ranges::any_of(kept, [&](const edit& k) { return k.row == inside.row && k.col == inside.col; });
    };
    if (moved)
      while (inside.col > 0 && taken()) --inside.col;
    if (!taken()) kept.push_back(inside);
  }
  std::ranges::reverse(kept);
  t.fill.edits = std::move(kept);
}

}  // namespace

trial_case resized(const trial_case& c, const axis& a, int64_t n) {
  const description& d = *find_description(c.op);
  sizes of = sizes_of(d, c);
  for (const std::string& name : a) of[name] = n;
  trial_case r = c;
  reshape(d, r, of);
  for (size_t i = 0; i < r.tensors.size(); ++i) {
    tensor_spec& t = r.tensors[i];
    if (!t.is_input || t.shape == c.tensors[i].shape) continue;
    keep_edits_inside(t);
    if (is_array(t)) {
      if (t.fill.arguments.empty()) t.fill.arguments = {0, 0};
      continue;
    }
    keep_recipe_inside(t);
  }
  return r;
}

// Shapes follow from scalars, for example a transposed operand's. The extents stay; a matrix that is stored in the
// other order keeps its edits at the same elements.
trial_case with_knobs(const trial_case& c, std::map<std::string, std::string> knobs) {
  trial_case r = c;
  r.knobs = std::move(knobs);
  const description* d = find_description(c.op);
  if (!d) return r;
  reshape(*d, r, sizes_of(*d, c));
  for (size_t i = 0; i < r.tensors.size(); ++i) {
    tensor_spec& t = r.tensors[i];
    const std::vector<int64_t>& before = c.tensors[i].shape;
    if (!t.is_input || t.shape == before) continue;
    // A part of a user's array has its own shape.
    if (is_array(t)) return c;
    if (t.shape.size() == 2 && t.shape[0] == before[1] && t.shape[1] == before[0])
      for (edit& e : t.fill.edits) std::swap(e.row, e.col);
    keep_edits_inside(t);
    keep_recipe_inside(t);
  }
  return r;
}

std::vector<int64_t> turning_points(int64_t n) {
  std::set<int64_t> sizes;
  for (int64_t p = 4; p / 2 < n && p <= 1 << 16; p *= 2) {
    sizes.insert({p - 1, p, p + 1});
    if (p <= 4096) sizes.insert({n % p, n % p + p});
  }
  sizes.erase(sizes.lower_bound(n), sizes.end());
  sizes.erase(sizes.begin(), sizes.lower_bound(3));
  return {sizes.begin(), sizes.end()};
}

namespace {

// Simpler numbers, simplest first.
std::vector<double> simpler_numbers(double v) {
  std::vector<double> numbers = {0, 1, -1};
  if (std::isfinite(v) && v != 0) {
    const double sign = v < 0 ? -1 : 1, magnitude = std::abs(v);
    const double exponent = std::floor(std::log10(magnitude));
    const auto power = [&](double e) { return std::strtod(fmt::format("1e{}", static_cast<int>(e)).c_str(), nullptr); };
    for (double e : {exponent / 2, exponent * 3 / 4, exponent * 7 / 8, exponent - 1, exponent, exponent + 1})
      numbers.push_back(sign * power(std::trunc(e)));
    numbers.push_back(std::strtod(fmt::format("{:.0e}", v).c_str(), nullptr));
    if (magnitude <= 1 << 20) {
      numbers.push_back(std::trunc(v));
      for (double step = std::floor(magnitude / 2); step >= 1; step = std::floor(step / 2))
        numbers.push_back(sign * (std::trunc(magnitude) - step));
    }
    numbers.push_back(magnitude);
  }
  std::vector<double> found;
  for (double n : numbers)
    if (cost_of(n) < cost_of(v) && std::ranges::find(found, n) == found.end()) found.push_back(n);
  return found;
}

recipe constant(double value) {
  recipe r;
  r.arguments = {value};
  return r;
}

// Returns the values that need special handling, one of each kind that the tensor holds, at their places.
std::vector<edit> remarkable_values(const tensor_spec& t) {
  std::vector<edit> found;
  if (t.elements() > k_scan_elements) return found;
  const value_source source(t.fill, t.type, t.cols());
  edit greatest, least, smallest;
  std::set<std::string> others;
  for (int64_t r = 0; r < t.rows(); ++r)
    for (int64_t c = 0; c < t.cols(); ++c) {
      const double v = decode(t.type, source.bits(r, c));
      if (!std::isfinite(v) || (v == 0 && std::signbit(v))) {
        if (others.insert(format_number(v)).second) found.push_back({r, c, v});
      } else {
        if (v > greatest.value) greatest = {r, c, v};
        if (v < least.value) least = {r, c, v};
        if (v != 0 && (smallest.value == 0 || std::abs(v) < std::abs(smallest.value))) smallest = {r, c, v};
      }
    }
  for (const edit& e : {greatest, least, smallest})
    if (e.value != 0 && (found.empty() || !(found.back() == e))) found.push_back(e);
  return found;
}

// Adds `c` with one input's fill replaced.
void add_fill(steps& s, const trial_case& c, size_t tensor, recipe fill) {
  if (fill == c.tensors[tensor].fill) return;
  s.push_back(c);
  s.back().tensors[tensor].fill = std::move(fill);
  settle_memory(s.back());
}

// The input value by value; the most frequent one is the constant.
recipe by_values(const tensor_spec& x) {
  const value_source source(x.fill, x.type, x.cols());
  std::map<uint64_t, int> times;
  for (int64_t i = 0; i < x.elements(); ++i) ++times[source.bits(i / x.cols(), i % x.cols())];
  const uint64_t usual =
      std::ranges::max_element(times, [](const auto& a, const auto& b) { return a.second < b.second; })->first;
  recipe r = constant(decode(x.type, usual));
  for (int64_t i = 0; i < x.elements(); ++i)
    if (const uint64_t bits = source.bits(i / x.cols(), i % x.cols()); bits != usual)
      r.edits.push_back({i / x.cols(), i % x.cols(), decode(x.type, bits)});
  return r;
}

}  // namespace

steps simpler_fills(const trial_case& c) {
  steps s;
  for (size_t t = 0; t < c.tensors.size(); ++t) {
    const tensor_spec& x = c.tensors[t];
    if (!x.is_input || !x.same.empty()) continue;
    const auto with = [&](recipe r) {
      r.edits = x.fill.edits;
      add_fill(s, c, t, std::move(r));
    };
    if (x.fill.distribution == "derived") continue;
    if (x.elements() == 0) {
      add_fill(s, c, t, constant(0));
      continue;
    }
    // A user who brings an array asks about its values.
    if (is_array(x)) continue;
    if (x.fill.distribution != "constant") {
      with(constant(0));
      with(constant(1));
      if (x.fill.distribution != "integers") {
        recipe integers;
        integers.distribution = "integers";
        integers.arguments = {1, -1, 1};
        with(integers);
      }
      for (const edit& e : remarkable_values(x))
        for (double rest : {0.0, 1.0}) {
          recipe r = constant(rest);
          r.edits = {e};
          add_fill(s, c, t, std::move(r));
        }
    }
    if (x.elements() <= k_small_matrix_elements) add_fill(s, c, t, by_values(x));
    const std::vector<std::string> names = parameters(x.fill.distribution);
    if (x.fill.distribution == "randn" && x.fill.arguments.size() > 1) {
      recipe r = x.fill;
      r.arguments.resize(1);
      add_fill(s, c, t, std::move(r));
    }
    for (size_t i = 0; i < std::min(names.size(), x.fill.arguments.size()); ++i) {
      const bool is_seed = names[i] == "seed";
      for (double v : is_seed ? std::vector<double>{1} : simpler_numbers(x.fill.arguments[i])) {
        recipe r = x.fill;
        r.arguments[i] = v;
        add_fill(s, c, t, std::move(r));
      }
    }
  }
  return s;
}

trial_case part_of(const trial_case& c, size_t tensor, size_t dimension, int64_t begin, int64_t n) {
  const tensor_spec& x = c.tensors[tensor];
  const description* d = find_description(c.op);
  const std::string_view name = d ? extent_of(*d, c, x, dimension) : "";
  if (name.empty()) return c;
  trial_case part = resized(c, {std::string(name)}, n);
  std::vector<double>& at = part.tensors[tensor].fill.arguments;
  if (at.empty()) at = {0, 0};
  // The one dimension of a vector is that of columns.
  at[x.shape.size() == 2 ? dimension : 1] += static_cast<double>(begin);
  settle_memory(part);
  return part;
}

steps simpler_parts(const trial_case& c) {
  steps s;
  for (size_t t = 0; t < c.tensors.size(); ++t) {
    const tensor_spec& x = c.tensors[t];
    if (!x.is_input || !x.same.empty() || !is_array(x) || x.shape.size() > 2) continue;
    for (size_t d = 0; d < x.shape.size(); ++d)
      for (int64_t step = x.shape[d] / 2; step > 0; step /= 2) s.push_back(part_of(c, t, d, step, x.shape[d] - step));
  }
  return s;
}

steps simpler_edits(const trial_case& c) {
  steps s;
  for (size_t t = 0; t < c.tensors.size(); ++t) {
    if (!c.tensors[t].same.empty()) continue;
    const recipe& fill = c.tensors[t].fill;
    const size_t n = fill.edits.size();
    const auto without = [&](size_t begin, size_t end) {
      recipe r = fill;
      r.edits.erase(r.edits.begin() + static_cast<ptrdiff_t>(begin), r.edits.begin() + static_cast<ptrdiff_t>(end));
      add_fill(s, c, t, std::move(r));
    };
    // First all of them, then smaller and smaller parts (Zeller's delta debugging).
    for (size_t part = n; part > 0; part /= 2)
      for (size_t begin = 0; begin < n; begin += part) without(begin, std::min(n, begin + part));
    for (size_t i = 0; i < n; ++i) {
      const auto with = [&](edit e) {
        for (size_t k = 0; k < n; ++k)
          if (k != i && fill.edits[k].row == e.row && fill.edits[k].col == e.col) return;
        recipe r = fill;
        r.edits[i] = e;
        add_fill(s, c, t, std::move(r));
      };
      const edit& e = fill.edits[i];
      if (e.row > 0 && e.col > 0) with({0, 0, e.value});
      if (e.row > 0) with({0, e.col, e.value});
      if (e.col > 0) with({e.row, 0, e.value});
      if (e.row > 1) with({e.row / 2, e.col, e.value});
      if (e.col > 1) with({e.row, e.col / 2, e.value});
      if (e.row > 1) with({e.row - 1, e.col, e.value});
      if (e.col > 1) with({e.row, e.col - 1, e.value});
      for (double v : simpler_numbers(e.value)) with({e.row, e.col, v});
    }
  }
  return s;
}

trial_case without_knob(const trial_case& c, const std::string& name) {
  auto knobs = c.knobs;
  knobs.erase(name);
  return with_knobs(c, std::move(knobs));
}

void set_layout(trial_case& c, const std::string& tensor, int64_t ld, int64_t offset) {
  tensor_spec& t = *c.find(tensor);
  t.ld = ld;
  t.offset = offset;
  settle_memory(c);
}

void move_apart(trial_case& c, const std::string& tensor) {
  tensor_spec& t = *c.find(tensor);
  if (!t.beside.empty()) t.ld = t.cols();
  t.in_place.clear();
  t.same.clear();
  t.beside.clear();
}

steps simpler_layouts(const trial_case& c) {
  steps s;
  trial_case plain = c;
  for (tensor_spec& t : plain.tensors) {
    t.ld = t.cols();
    t.offset = 0;
    t.beside.clear();
  }
  s.push_back(plain);
  for (const tensor_spec& t : c.tensors) {
    if (t.is_in_memory_of_another()) continue;
    const auto with = [&](int64_t ld, int64_t offset) {
      s.push_back(c);
      set_layout(s.back(), t.name, ld, offset);
    };
    if (t.ld > t.cols()) {
      with(t.cols(), t.offset);
      with(t.cols() + 1, t.offset);
      with(t.cols() + (t.ld - t.cols()) / 2, t.offset);
      with(t.ld - 1, t.offset);
    }
    if (t.offset > 0) {
      with(t.ld, 0);
      with(t.ld, 1);
      with(t.ld, t.offset / 2);
      with(t.ld, t.offset - 1);
    }
  }
  for (const tensor_spec& t : c.tensors) {
    if (!t.is_in_memory_of_another()) continue;
    s.push_back(c);
    move_apart(s.back(), t.name);
  }
  return s;
}

steps simpler_knobs(const trial_case& c) {
  steps s;
  auto plain = c.knobs;
  std::erase_if(plain, [](const auto& k) { return !is_fixed_knob(k.first); });
  if (is_emulated(c)) plain["schedule"] = "fair";
  s.push_back(with_knobs(c, std::move(plain)));
  for (const auto& [name, value] : c.knobs)
    if (!is_fixed_knob(name)) s.push_back(without_knob(c, name));
  if (is_emulated(c))
    for (const char* schedule : {"fair", "greedy", "reverse"}) {
      s.push_back(c);
      s.back().knobs["schedule"] = schedule;
    }
  return s;
}

steps simpler_extents(const trial_case& c) {
  steps s;
  for (const axis& a : axes(c)) {
    const int64_t n = extent(c, a);
    std::vector<int64_t> sizes = {0, 1, 2};
    for (int64_t step = n / 2; step > 0; step /= 2) sizes.push_back(n - step);
    for (int64_t size : turning_points(n)) sizes.push_back(size);
    std::set<int64_t> seen;
    for (int64_t size : sizes)
      if (size < n && seen.insert(size).second) s.push_back(resized(c, a, size));
  }
  return s;
}

steps only_simpler(const trial_case& c, steps all) {
  steps kept;
  std::set<std::string> seen;
  for (trial_case& s : all)
    if (simpler_than(s, c) && seen.insert(format(s)).second) kept.push_back(std::move(s));
  return kept;
}

bool simpler_than(const trial_case& a, const trial_case& b) { return cost_of(a) < cost_of(b); }

std::vector<trial_case> simpler(const trial_case& c) {
  steps all;
  for (auto* kind : {simpler_extents, simpler_parts, simpler_fills, simpler_edits, simpler_layouts, simpler_knobs}) {
    steps some = kind(c);
    all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  return only_simpler(c, std::move(all));
}

rc::Gen<trial_case> with_shrinking(rc::Gen<trial_case> cases, std::function<bool(const trial_case&)> holds) {
  return rc::gen::shrink(std::move(cases), [holds = std::move(holds)](trial_case&& c) {
    steps kept;
    for (trial_case& s : simpler(c))
      if (is_legal(s) && (!holds || holds(s))) kept.push_back(std::move(s));
    return rc::seq::fromContainer(std::move(kept));
  });
}

}  // namespace warpcheck::engine
