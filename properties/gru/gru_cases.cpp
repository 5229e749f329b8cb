#include "properties/gru/gru_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "kernels/gru/contract.hpp"
#include "properties/engine/cases/case_inputs.hpp"
#include "properties/engine/cases/offer.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/trials/compute_capability.hpp"
#include "properties/engine/trials/in_hand.hpp"
#include "properties/gru/gru_call.hpp"
#include "properties/rows/equal_launches.hpp"
#include "reference/numerics/compare.hpp"

namespace warpcheck {

using namespace engine;
using reference::gru_shape;

namespace {

void set_shape(tensor_spec& t, std::vector<int64_t> shape) {
  t.shape = std::move(shape);
  t.ld = t.cols();
}
void empty(tensor_spec& t) {
  set_shape(t, std::vector<int64_t>(t.shape.size(), 0));
  t.fill.edits.clear();
}

bool has(const trial_case& c, const char* tensor) {
  const tensor_spec* t = c.find(tensor);
  return t && t->elements() > 0;
}

std::string what_is_illegal(const sizes& of, const trial_case& c) {
  if (const size_t all = gru_contract().forms[0].tensors.size(); c.tensors.size() != all)
    return fmt::format("tensors: {} are given, must be {}; one that is not there has no elements", c.tensors.size(),
                       all);
  const int64_t directions = size_in(of, "directions"),
                states = directions * size_in(of, "batch") * size_in(of, "hidden");
  if (directions < 1 || directions > 2) return fmt::format("directions: {} is not 1 or 2", directions);
  const std::string pass = c.knob("pass"), history = c.knob("history_mode");
  if (pass != "forward" && history == "none")
    return fmt::format("history_mode: none is for pass forward, not for pass {}", pass);
  const bool forward = pass != "backward", has_steps = size_in(of, "time") * states > 0;
  std::vector<const char*> needed = {forward ? "y" : "y_in"};
  if (history == "save") needed.push_back(forward ? "history" : "history_in");
  for (const char* tensor : needed)
    if (has_steps && !has(c, tensor)) return fmt::format("tensor {}: pass {} needs it", tensor, pass);
  return "";
}

// Passes have outputs of their own, each history follows its mode, and a bias' gradient the bias.
void mend(trial_case& c) {
  const std::string pass = c.knob("pass");
  const bool forward = pass != "backward", backward = pass != "forward";
  if (backward && c.knob("history_mode") == "none") set_knob(c, "history_mode", "recompute");
  if (forward && c.knob("history_mode") == "save" && !has(c, "history"))
    set_knob(c, "history_mode", backward ? "recompute" : "none");
  drop_absent(c);
  if (forward) leave_out(c, "y_in");
  if (forward || c.knob("history_mode") != "save") leave_out(c, "history_in");
  if (!forward || has(c, "y")) return;
  set_shape(*c.find("y"), shape_by(c, "y", sizes_of(*find_description("gru"), c)));
}

split_call the_passes() {
  return {"pass", "both", "forward", "backward", {"y", "hn", "history"}, {{"y", "y_in"}, {"history", "history_in"}}};
}

const description& the_description() {
  static const description described = [] {
    description d = description_of(gru_contract());
    d.statements = {.sums = false, .gates = true};  // its sums may be added in any order
    d.statements.judged_by = "forward-matches-the-reference";
    d.null_kernels = {{"null-h0-equals-zero-h0", 40, "a row without a step stays at its state of zeros"},
                      {"empty-extents", 70, "without steps, rows or units nothing is left to compute"}};
    d.forms[0].knobs = {{"refused", 0, "draws discarded before this case"}};
    d.illegal = what_is_illegal;
    d.mend = mend;
    d.bench = gru_bench_list();
    d.lists_all_tensors = true;
    d.split = the_passes();
    find_extent(d, "directions").is_single = true;
    return d;
  }();
  return described;
}

const description_registration described(the_description());

sizes sizes_of(const gru_shape& s) {
  return {{"time", s.time}, {"batch", s.batch}, {"input", s.input}, {"hidden", s.hidden}, {"directions", s.directions}};
}

template <class T>
std::vector<T> values_of(const host_tensor& t) {
  std::vector<T> values;
  for (int64_t r = 0; r < t.spec.rows(); ++r)
    for (int64_t c = 0; c < t.spec.cols(); ++c) {
      if constexpr (std::is_same_v<T, double>)
        values.push_back(t.value(r, c));
      else
        values.push_back(static_cast<T>(t.bits(r, c)));
    }
  return values;
}

template <class T>
host_tensor tensor_with(const tensor_spec& spec, const std::vector<T>& values) {
  host_tensor t(spec);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    uint64_t bits = 0;
    if constexpr (std::is_same_v<T, double>)
      bits = encode(spec.type, values[i]);
    else
      bits = static_cast<uint64_t>(values[i]);
    t.set_bits(at / spec.cols(), at % spec.cols(), bits);
  }
  return t;
}

bool is_wanted(const gru_request& r, const std::string& name) {
  return r.only.empty() || std::ranges::find(r.only, name) != r.only.end();
}

int64_t limit_of(const trial_case& c) { return static_cast<int64_t>(c.number("workspace_limit")); }

// The case's call with other tensors.
trial_case related(const trial_case& like, const gru_data& d, const gru_request& r) {
  trial_case c = like;
  if (!r.pass.empty()) set_knob(c, "pass", r.pass);
  if (!r.history.empty()) set_knob(c, "history_mode", r.history);
  if (!r.variant.empty()) set_knob(c, "variant", r.variant);
  if (!r.precision.empty()) set_knob(c, "precision", r.precision);
  if (r.workspace_limit >= 0) set_knob(c, "workspace_limit", fmt::format("{}", r.workspace_limit));
  for (tensor_spec& t : c.tensors) {
    if (t.is_workspace()) {
      if (t.elements() > 0) set_shape(t, {gru_work_bytes(d.shape(), limit_of(c), c.knob("precision") == "ieee")});
      continue;
    }
    const bool was_there = t.elements() > 0 || like.at("x").elements() == 0 || r.all;
    set_shape(t, shape_by(c, t.name, sizes_of(d.shape())));
    if (!t.is_input && (!was_there || !is_wanted(r, t.name))) empty(t);
  }
  each_input(d, [&](const char* name, const auto& values) {
    if (values.empty() && find_description("gru")->form_of(c)->find(name)->is_optional) empty(*c.find(name));
  });
  drop_absent(c);
  return c;
}

}  // namespace

