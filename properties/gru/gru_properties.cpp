// Gated recurrent units on trial: the properties of their contract (kernels/gru/gru.hpp). Here: the reference, special
// values, layout, determinism and hazards. gru_gradients.cpp has slopes, gru_algebra.cpp and gru_symmetries.cpp the
// rest.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "properties/engine/cases/classes.hpp"
#include "properties/engine/cases/description.hpp"
#include "properties/engine/cases/offer.hpp"
#include "properties/engine/cases/refusals.hpp"
#include "properties/engine/trials/checks.hpp"
#include "properties/engine/trials/reused_storage.hpp"
#include "properties/gru/gru_call.hpp"
#include "properties/gru/gru_cases.hpp"
#include "properties/rows/own_dispatch.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::gru_shape;

constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();
constexpr double k_inf = std::numeric_limits<double>::infinity();

// ---- cases ----

// Sizes that radii of a whole trajectory are computed for.
trial_case within_first_order(const target& t, draw& d) {
  gru_shape s = draw_shape(d, t);
  s.hidden = std::min<int64_t>(s.hidden, d.one_of({9, 24, 33}));
  s.time = std::min<int64_t>(s.time, 6);
  s.batch = std::min<int64_t>(s.batch, 5);
  if (d.chance(30)) s.input = s.hidden;
  trial_case c = gru_case_of(t, d, {s, d.one_of({0.5, 1.0})});
  if (!t.variants.empty()) draw_variant(d, c);
  if (d.chance(30)) set_knob(c, "history_mode", "recompute"), leave_out(c, "history");
  if (d.chance(30)) leave_out(c, "h0");
  return c;
}

// Values of every class, and weights so steep that gates saturate.
void draw_values(draw& d, trial_case& c) {
  tensor_spec& x = *c.find("x");
  const double seed = d.seed();
  switch (d.index() % 12) {
    case 0:
      x.fill = make_recipe("constant", {0.75});
      c.find("h0")->fill = make_recipe("uniform", {seed, -3, 3});
      break;
    case 1: x.fill = make_recipe("duplicates", {seed, 2}); break;
    case 2: x.fill = make_recipe("ascending", {-2, 2}); break;
    case 3: x.fill = make_recipe("log_uniform", {seed, -30, 3}); break;
    case 4: x.fill = make_recipe("near_underflow", {seed}); break;
    case 5: x.fill = make_recipe("cancellation", {seed, 8}); break;
    case 6: x.fill = make_recipe("one_hot", {seed, 1, 0}); break;
    case 7:  // sums of such products are moderate
      x.fill = make_recipe("near_overflow", {seed});
      c.find("w_ih")->fill = make_recipe("uniform", {seed + 1, -0x1p-127, 0x1p-127});
      for (const char* upstream : {"dy", "dhn"})
        c.find(upstream)->fill = make_recipe("uniform", {seed, -0x1p-20, 0x1p-20});
      break;
    case 8:
      x.fill = make_recipe("dyadic", {seed, 16, 3});
      for (const char* state : {"h0", "h_reset"}) c.find(state)->fill = make_recipe("uniform", {seed, -1000, 1000});
      break;
    default: x.fill = make_recipe("uniform", {seed, -4, 4}); break;
  }
  if (d.index() % 12 == 9) c.find("w_hh")->fill = make_recipe("uniform", {seed, -10, 10});
  if (d.index() % 12 == 10) c.find("b_ih")->fill = make_recipe("uniform", {seed, -110, 110});
  if (d.index() % 12 == 11) c.find("h0")->fill = make_recipe("near_underflow", {seed});
}

void forward_only(draw& d, trial_case& c) {
  set_knob(c, "pass", "forward");
  if (d.chance(50)) set_knob(c, "history_mode", "none");
  drop_absent(c);
}

// More rows or more steps than a warp has lanes and than any tile has places, by turns.
trial_case long_gru(const target& t, draw& d) {
  constexpr int64_t k_many[] = {33, 65, 130, 257};
  const int64_t turn = d.index() / 16, many = k_many[turn / 2 % 4];
  const gru_shape s{turn % 2 == 0 ? 2 : many, turn % 2 == 0 ? many : 2, 2, 2, 1 + static_cast<int>(turn % 3 == 2)};
  trial_case c = gru_case_of(t, d, {s});
  // Every other row is whole.
  std::erase_if(c.find("lengths")->fill.edits, [](const edit& e) { return e.col % 2 == 0; });
  c.knobs["schedule"] = "fair";
  return c;
}

