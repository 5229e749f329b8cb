// gru in steps: gates and states of a step from what the kernel wrote for the step before, gradients from its
// trace. Bounds: reference/gru/gru_bound.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "properties/gru/gru_call.hpp"
#include "properties/rows/explanation_support.hpp"
#include "reference/gru/gru_bound_parts.hpp"

namespace warpcheck {
namespace {

using namespace engine;
// Exact values and bounds of a tensor, each from what the kernel wrote before it.
struct judged_tensor {
  doubles exact, bound, actual;
  std::vector<std::vector<reference::bound_term>> parts;
};

bool is_finite(const gru_data& d) {
  bool finite = true;
  each_input(d, [&](const char*, const auto& values) {
    for (const auto v : values) finite = finite && std::isfinite(static_cast<double>(v));
  });
  return finite;
}

// A call with all that is known of it.
class gru_row_call {
 public:
  explicit gru_row_call(const observed_call& call)
      : data(data_of(call.c, call.inputs)),
        forward(call.c.knob("pass") != "backward"),
        backward(call.c.knob("pass") != "forward"),
        accuracy(accuracy_of(stated_by(call.c), call.c, data.shape())) {
    if (!is_finite(data)) return;
    const reference::gru_states<double> exact = reference::gru_forward(data.problem);
    if (call.outputs) {
      answer = answer_of(*call.outputs);
    } else {
      answer.states = exact;
      reference::gru_states<double> read = exact;
      if (!forward && !data.history.empty()) read = {data.y, {}, data.history};
      if (backward) answer.gradients = reference::gru_backward(data.problem, read, data.dy, data.dhn);
    }
    judge(call.c.knob("history_mode") == "recompute");
  }

  gru_data data;
  const bool forward, backward;
  const reference::gru_accuracy accuracy;
  gru_answer answer;
  reference::gru_states<double> read;  // y and history of the backward pass; no history where it is rebuilt
  std::map<std::string, judged_tensor, std::less<>> tensors;

  const reference::gru_shape& shape() const { return data.shape(); }

 private:
  void judge(bool rebuilt) {
    std::map<std::string, const doubles*> lists;
    each_output(answer, [&](const char* name, const doubles& values) { lists[name] = &values; });
    const auto see = [&](const char* tensor, size_t i, double actual, double exact, double bound) {
      judged_tensor& t = tensors[tensor];
      const size_t size = lists[tensor]->size();
      for (doubles* list : {&t.exact, &t.bound, &t.actual}) list->resize(size);
      t.exact[i] = exact;
      t.bound[i] = bound;
      t.actual[i] = actual;
    };
    const auto parts = [&](const char* tensor, size_t i, const std::vector<reference::bound_term>& of) {
      judged_tensor& t = tensors[tensor];
      t.parts.resize(t.exact.size());
      t.parts[i] = of;
    };
    if (forward) judge_gru_steps(data.problem, answer.states, accuracy, see, parts);
    read = forward ? answer.states : reference::gru_states<double>{data.y, {}, data.history};
    if (rebuilt) read.history.clear();
    if (backward && !answer.gradients.trace_e.empty())
      judge_gru_gradient_steps(data.problem, read, data.dy, data.dhn, answer.gradients, accuracy, see, parts);
  }
};

// ---- places ----

// A unit at a step of a row in a direction.
struct gru_place {
  int d = 0;
  int64_t b = 0, t = 0, k = 0;
  int block = -1;  // of the history