int64_t extent(const gru_shape& s, char axis) {
  switch (axis) {
    case 'D': return s.directions;
    case 'T': return s.time;
    case 'B': return s.batch;
    case 'I': return s.input;
    case 'H':
    case 'J': return s.hidden;
    default: return axis - '0';
  }
}

std::vector<int64_t> range(int64_t begin, int64_t end) {
  std::vector<int64_t> list(static_cast<size_t>(std::max<int64_t>(0, end - begin)));
  std::iota(list.begin(), list.end(), begin);
  return list;
}

namespace {

// By letters of one axis; H goes with J.
template <class T>
void take(std::vector<T>& values, const gru_shape& s, std::string_view axes, char axis,
          const std::vector<int64_t>& list) {
  values = taken(values, s, axes, axis, list);
  if (axis != 'H' || axes.find('J') == std::string_view::npos) return;
  // The rows have been taken; the columns still are all.
  std::vector<T> out;
  const auto cols = static_cast<size_t>(s.hidden);
  for (size_t row = 0; row * cols < values.size(); ++row)
    for (const int64_t j : list) out.push_back(values[row * cols + static_cast<size_t>(j)]);
  values = std::move(out);
}

void set_extent(gru_shape& s, char axis, int64_t size) {
  (axis == 'T' ? s.time : axis == 'B' ? s.batch : axis == 'I' ? s.input : s.hidden) = size;
}

}  // namespace