trial_case any_gru(const target& t, draw& d) {
  trial_case c = d.index() % 16 == 10 ? long_gru(t, d) : usual_gru(t, d);
  draw_values(d, c);
  const int64_t kind = d.between(0, 5);
  if (kind == 0) give_history(d, c);
  if (kind == 1) forward_only(d, c);
  return c;
}

trial_case chunked(const target& t, draw& d) {
  trial_case c = small_gru(t, d);
  set_knob(c, "history_mode", "recompute");
  leave_out(c, "history");
  draw_precision(d, c, 2);
  return c;
}

trial_case with_work(const target& t, draw& d) {
  trial_case c = usual_gru(t, d);
  const gru_data data = data_of(c);
  if (d.chance(50)) set_knob(c, "workspace_limit", d.one_of({"1", "1000", "20000"}));
  draw_precision(d, c, 3);
  tensor_spec& work = *c.find("work");
  work.shape = {
      gru_work_bytes(data.shape(), static_cast<int64_t>(c.number("workspace_limit")), c.knob("precision") == "ieee")};
  work.ld = work.cols();
  work.offset = 16 * d.between(0, 3);
  for (tensor_spec& s : c.tensors)
    if (s.name != "work") s.offset = d.between(0, 3);
  return c;
}

trial_case hazardous(const target& t, draw& d) {
  trial_case c = small_gru(t, d);
  draw_precision(d, c, 3);
  c.knobs["detect"] = "only";
  const int64_t seed = d.between(0, 9999);
  c.knobs["schedule"] = fmt::format("{}:{}", d.one_of({"random", "pct_warp", "preempt"}), seed);
  if (d.chance(30)) c.knobs["sm"] = "1";
  return c;
}

trial_case delayed(const target& t, draw& d) {
  trial_case c = small_gru(t, d);
  c.knobs["repeat"] = t.device == "emulated" ? "8" : "100";
  if (d.chance(30)) c.knobs["sm"] = "1";
  return c;
}

trial_case empty_gru(const target& t, draw& d) {
  gru_shape s{3, 2, 3, 4, static_cast<int>(d.between(1, 2))};
  switch (d.index() % 4) {
    case 0: s.time = 0; break;
    case 1: s.batch = 0; break;
    case 2: s.input = 0; break;
    default: s.hidden = 0; break;
  }
  trial_case c = gru_case_of(t, d, {s});
  if (s.input > 0 && d.chance(30)) c.find("lengths")->fill = make_recipe("constant", {0});
  return c;
}

// One direction and two in turn: a candidate may offer one only.
gru_shape refused_shape(const draw& d) { return {2, 2, 3, 4, static_cast<int>(2 - d.index() % 2)}; }

trial_case refused_gru(const target& t, draw& d) {
  trial_case c = gru_case_of(t, d, {refused_shape(d)});
  c.find("lengths")->fill.edits.clear();
  return c;
}

trial_case refused_workspace(const target& t, draw& d) {
  trial_case c = refused_gru(t, d);
  tensor_spec& work = *c.find("work");
  work.shape = {gru_work_bytes(refused_shape(d), 0)};
  work.ld = work.cols();
  return c;
}

trial_case gates_of_arguments(const target& t, draw& d) {
  const int64_t time = t.device == "cuda" ? 4096 : t.size == 2 ? 1000 : 200;
  trial_case c = gru_case_of(t, d, {{time, 2, 1, 1, 1}});
  const double seed = d.seed();
  switch (d.index() % 4) {
    case 0: c.find("x")->fill = make_recipe("finite_bits", {seed}); break;
    case 1: c.find("x")->fill = make_recipe("uniform", {seed, 0, 120}); break;
    case 2: c.find("x")->fill = make_recipe("log_uniform", {seed, -26, 7}); break;
    default: c.find("x")->fill = make_recipe("uniform", {seed, 0, 10}); break;
  }
  run_once(c);
  for (const char* name : {"b_ih", "b_hh", "h0", "h_reset", "lengths", "db_ih", "db_hh"}) leave_out(c, name);
  return c;
}