  std::string text() const { return fmt::format("t = {} of row {}, direction {}, unit {}", t, b, d, k); }
};

// The place of an element of y, history or trace_e.
gru_place place_of(const reference::gru_shape& s, std::string_view tensor, size_t index) {
  auto i = static_cast<int64_t>(index);
  const auto take = [&](int64_t size) {
    const int64_t at = i % size;
    i /= size;
    return at;
  };
  gru_place p;
  p.k = take(s.hidden);
  if (tensor == "y") {
    p.d = static_cast<int>(take(s.directions));
    p.b = take(s.batch);
    p.t = i;
    return p;
  }
  if (tensor == "history") p.block = static_cast<int>(take(4));
  p.b = take(s.batch);
  p.t = take(s.time);
  p.d = static_cast<int>(i);
  return p;
}

// The step of the walk that visits time t; -1: none does.
int64_t step_of(const gru_row_call& call, const gru_place& p) {
  const reference::gru_walk walk(call.data.problem, p.d, p.b);
  for (int64_t step = 0; step < walk.length; ++step)
    if (walk.time(step) == p.t) return step;
  return -1;
}

// ---- the explanation ----

const std::map<std::string, std::string, std::less<>> k_formulas = {
    {"y", "h = (1 - z) n + z h_prev, h_prev as the kernel wrote it for the step before."},
    {"history", "r, z = s(W_ih x + b_ih + W_hh h_prev + b_hh), n = tanh(W_ih x + b_ih + r (W_hh h_prev + b_hh))."},
    {"hn", "hn is y of the last visited step, to the bit; h0 where no step is visited."},
    {"trace_e", "e = dy + dh, dh = e z + W_hh^T dgh of the step after, or dhn; e of it as the kernel wrote it."},
    {"dh0", "dh0 is what is left of dh behind the first visited step."},
    {"dh_reset", "dh_reset is the sum of dh where a segment begins."},
    {"dx", "dx = the sum of W_ih^T dgi over gates, units and directions."},
    {"dw_ih", "dW_ih = the sum of dgi x^T over the steps of all rows."},
    {"dw_hh", "dW_hh = the sum of dgh h_prev^T over the steps of all rows."},
    {"db_ih", "db_ih = the sum of dgi over the steps of all rows."},
    {"db_hh", "db_hh = the sum of dgh over the steps of all rows."}};

double single(double x) { return static_cast<double>(static_cast<float>(x)); }

// The element that the report names; else the furthest of all tensors.
std::pair<std::string, size_t> element_of(const observed_call& call, const gru_row_call& gru) {
  if (call.worst)
    if (const auto t = gru.tensors.find(call.worst->tensor); t != gru.tensors.end()) {
      const int64_t cols = call.c.at(call.worst->tensor).cols();
      return {t->first, static_cast<size_t>(call.worst->row * cols + call.worst->col)};
    }
  std::pair<std::string, size_t> found = {"", 0};
  double worst = -1;
  for (const auto& [name, t] : gru.tensors) {
    if (t.actual.empty()) continue;
    const size_t i = furthest(t.actual, t.exact, t.bound);
    if (const double s = share_of_bound(t.actual[i], t.exact[i], t.bound[i]); s > worst) {
      worst = s;
      found = {name, i};
    }
  }
  return found;
}

explained_call explain_gru(const observed_call& call) {
  explained_call s;
  const gru_row_call gru(call);
  const auto [name, index] = element_of(call, gru);
  if (name.empty()) return s;
  const judged_tensor& t = gru.tensors.find(name)->second;
  const auto cols = static_cast<size_t>(call.c.at(name).cols());
  const size_t row = index / cols;
  const auto part = [&](const doubles& all) {
    return doubles(all.begin() + static_cast<std::ptrdiff_t>(row * cols),
                   all.begin() + static_cast<std::ptrdiff_t>((row + 1) * cols));
  };
  s.output = name;
  s.item = "element";
  s.row = static_cast<int64_t>(row);
  s.element = static_cast<int64_t>(index % cols);
  s.element_name = fmt::format("{}[{}]", name, index);
  s.row_name = fmt::format("row {} of {}", row, name);
  if (call.outputs) s.actual = part(t.actual);
  s.values.exact = part(t.exact);
  s.values.bound = part(t.bound);
  s.values.formula = k_formulas.find(name)->second;
  if (t.bound[index] > 0 && index < t.parts.size()) s.values.terms = t.parts[index];
  if (t.bound[index] > 0)
    s.values.bound_formula =
        "radii of the sums of products and of the gates, from what the kernel wrote for the steps before "
        "(docs/numerics.md, \"Gated "
        "recurrent units\").";
  if (t.bound[index] > 0 && s.values.terms.empty())
    s.values.terms = {{"sums and products of the step that it comes from", t.bound[index]}};
  if (name == "y" || name == "history" || name == "trace_e") {
    const gru_place p = place_of(gru.shape(), name, index);
    s.values.numbers = fmt::format(
        "That is {}{}.", p.block < 0 ? "" : fmt::format("the {} at ", reference::k_gru_blocks[p.block]), p.text());
    if (const int64_t step = step_of(gru, p); step >= 0 && gru.forward)
      s.values.steps = reference::gru_steps(gru.data.problem, gru.answer.states, gru.accuracy, p.d, p.b, step, p.k);
  }
  if (s.values.steps.empty() || name == "trace_e")
    s.values.steps.push_back(
        {name, t.exact[index], single(t.exact[index]), s.actual.empty() ? std::nan("") : t.actual[index]});
  return s;
}

const explainer_registration gru("gru", explain_gru);

}  // namespace
}  // namespace warpcheck