std::string axes_of(std::string_view tensor) {
  std::string axes;
  for (const std::string_view dimension : trimmed_parts(the_description().forms[0].find(tensor)->shape, ","))
    for (const std::string_view factor : trimmed_parts(dimension, "*")) {
      const auto axis = static_cast<char>(std::toupper(static_cast<unsigned char>(factor[0])));
      axes += axis == 'H' && axes.ends_with('H') ? 'J' : axis;
    }
  return axes;
}

gru_data taken(gru_data d, char axis, const std::vector<int64_t>& list) {
  const gru_shape s = d.shape();
  each_input(d, [&](const char* name, auto& values) { take(values, s, axes_of(name), axis, list); });
  if (axis == 'D')
    d.shape().directions = static_cast<int>(list.size());
  else
    set_extent(d.shape(), axis, static_cast<int64_t>(list.size()));
  return d;
}

gru_answer taken(gru_answer a, const gru_shape& s, char axis, const std::vector<int64_t>& list) {
  each_output(a, [&](const char* name, auto& values) { take(values, s, axes_of(name), axis, list); });
  return a;
}

gru_data data_of(const trial_case& c) { return data_of(c, inputs_of(c)); }

gru_data data_of(const trial_case& c, const tensor_map& inputs) {
  gru_data d;
  const tensor_spec &x = c.at("x"), &w_hh = c.at("w_hh");
  d.shape() = {x.shape[0], x.shape[1], x.shape[2], w_hh.shape[2], static_cast<int>(w_hh.shape[0])};
  each_input(d, [&](const char* name, auto& values) {
    using T = typename std::remove_reference_t<decltype(values)>::value_type;
    values = values_of<T>(inputs.at(name));
  });
  return d;
}
gru_data data_of(trial& t) { return data_of(t.the_case(), inputs_of(t)); }

gru_answer ask(trial& t, const gru_data& d, const gru_request& r) {
  trial_case c = related(t.the_case(), d, r);
  if (const offer* const offered = known_offer(c)) {
    // Without outputs of the backward pass, a call of both passes is a forward one.
    if (const trait_set* const lacked = offered->missing(c);
        lacked && r.pass == "forward" && r.history.empty() && lacked->size() == 1 && lacked->front().name == "pass")
      set_knob(c, "pass", "both");
    // For a case without elements related() requests all outputs.
    if (std::vector<std::string> taken; t.the_case().at("x").elements() == 0) bring_within(*offered, c, taken);
  }
  std::map<std::string, host_tensor, std::less<>> given;
  each_input(d, [&](const char* name, const auto& values) { given.emplace(name, tensor_with(c.at(name), values)); });
  return answer_of(t.run(c, given).tensors);
}

gru_answer answer_of(const tensor_map& outputs) {
  gru_answer a;
  each_output(a, [&](const char* name, std::vector<double>& values) { values = values_of<double>(outputs.at(name)); });
  return a;
}

int64_t gru_work_bytes(const gru_shape& s, int64_t workspace_limit, bool is_ieee) {
  const int64_t states = s.directions * s.batch * s.hidden, width = std::max({s.input, s.hidden, int64_t{1}});
  const auto parts = [](int64_t k) { return std::clamp<int64_t>((k + 63) / 64, 1, 64); };
  const auto at_most = [&](int64_t steps) {
    const int64_t rows = steps * s.batch, slices = (rows + 1 + 2047) / 2048;
    const int64_t of_steps = (4 * steps + 11) * states + 6 * s.batch * (s.hidden + 3);
    const int64_t of_weights = 4 * s.directions * s.hidden * width * slices + 3 * s.hidden * (width + 3) * parts(rows);
    const int64_t panel_rows = std::min<int64_t>(std::max<int64_t>(1, steps) * s.batch, 8192);
    const int64_t of_panels = 2 * (panel_rows + 3 * width + 126) * (3 * width + 63) +
                              2 * (4 * width + 126) * (panel_rows + 63) + panel_rows + 4 * width + 257;
    return 4 * (of_steps + of_weights + 3 * s.batch * (s.hidden + 1) * parts(3 * s.hidden) + 256 +
                (is_ieee ? 0 : of_panels));
  };
  if (workspace_limit > 0) return std::max(workspace_limit, at_most(1));
  return std::max(at_most(s.time), at_most(1));
}