// ---- checks ----

// Forwards, then backwards from what that wrote: the bits of both at once.
void check_passes(trial& t) {
  // A candidate with a history of its own goes backwards in the same call alone.
  if (const offer* const o = known_offer(t.the_case());
      o && std::ranges::find(o->lacks, trait_set{{trait::equal, "pass", "backward", 0}}) != o->lacks.end())
    t.need("pass=backward");
  const gru_data data = data_of(t);
  const gru_answer both = ask(t, data);
  judge_steps(t, data, both);
  const gru_answer forward = ask(t, data, {.pass = "forward"});
  require_same(t, "a forward pass alone", forward, both, of_states | of_history);
  gru_data given = data;
  given.y = forward.states.y;
  given.history = forward.states.history;
  require_same(t, "a backward pass from a given history", ask(t, given, {.pass = "backward"}), both,
               of_inputs | of_weights | of_trace);
}

void check_range(trial& t) {
  const gru_data data = data_of(t);
  const gru_answer a = ask(t, data);
  const gru_shape& s = data.shape();
  for (int d = 0; d < s.directions; ++d)
    for (int64_t b = 0; b < s.batch; ++b) {
      const reference::gru_walk walk(data.problem, d, b);
      for (int64_t step = 0; step < walk.length; ++step)
        for (int64_t k = 0; k < s.hidden; ++k) {
          const double before = reference::gru_entering(data.problem, a.states.y, walk, d, b, step, k);
          const double h = a.states.y[s.y(walk.time(step), b, d, k)];
          t.require(std::fabs(h) <= std::max(1.0, std::fabs(before)),
                    "y[{},{}] of direction {}, unit {} is {:a}, from {:a}", walk.time(step), b, d, k, h, before);
        }
    }
  judge_steps(t, data, a);
}

// Weights of 1 and no state: r = z = s(x), n = tanh(x).
void check_gates(trial& t) {
  need_outputs(t, {"history"});
  gru_data data = data_of(t);
  const gru_shape& s = data.shape();
  if (s.batch != 2 || s.input != 1 || s.hidden != 1) return t.skip("it takes two rows of one input and one unit");
  data.problem.w_ih = {1, 1, 1};
  data.problem.w_hh = {0, 0, 0};
  data.problem.reset.assign(static_cast<size_t>(2 * s.time), 1);
  const std::vector<double> edges = {0,  0x1p-149, 0x1p-126, 0.55,  1,   16.5, 17,
                                     18, 87.5,     88.75,    103.5, 104, 1e10, k_inf};
  for (size_t i = 0; i < static_cast<size_t>(s.time); ++i) {
    double& x = data.problem.x[2 * i];
    x = std::fabs(i < edges.size() ? edges[i] : x);
    data.problem.x[2 * i + 1] = -x;
  }
  const gru_answer a = ask(t, data, {.pass = "forward"});
  const double stated = accuracy_of(t.stated(), t.the_case(), s).gates;
  const auto allowed = [&](double v) { return std::max(8 * 0x1p-24 * std::fabs(v) + 0x1p-126, stated); };
  for (int64_t step = 0; step < s.time; ++step) {
    double n_of_row[2] = {};
    for (int64_t b = 0; b < 2; ++b) {
      const double x = data.problem.x[s.x(step, b, 0)], logistic = 1 / (1 + std::exp(-x)), tanh = std::tanh(x);
      const auto gate = [&](int block) { return a.states.history[s.history(0, step, b, block, 0)]; };
      for (const int block : {0, 1}) {
        const size_t i = s.history(0, step, b, block, 0);
        judge_near(t, "history", i, gate(block), logistic, allowed(logistic));
        const double v = gate(block);
        t.require(v >= 0 && v <= 1 && (x > -104 || v == 0) && (x < 18 || v == 1) && (x != 0 || v == 0.5),
                  "s({:a}) is {:a}", x, v);
      }
      judge_near(t, "history", s.history(0, step, b, 2, 0), gate(2), tanh, allowed(tanh));
      n_of_row[b] = gate(2);
      t.require(std::fabs(gate(2)) <= 1, "tanh({:a}) is {:a}", x, gate(2));
    }
    t.require(n_of_row[0] == -n_of_row[1], "tanh is not odd: {:a} and {:a}", n_of_row[0], n_of_row[1]);
  }
}

