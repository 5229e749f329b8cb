// gru in steps: gates and states of a step from what the kernel wrote for the step before, gradients from its
// trace. Bounds: reference/gru/gru_bound.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "properties/gru/gru_call.hpp"
#include "properties/rows/explanation_support.hpp"
#include "reference/gru/gru_bound_parts.hpp"
#include "reference/gru/gru_step.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::gru_balls::exactly;
using reference::gru_balls::row_model;
using reference::gru_balls::unit_step;

constexpr const char* k_blocks[] = {"reset gate r", "update gate z", "new gate n", "W_hh h + b of the new gate"};
constexpr term_words k_rows = {"row of the sequence", "rows of the sequence", "number", "numbers"};

// Exact values and bounds of a tensor, each from what the kernel wrote before it.
struct judged_tensor {
  doubles exact, bound, actual;
  std::vector<std::vector<reference::bound_term>> parts;

  bool is_wrong(size_t i) const { return share_of_bound(actual[i], exact[i], bound[i]) > 1; }
};

bool is_finite(const gru_data& d) {
  bool finite = true;
  each_input(d, [&](const char*, const char*, const auto& values) {
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
        accuracy(reference::gru_allowed_chains(data.shape())) {
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

  // The units of a step, from the state that the kernel had.
  std::vector<unit_step> units(int d, int64_t b, int64_t step) const {
    const row_model row(data.problem, accuracy, d, b);
    const std::vector<double> h = row.entering(read.y, step);
    return forward || read.history.empty() ? row.forward(h, step) : row.saved(read.history, h, step);
  }
  // Those of the backward pass.
  std::vector<unit_step> gates(int d, int64_t b, int64_t step) const {
    const row_model row(data.problem, accuracy, d, b);
    const std::vector<double> h = row.entering(read.y, step);
    return read.history.empty() ? row.forward(h, step) : row.saved(read.history, h, step);
  }

 private:
  void judge(bool rebuilt) {
    std::map<std::string, const doubles*> lists;
    each_output(answer, [&](const char* name, const char*, const doubles& values) { lists[name] = &values; });
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

// Of y, history and trace_e.
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

// ---- what departs ----

// A value that a mistake would give.
struct mistake {
  std::string text;
  double value;
};

std::string first_that_fits(const std::vector<mistake>& list, double actual, double bound) {
  for (const mistake& m : list)
    if (std::fabs(actual - m.value) <= bound + 1e-7 * std::fabs(m.value)) return m.text;
  return "";
}

// Both sums of a gate of a unit, and what mistakes make of them.
struct gate_sums {
  double of_x, of_h, b_ih, b_hh, x_transposed;

  gate_sums(const gru_row_call& call, const gru_place& p, const std::vector<double>& h, int gate)
      : of_x(reference::gru_input_sum(call.data.problem, p.d, p.t, p.b, gate, p.k)),
        of_h(reference::gru_hidden_sum(call.data.problem, p.d, h, gate, p.k)),
        b_ih(reference::element_or_zero(call.data.problem.b_ih, call.shape().bias(p.d, gate, p.k))),
        b_hh(reference::element_or_zero(call.data.problem.b_hh, call.shape().bias(p.d, gate, p.k))),
        x_transposed(b_ih) {
    const reference::gru_shape& s = call.shape();
    const auto all = static_cast<size_t>(3 * s.hidden * s.input);
    for (int64_t i = 0; i < s.input; ++i) {
      const size_t at = static_cast<size_t>(i * 3 * s.hidden + gate * s.hidden + p.k) + static_cast<size_t>(p.d) * all;
      x_transposed += call.data.problem.w_ih[at] * call.data.problem.x[s.x(p.t, p.b, i)];
    }
  }

  std::vector<mistake> arguments() const {
    return {{"W_ih x is missing", of_h},
            {"W_hh h is missing", of_x + b_hh},
            {"the bias b_ih is missing", of_x + of_h - b_ih},
            {"the bias b_hh is missing", of_x + of_h - b_hh},
            {"W_ih is read transposed, as (input, 3 hidden)", x_transposed + of_h}};
  }
};

class step_departure {
 public:
  step_departure(const gru_row_call& call, const gru_place& p, int64_t step)
      : call_(call), p_(p), units_(call.units(p.d, p.b, step)) {
    for (const unit_step& u : units_) h_.push_back(u.h_prev);
  }

  std::string of_block(double actual, double bound) const {
    const unit_step& u = unit();
    const gate_sums sums(call_, p_, h_, p_.block == 3 ? 2 : p_.block);
    if (p_.block == 3)
      return first_that_fits(
          {{"the bias b_hh is missing", sums.of_h - sums.b_hh}, {"the product is missing", sums.b_hh}}, actual, bound);
    std::vector<mistake> list;
    if (p_.block == 2) {
      double before = sums.b_hh;
      for (size_t j = 0; j < h_.size(); ++j)
        before += call_.data.problem.w_hh[call_.shape().w_hh(p_.d, 2, p_.k, static_cast<int64_t>(j))] *
                  units_[j].r.value * h_[j];
      list = {
          {"r multiplies the state before the product with W_hh (variant reset_before)", std::tanh(sums.of_x + before)},
          {"the bias b_hn is outside of r (...)",
           std::tanh(sums.of_x + u.r.value * (sums.of_h - sums.b_hh) + sums.b_hh)},
          {"r is missing", std::tanh(sums.of_x + sums.of_h)},
          {"the tanh is missing", sums.of_x + u.r.value * sums.of_h}};
      return first_that_fits(list, actual, bound);
    }
    list = {{"the logistic is missing: its argument stands there", sums.of_x + sums.of_h},
            {fmt::format("it is the {}", k_blocks[1 - p_.block]), p_.block == 0 ? u.z.value : u.r.value},
            {"its complement stands there", 1 - (p_.block == 0 ? u.r.value : u.z.value)}};
    for (const mistake& m : sums.arguments()) list.push_back({m.text, reference::logistic(m.value)});
    return first_that_fits(list, actual, bound);
  }

  std::string of_state(double actual, double bound) const {
    const unit_step& u = unit();
    const double z = u.z.value, n = u.n.value, h = u.h_prev;
    std::vector<mistake> list = {{"z and 1 - z are exchanged", z * n + (1 - z) * h},
                                 {"z is taken as 0: the new gate stands there", n},
                                 {"z is taken as 1: the state before stands there", h},
                                 {"z h is missing", (1 - z) * n},
                                 {"(1 - z) n is missing", z * h}};
    // Of a call that writes no gates, a mistake of theirs shows here.
    for (const int gate : {0, 1, 2}) {
      const gate_sums sums(call_, p_, h_, gate);
      for (const mistake& m : sums.arguments()) {
        const double r = gate == 0 ? reference::logistic(m.value) : u.r.value;
        const double of_z = gate == 1 ? reference::logistic(m.value) : z;
        const gate_sums of_n(call_, p_, h_, 2);
        const double new_gate =
            gate == 2 ? std::tanh(m.value - (1 - r) * sums.of_h) : std::tanh(of_n.of_x + r * of_n.of_h);
        list.push_back({fmt::format("of the {}, {}", k_blocks[gate], m.text), (1 - of_z) * new_gate + of_z * h});
      }
    }
    return first_that_fits(list, actual, bound);
  }

 private:
  const unit_step& unit() const { return units_[static_cast<size_t>(p_.k)]; }

  const gru_row_call& call_;
  const gru_place p_;
  const std::vector<unit_step> units_;
  std::vector<double> h_;
};

// e = dy + dh: what is missing of it, or whose dy it has.
std::string departing_trace(const gru_row_call& call, const gru_place& p, int64_t step) {
  const reference::gru_shape& s = call.shape();
  const judged_tensor& trace = call.tensors.at("trace_e");
  const size_t at = s.trace(p.d, p.t, p.b, p.k);
  const double dy = reference::element_or_zero(call.data.dy, s.y(p.t, p.b, p.d, p.k)), dh = trace.exact[at] - dy,
               actual = trace.actual[at];
  const reference::gru_walk walk(call.data.problem, p.d, p.b);
  std::vector<mistake> list;
  if (step + 1 == walk.length && dh != 0) list.push_back({"dhn is not added", dy});
  if (step + 1 < walk.length && walk.entry(step + 1) == reference::gru_entry::carried) {
    const size_t later = s.trace(p.d, walk.time(step + 1), p.b, p.k);
    const double kept = trace.actual[later] * call.gates(p.d, p.b, step + 1)[static_cast<size_t>(p.k)].z.value;
    list.push_back({"of what comes from the later step, W_hh^T dgh is missing", dy + kept});
    list.push_back({"of what comes from the later step, e z is missing", trace.exact[at] - kept});
  }
  list.push_back({"what comes from the later step is missing", dy});
  list.push_back({"dy is missing", dh});
  for (int64_t t = 0; t < s.time; ++t)
    for (int64_t b = 0; b < s.batch; ++b)
      for (int d = 0; d < s.directions; ++d)
        for (int64_t k = 0; k < s.hidden && !call.data.dy.empty(); ++k)
          if (const double other = call.data.dy[s.y(t, b, d, k)]; other != dy)
            list.push_back(
                {fmt::format("dy of t = {}, row {}, direction {}, unit {} is added in place of its own", t, b, d, k),
                 dh + other});
  return first_that_fits(list, actual, trace.bound[at]);
}

// What each row of the sequence adds to a gradient of weights or biases; nothing for other tensors.
doubles row_terms(const gru_row_call& call, std::string_view tensor, size_t index) {
  const reference::gru_shape& s = call.shape();
  const bool of_input = tensor == "dw_ih" || tensor == "db_ih", is_bias = tensor == "db_ih" || tensor == "db_hh";
  if (!of_input && !is_bias && tensor != "dw_hh") return {};
  const auto cols = static_cast<size_t>(is_bias ? 1 : of_input ? s.input : s.hidden);
  const auto row = static_cast<int64_t>(index / cols), col = static_cast<int64_t>(index % cols);
  const int d = static_cast<int>(row / (3 * s.hidden)), gate = static_cast<int>(row / s.hidden % 3);
  const auto k = static_cast<size_t>(row % s.hidden);
  doubles terms;
  for (int64_t b = 0; b < s.batch; ++b) {
    const reference::gru_walk walk(call.data.problem, d, b);
    for (int64_t step = 0; step < walk.length; ++step) {
      const int64_t t = walk.time(step);
      const std::vector<unit_step> units = call.gates(d, b, step);
      const double e = call.answer.gradients.trace_e[s.trace(d, t, b, static_cast<int64_t>(k))];
      const row_model::gradient g = row_model::gradients_of(units[k], exactly(units[k].h_prev), exactly(e));
      const double factor = is_bias    ? 1
                            : of_input ? call.data.problem.x[s.x(t, b, col)]
                                       : units[static_cast<size_t>(col)].h_prev;
      terms.push_back(factor * (of_input ? g.dgi(gate) : g.dgh(gate)).value);
    }
  }
  return terms;
}

std::string first_sentence(const gru_row_call& call, std::string_view name, size_t i) {
  const judged_tensor& t = call.tensors.find(name)->second;
  const double actual = t.actual[i];
  if (std::isnan(actual)) return fmt::format("{}[{}] is the first. ", name, i) + nan_sentence({actual}, {0});
  if (name != "y" && name != "history" && name != "trace_e") {
    const doubles terms = row_terms(call, name, i);
    return fmt::format("States, gates and e of every step are right; {}[{}] departs, which is made of them. ", name,
                       i) +
           (terms.empty() ? "" : missing_sentence(terms, t.exact[i], actual, t.bound[i], k_rows));
  }
  const gru_place p = place_of(call.shape(), name, i);
  const int64_t step = step_of(call, p);
  const std::string what = name == "history" ? k_blocks[p.block] : name == "y" ? "state h" : "gradient e of the state";
  std::string text =
      fmt::format("The {} departs first, at {}: {} in place of {}", what, p.text(), digits(actual), digits(t.exact[i]));
  if (step < 0) return text + ". The row has ended there, and 0 is due.";
  const std::string why = name == "trace_e" ? departing_trace(call, p, step)
                          : name == "y"     ? step_departure(call, p, step).of_state(actual, t.bound[i])
                                            : step_departure(call, p, step).of_block(actual, t.bound[i]);
  return text + (why.empty() ? "; what it is made of is right." : ": " + why + ".");
}

// The first wrong element in the order of computation: gates and states step by step, then e from the last step on,
// then what is made of them.
std::string departs(const gru_row_call& call) {
  const reference::gru_shape& s = call.shape();
  const auto found = [&](const char* name) {
    const auto at = call.tensors.find(name);
    return at == call.tensors.end() ? nullptr : &at->second;
  };
  const judged_tensor *y = found("y"), *history = found("history"), *trace = found("trace_e");
  for (const bool back : {false, true})
    for (int64_t turn = 0; turn < s.time; ++turn)
      for (int d = 0; d < s.directions; ++d)
        for (int64_t b = 0; b < s.batch; ++b) {
          // Direction 1 visits from the end on, and gradients go against the order.
          const int64_t t = (d == 1) == back ? turn : s.time - 1 - turn;
          for (int64_t k = 0; k < s.hidden; ++k) {
            if (back && trace && trace->is_wrong(s.trace(d, t, b, k)))
              return first_sentence(call, "trace_e", s.trace(d, t, b, k));
            for (const int block : {3, 0, 1, 2})
              if (!back && history && history->is_wrong(s.history(d, t, b, block, k)))
                return first_sentence(call, "history", s.history(d, t, b, block, k));
            if (!back && y && y->is_wrong(s.y(t, b, d, k))) return first_sentence(call, "y", s.y(t, b, d, k));
          }
        }
  for (const char* name : {"hn", "dh0", "dh_reset", "dx", "dw_ih", "dw_hh", "db_ih", "db_hh"})
    if (const judged_tensor* t = found(name))
      for (size_t i = 0; i < t->actual.size(); ++i)
        if (t->is_wrong(i)) return first_sentence(call, name, i);
  return "";
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

// The step that makes element i of y or the history, in f32 by hand; implied: what the kernel wrote.
std::vector<explained_step> steps_of_unit(const gru_row_call& call, const gru_place& p, int64_t step) {
  const std::vector<unit_step> units = call.units(p.d, p.b, step);
  const unit_step& u = units[static_cast<size_t>(p.k)];
  std::vector<double> h;
  for (const unit_step& each : units) h.push_back(each.h_prev);
  double sums[3], plain[4];
  for (const int gate : {0, 1, 2}) {
    const gate_sums of(call, p, h, gate);
    sums[gate] = of.of_x;
    if (gate < 2) plain[gate] = single(reference::logistic(single(of.of_x + of.of_h)));
    if (gate == 2) plain[3] = single(of.of_h);
  }
  plain[2] = single(std::tanh(single(sums[2] + single(plain[0] * plain[3]))));
  const auto written = [&](int block) {
    const std::vector<double>& history = call.read.history;
    return history.empty() ? std::nan("") : history[call.shape().history(p.d, p.t, p.b, block, p.k)];
  };
  const double state = single(single((1 - plain[1]) * plain[2]) + single(plain[1] * u.h_prev));
  std::vector<explained_step> steps = {{"state before", u.h_prev, u.h_prev},
                                       {"W_ih x + b of n", sums[2], single(sums[2])}};
  const double exact[] = {u.r.value, u.z.value, u.n.value, u.hn.value};
  for (const int block : {3, 0, 1, 2}) steps.push_back({k_blocks[block], exact[block], plain[block], written(block)});
  const size_t at = call.shape().y(p.t, p.b, p.d, p.k);
  steps.push_back(
      {"state h", u.h.value, state, call.answer.states.y.empty() ? std::nan("") : call.answer.states.y[at]});
  return steps;
}

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
    s.values.numbers =
        fmt::format("That is {}{}.", p.block < 0 ? "" : fmt::format("the {} at ", k_blocks[p.block]), p.text());
    if (const int64_t step = step_of(gru, p); step >= 0 && gru.forward) s.values.steps = steps_of_unit(gru, p, step);
  }
  if (s.values.steps.empty() || name == "trace_e")
    s.values.steps.push_back(
        {name, t.exact[index], single(t.exact[index]), s.actual.empty() ? std::nan("") : t.actual[index]});
  if (!s.actual.empty()) s.values.departs = departs(gru);
  return s;
}

const explainer_registration gru("gru", explain_gru);

}  // namespace
}  // namespace warpcheck