void judge_near(trial& t, const char* tensor, size_t i, double actual, double expected, double bound) {
  if (!std::isfinite(expected))
    return t.judge(tensor, 0, static_cast<int64_t>(i), 0, actual, reference::judge_fixed(dtype::f32, actual, expected));
  t.judge(tensor, 0, static_cast<int64_t>(i), 0, actual,
          *reference::settle(
              dtype::f32, actual,
              reference::bounded_value<double>{reference::enclosure(expected), reference::enclosure(bound)}, 0, true));
}

reference::gru_accuracy accuracy_of(const offer& stated, const trial_case& c, const gru_shape& s) {
  using reference::dot_arithmetic;
  const std::map<std::string, dot_arithmetic> others = {
      {"tf32x3", dot_arithmetic::tf32x3}, {"tf32", dot_arithmetic::tf32x1}, {"bf16", dot_arithmetic::bf16x1}};
  const auto at = others.find(c.knob("precision"));
  reference::gru_accuracy a =
      reference::gru_allowed_chains(s, at == others.end() ? dot_arithmetic::ieee : at->second,
                                    reference::adds_in_halves(compute_capability(c.knob("device")).value_or(0)));
  a.gates = 0x1p-24 * static_cast<double>(stated.gates.value_or(0));
  return a;
}

void judge_trajectory(trial& t, const gru_data& data, const gru_answer& a, const reference::gru_radii& radii) {
  const auto states = reference::gru_forward(data.problem);
  gru_answer exact{states, reference::gru_backward(data.problem, states, data.dy, data.dhn)};
  gru_answer bounds{{radii.y, radii.hn, radii.history}, radii.gradients};
  std::vector<const std::vector<double>*> expected, bound;
  each_output(exact, [&](const char*, const auto& v) { expected.push_back(&v); });
  each_output(bounds, [&](const char*, const auto& v) { bound.push_back(&v); });
  size_t k = 0;
  each_output(a, [&](const char* name, const std::vector<double>& actual) {
    for (size_t i = 0; i < actual.size(); ++i)
      judge_near(t, name, i, actual[i], (*expected[k])[i], reference::gru_radii::bound((*bound[k])[i]));
    ++k;
  });
}

void judge_steps(trial& t, const gru_data& d, const gru_answer& a, const gru_request& r) {
  const trial_case c = related(t.the_case(), d, r);
  const reference::gru_accuracy accuracy = accuracy_of(t.stated(), c, d.shape());
  const auto see = [&](const char* tensor, size_t i, double actual, double expected, double bound) {
    judge_near(t, tensor, i, actual, expected, bound);
  };
  const bool forward = c.knob("pass") != "backward", backward = c.knob("pass") != "forward";
  if (forward) judge_gru_steps(d.problem, a.states, accuracy, see);
  if (!backward) return;
  if (a.gradients.trace_e.empty() && d.shape().time * d.shape().state_size() > 0) {
    // Steps backwards are judged from e, which only some candidates hand over.
    if (!forward) t.need("trace_e");
    const reference::gru_radii radii = reference::gru_trajectory(
        d.problem, d.dy, d.dhn, accuracy, accuracy,
        c.knob("history_mode") == "recompute" ? reference::gru_gates::recomputed : reference::gru_gates::saved);
    if (radii.usable()) judge_trajectory(t, d, a, radii);
    return;
  }
  reference::gru_states<double> given = a.states;
  if (!forward) given = {d.y, {}, d.history};
  if (c.knob("history_mode") == "recompute") given.history.clear();
  judge_gru_gradient_steps(d.problem, given, d.dy, d.dhn, a.gradients, accuracy, see);
}

void check_steps(trial& t) {
  const gru_data data = data_of(t);
  judge_steps(t, data, ask(t, data));
}

namespace {

bool has_numbers_only(const gru_data& d) {
  bool all = true;
  each_input(d, [&](const char*, const auto& values) {
    for (const auto v : values) all = all && std::isfinite(static_cast<double>(v));
  });
  return all;
}

}  // namespace