void check_repeats(trial& t) {
  const gru_data data = data_of(t);
  const gru_answer first = ask(t, data);
  judge_steps(t, data, first);
  gru_data other = data;
  if (data.shape().time > 1) other = taken(data, 'T', range(1, data.shape().time));
  ask(t, other);
  require_same(t, "after a call of another shape", ask(t, data), first, ~0u);
}

void check_chunks(trial& t) {
  const gru_data data = data_of(t);
  const gru_answer whole = ask(t, data);
  judge_steps(t, data, whole);
  const gru_shape& s = data.shape();
  const int64_t step_bytes = 16 * s.directions * s.batch * s.hidden;
  const int64_t least =
      4 * (s.directions * s.batch * s.hidden + 3 * s.directions * s.hidden * std::max(s.input, s.hidden));
  for (const int64_t steps : {int64_t{1}, int64_t{2}, s.time - 1}) {
    const gru_request r{.workspace_limit = std::max<int64_t>(1, least + steps * step_bytes)};
    const gru_answer cut = ask(t, data, r);
    judge_steps(t, data, cut, r);
    if (!t.stated().has_our_plan) continue;  // what the workspace holds may change the order of sums
    require_same(t, "in chunks of time", cut, whole, of_states | of_trace);
    t.require(cut.gradients.dh0 == whole.gradients.dh0 && cut.gradients.dh_reset == whole.gradients.dh_reset,
              "in chunks of about {} steps the gradients of states differ", steps);
  }
}

void check_empty(trial& t) {
  const gru_data data = data_of(t);
  const gru_answer a = ask(t, data);
  judge_steps(t, data, a);
  const gru_shape& s = data.shape();
  if (s.time == 0 || s.batch == 0)
    for (const auto* v : {&a.gradients.dw_ih, &a.gradients.dw_hh, &a.gradients.db_ih, &a.gradients.db_hh})
      for (size_t i = 0; i < v->size(); ++i) judge_near(t, "a gradient of no step", i, (*v)[i], 0, 0);
  if (s.hidden == 0)
    for (size_t i = 0; i < a.gradients.dx.size(); ++i) judge_near(t, "dx", i, a.gradients.dx[i], 0, 0);
}

// A NaN or infinity in a row's x reaches only this row, from its step on, by the rules of IEEE 754.
void check_poison(trial& t) {
  gru_data data = data_of(t);
  const gru_shape& s = data.shape();
  if (s.batch < 2 || s.input < 1 || s.hidden < 1 || data.length(1) < 1)
    return t.skip("it takes two rows, one of a step");
  gru_data tidy = data;
  for (double& x : tidy.problem.x) x = std::isfinite(x) ? x : 0;
  judge_steps(t, tidy, ask(t, tidy));
  const gru_answer clean = ask(t, data);
  const int64_t at = data.length(1) / 2;
  const double values[] = {k_nan, k_inf, -k_inf};
  data.problem.x[s.x(at, 1, 0)] = values[data.problem.x.size() % 3];
  const gru_answer dirty = ask(t, data);
  judge_steps(t, data, dirty);
  const auto untouched = [&](const char* name, const std::string& axes, const std::vector<double>& a,
                             const std::vector<double>& b) {
    const std::string_view letters = axes;
    if (letters.find('B') == std::string_view::npos) return;
    const std::vector<int64_t> others = [&] {
      std::vector<int64_t> list = range(0, s.batch);
      std::erase(list, 1);
      return list;
    }();
    const std::vector<double> before = taken(a, s, axes, 'B', others), after = taken(b, s, axes, 'B', others);
    for (size_t j = 0; j < before.size(); ++j)
      t.require(before[j] == after[j] || (std::isnan(before[j]) && std::isnan(after[j])),
                "{} of another row has changed from {:a} to {:a}", name, before[j], after[j]);
  };
  std::vector<const std::vector<double>*> of_clean;
  each_output(clean, [&](const char*, const auto& v) { of_clean.push_back(&v); });
  size_t i = 0;
  each_output(dirty, [&](const char* name, const auto& v) { untouched(name, axes_of(name), *of_clean[i++], v); });
  for (int d = 0; d < s.directions; ++d)
    for (int64_t step = 0; step < s.time; ++step)
      for (int64_t k = 0; k < s.hidden; ++k)
        if (d == 0 ? step < at : step > at)
          judge_near(t, "y", s.y(step, 1, d, k), dirty.states.y[s.y(step, 1, d, k)], clean.states.y[s.y(step, 1, d, k)],
                     0);
}