reference::gru_radii radii_of(trial& t, const gru_data& d, const gru_request& r) {
  const trial_case c = related(t.the_case(), d, r);
  const reference::gru_accuracy a = accuracy_of(t.stated(), c, d.shape());
  auto radii = reference::gru_trajectory(
      d.problem, d.dy, d.dhn, a, a,
      c.knob("history_mode") == "recompute" ? reference::gru_gates::recomputed : reference::gru_gates::saved);
  if (!radii.usable()) t.skip("its errors are beyond first order");
  return radii;
}

void judge_whole(trial& t) {
  const gru_data data = data_of(t);
  const gru_answer a = ask(t, data);
  judge_steps(t, data, a);
  judge_trajectory(t, data, a, radii_of(t, data));
}

unsigned group_of(std::string_view output) {
  if (output == "y" || output == "hn") return of_states;
  if (output == "history") return of_history;
  if (output == "trace_e") return of_trace;
  return output == "dx" || output == "dh0" || output == "dh_reset" ? of_inputs : of_weights;
}

namespace {

// The tensors of an answer in each_output's order.
std::vector<std::pair<const char*, const std::vector<double>*>> listed(const gru_answer& a) {
  std::vector<std::pair<const char*, const std::vector<double>*>> all;
  each_output(a, [&](const char* name, const auto& values) { all.emplace_back(name, &values); });
  return all;
}

}  // namespace

void require_same(trial& t, const char* what, const gru_answer& a, const gru_answer& b, unsigned groups) {
  need_equal_launches(t);
  const auto first = listed(a), second = listed(b);
  for (size_t k = 0; k < first.size(); ++k) {
    const auto& [name, values] = first[k];
    const std::vector<double>& others = *second[k].second;
    if ((group_of(name) & groups) == 0) continue;
    t.require(values->size() == others.size(), "{}: {} has {} and {} elements", what, name, values->size(),
              others.size());
    for (size_t i = 0; i < others.size(); ++i)
      t.require(std::bit_cast<uint64_t>((*values)[i]) == std::bit_cast<uint64_t>(others[i]) ||
                    (std::isnan((*values)[i]) && std::isnan(others[i])),
                "{}: {}[{}] is {:a} and {:a}", what, name, i, (*values)[i], others[i]);
  }
}

void judge_sums(trial& t, const gru_part& whole, const std::vector<gru_part>& parts, unsigned groups) {
  const auto of_whole = listed(whole.answer);
  const auto bounds_of = [&](const gru_part& p) {
    gru_answer bounds;
    bounds.gradients = radii_of(t, p.data).gradients;
    return bounds;
  };
  gru_answer of_bounds = bounds_of(whole);
  std::vector<gru_answer> part_bounds;
  for (const gru_part& p : parts) part_bounds.push_back(bounds_of(p));
  const auto bounds = listed(of_bounds);
  for (size_t k = 0; k < of_whole.size(); ++k) {
    const auto& [name, values] = of_whole[k];
    if ((group_of(name) & groups) == 0) continue;
    for (size_t i = 0; i < values->size(); ++i) {
      double sum = 0, bound = reference::gru_radii::bound((*bounds[k].second)[i]);
      for (size_t p = 0; p < parts.size(); ++p) {
        sum += parts[p].factor * (*listed(parts[p].answer)[k].second)[i];
        bound += std::fabs(parts[p].factor) * reference::gru_radii::bound((*listed(part_bounds[p])[k].second)[i]);
      }
      judge_near(t, name, i, (*values)[i], sum, bound);
    }
  }
}

// ---- cases ----

void leave_out(trial_case& c, std::string_view tensor) { empty(*c.find(tensor)); }

void drop_absent(trial_case& c) {
  for (const tensor_rule& info : the_description().forms[0].tensors)
    if (!why_absent(c, info).empty()) leave_out(c, info.name);
}

std::vector<std::string> gru_outputs() {
  std::vector<std::string> names;
  for (const tensor_rule& info : the_description().forms[0].tensors)
    if (!info.is_input && info.name != "work") names.push_back(info.name);
  return names;
}

trial_case bare_gru_case(const gru_data& d, const std::vector<std::string>& outputs) {
  trial_case c;
  c.op = "gru";
  for (const tensor_rule& info : the_description().forms[0].tensors) {
    c.tensors.push_back(make_tensor(the_description().forms[0], info, dtype::f32));
    if (info.is_input) c.tensors.back().fill = make_recipe("constant", {0});
  }
  for (tensor_spec& t : c.tensors)
    if (t.is_workspace() || (!t.is_input && std::ranges::find(outputs, t.name) == outputs.end()))
      empty(t);
    else
      set_shape(t, shape_by(c, t.name, sizes_of(d.shape())));
  each_input(d, [&](const char* name, const auto& values) {
    if (values.empty()) empty(*c.find(name));
  });
  return c;
}

trial_case gru_case_of(const target& t, draw& d, const gru_choice& choice) {
  const gru_shape& s = choice.shape;
  const double weight = choice.weights / std::sqrt(static_cast<double>(std::max<int64_t>(1, s.hidden)));
  const auto drawn = [&](double scale) {
    const double seed = d.seed();
    if (choice.steps == 0) return make_recipe("uniform", {seed, -scale, scale});
    return make_recipe("dyadic", {seed, std::max(1.0, std::floor(std::ldexp(scale, choice.steps))),
                                  static_cast<double>(choice.steps)});
  };
  std::map<std::string, recipe> fills;
  fills["x"] = drawn(1);
  fills["w_ih"] = drawn(weight);
  fills["w_hh"] = drawn(weight);
  fills["b_ih"] = drawn(0.5);
  fills["b_hh"] = drawn(0.5);
  for (const char* state : {"h0", "h_reset", "dy", "dhn"}) fills[state] = drawn(1);
  // Values of the most usual class, so that x decides the case's class.
  const auto all_of = [](double value) { return make_recipe("uniform", {0, value, value}); };
  fills["lengths"] = all_of(static_cast<double>(s.time));
  fills["reset"] = fills["y_in"] = fills["history_in"] = all_of(0);
  for (const tensor_rule& info : the_description().forms[0].tensors)
    if (!info.is_input) fills[info.name] = {};
  sizes of = sizes_of(s);
  of["work_bytes"] = 0;
  trial_case c = make_case(the_description(), t, of, std::move(fills));
  leave_out(c, "y_in");
  leave_out(c, "history_in");
  leave_out(c, "work");
  // Full, empty and ragged rows, rows of one step, and what is clamped.
  for (int64_t b = 0; choice.ragged && b < s.batch; ++b) {
    const int64_t any = d.between(0, s.time), of_64_bits = int64_t{1} << 32;
    const int64_t length = d.one_of(
        {s.time, any, any, int64_t{1}, s.time - 1, int64_t{0}, s.time + 2, int64_t{-1}, of_64_bits, 1 - of_64_bits});
    if (length != s.time) c.find("lengths")->fill.edits.push_back({0, b, static_cast<double>(length)});
  }
  for (int64_t at = 0; choice.marked && at < s.time * s.batch; ++at)
    if (d.chance(20)) {
      constexpr double k_marks[] = {1, 2, 128, 255};
      c.find("reset")->fill.edits.push_back({at / s.batch, at % s.batch, k_marks[at % 4]});
    }
  if (!choice.ragged && d.chance(50)) leave_out(c, "lengths");
  if (!choice.marked) leave_out(c, "reset");
  return c;
}

gru_property_list::gru_property_list(int share) : property_list("gru", {dtype::f32}, share) {}

property& gru_property_list::add(std::string name, std::string sentence, generator generate, void (*check)(trial&),
                                 std::optional<int> share) {
  // Laws are about numbers; what becomes of a NaN or an infinity is a matter of each step.
  const auto check_numbers = [check](trial& t) { has_numbers_only(data_of(t)) ? check(t) : check_steps(t); };
  return property_list::add(std::move(name), std::move(sentence), std::move(generate), check_numbers, share);
}

}  // namespace warpcheck