void check_dispatch(trial& t) {
  const gru_data data = data_of(t);
  const run_result own = t.run();
  const listed_operator& table = t.op();
  if (table.publishes_picks() && t.the_case().knob("variant") == "auto") {
    t.require(own.used_variant == own.picked_variant, "'{}' is published as picked for this call, but '{}' ran",
              own.picked_variant, own.used_variant);
    for (const listed_variant& v : table.variants)
      if (v.name == own.picked_variant)
        t.require(v.may_be_picked(data.shape().hidden, 3), "{} was picked for {} units", v.name, data.shape().hidden);
  }
  for (const std::string& way : ways_of(t, {"gru_registers", "gru_cluster", "gru_grid", "gru_product"})) {
    const gru_request r{.variant = way};
    judge_steps(t, data, ask(t, data, r), r);
  }
}

trial_case any_regime(const target& t, draw& d) {
  gru_shape s = draw_shape(d, t);
  s.time = std::min<int64_t>(s.time, 2);
  s.batch = std::min<int64_t>(s.batch, 2);
  if (d.chance(50)) s.hidden = d.one_of({31, 32, 33, 64, 65, 127, 128, 129});
  // More units than a block has threads.
  if (d.index() % 8 == 1) s = {1, 1, 3, d.index() / 8 % 4 == 1 ? 513 : 257, 1};
  trial_case c = gru_case_of(t, d, {s});
  draw_precision(d, c, 3);
  c.knobs["schedule"] = "fair";
  return c;
}

void check_refusals(trial& t) {
  const trial_case& c = t.the_case();
  refuse_common(t);
  need_outputs(t, {"y", "history", "dx", "db_ih", "db_hh"});
  const auto place = [&](const char* tensor) { return static_cast<size_t>(c.find(tensor) - c.tensors.data()); };
  const auto null = [&](const char* tensor) {
    return [i = place(tensor)](std::vector<DLTensor>& v) { std::fill_n(v[i].shape, v[i].ndim, 0); };
  };
  t.expect_refusal("y is null", null("y"));
  t.expect_refusal("history is null", null("history"));
  t.expect_refusal("db_ih without b_ih", null("b_ih"));
  t.expect_refusal("db_hh without b_hh", null("b_hh"));
  t.expect_refusal("three directions", [&](std::vector<DLTensor>& v) { v[place("w_hh")].shape[0] = 3; });
  if (c.at("lengths").elements() > 0)
    t.expect_refusal("lengths of floats", [&](std::vector<DLTensor>& v) { v[place("lengths")].dtype.code = kDLFloat; });
  t.expect_refusal("w_ih of another number of gates", [&](std::vector<DLTensor>& v) { ++v[place("w_ih")].shape[1]; });
  for (const auto& [pass, history] :
       {std::pair{"both", "none"}, std::pair{"backward", "none"}, std::pair{"backward", "save"},
        std::pair{"forward", "save"}, std::pair{"both", "recompute"}}) {
    trial_case illegal = c;
    illegal.knobs["pass"] = pass;
    illegal.knobs["history_mode"] = history;
    // Outputs of the other pass are wanted, or inputs of this one are null; a history of none is not even that.
    t.expect_refusal(
        fmt::format("pass {} with history_mode {}", pass, history),
        [&](std::vector<DLTensor>& v) {
          if (illegal.knobs.at("history_mode") == "none") null("history")(v);
        },
        &illegal);
  }
}

// For workspaces of our size: a candidate that allocates its own has nothing to refuse.
void check_workspace_refusals(trial& t) {
  const size_t work = static_cast<size_t>(t.the_case().find("work") - t.the_case().tensors.data());
  if (t.the_case().at("work").elements() < 32) return t.skip("the call has no workspace");
  check_steps(t);
  refuse_workspaces(t, workspace_size::most);
  t.expect_refusal("work is too small", [=](std::vector<DLTensor>& v) { v[work].shape[0] = 16; });
}

// ---- registration ----

trial_case both_and_alone(const target& t, draw& d) {
  trial_case c = small_gru(t, d);
  if (d.chance(30)) set_knob(c, "history_mode", "recompute"), leave_out(c, "history");
  return c;
}

trial_case poisoned_row(const target& t, draw& d) {
  gru_shape s = draw_shape(d, t);
  s.batch = std::max<int64_t>(2, s.batch);
  s.hidden = std::min<int64_t>(s.hidden, 9);
  trial_case c = gru_case_of(t, d, {s});
  draw_variant(d, c);
  draw_precision(d, c, 4);
  std::erase_if(c.find("lengths")->fill.edits, [](const edit& e) { return e.col == 1; });
  // The first row has one beside that of the second.
  if (d.index() % 3 != 0) c.find("x")->fill.edits = {{0, 0, d.index() % 3 == 1 ? k_nan : -k_inf}};
  return c;
}

bool has_a_row_to_poison(const trial_case& c) {
  const gru_data data = data_of(c);
  const gru_shape& s = data.shape();
  return s.batch >= 2 && s.input >= 1 && s.hidden >= 1 && data.length(1) >= 1;
}

const property_registration registration([] {
  gru_property_list list;
  list.add("forward-matches-the-reference",
           "both passes lie within their bounds of the reference, by steps and as a whole", within_first_order,
           judge_whole);
  list.add("every-step-follows-from-the-step-before", "every step is right for what was written of the step before",
           any_gru, check_steps);
  list.add("passes-alone-equal-both",
           "a pass forward, then one backward from its history give the bits of both in one call", both_and_alone,
           check_passes, 30);
  list.add(
      "the-state-never-leaves-max-of-one-and-h0", "no state is larger than 1 and the state that entered", any_gru,
      [](trial& t) {
        if (t.the_case().knob("pass") == "backward") return check_steps(t);
        check_range(t);
      },
      30);
  list.add("gate-functions-are-within-c-u", "gates err by at most 8 u and keep their range and their special values",
           gates_of_arguments, check_gates, 30);
  property& poison =
      list.add("what-is-not-a-number-stays-in-its-row",
               "a NaN or an infinity in x changes its row alone, from its step on", poisoned_row, check_poison, 50);
  poison.check = check_poison;
  poison.holds = has_a_row_to_poison;
  list.add("empty-extents", "with no steps, rows, inputs or units the outputs are those of the contract", empty_gru,
           check_empty, 20);
  list.add("every-regime", "every regime is right where it is accepted, and the published one runs", any_regime,
           check_dispatch, 30);
  list.add("chunks-change-no-state", "a workspace of any size gives the same states", chunked, check_chunks, 20);
  list.add("every-output-element-is-written-and-nothing-else",
           "outputs are written whole, the workspace within its bounds", with_work, check_steps, 50);
  list.add("same-input-same-bits", "a call gives the same bits again, after another one of another shape, too",
           small_gru, check_repeats, 20);
  make_reused_storage(list.add("usual", "", small_gru, check_steps));
  list.append(batch_invariance("gru", {dtype::f32}, "batch", small_gru, [](trial& t, const run_result& r) {
    judge_steps(t, data_of(t), answer_of(r.tensors));
  }));
  list.add("random-delays-change-nothing", "no order of blocks, warps or threads changes a bit", delayed, check_steps,
           20);
  list.add("no-hazard", "no race, uninitialised read, out-of-bounds access or divergent barrier under random schedules",
           hazardous, check_steps, 50);
  list.add("rejects-invalid-calls", "calls that break the contract are refused with a sentence and write nothing",
           refused_gru, check_refusals, 5);
  list.add("rejects-invalid-workspaces", "a workspace that is too short or lies wrong is refused", refused_workspace,
           check_workspace_refusals, 5)
      .needs_our_plan = true;
  for (auto* const others : {gru_precision_properties, gru_gradient_properties, gru_algebra_properties,
                             gru_symmetry_properties, gru_special_properties})
    for (property& p : others()) list.append(std::move(p));
  return list.take();
}());

}  // namespace
}  // namespace warpcheck
