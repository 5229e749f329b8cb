// Algebra of gated recurrent units: nets whose answers have a closed form, sums over rows and steps, what gradients of
// chosen inputs must be.

#include <algorithm>
#include <cmath>

#include "properties/engine/cases/description.hpp"
#include "properties/gru/gru_cases.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::gru_radii;
using reference::gru_shape;

// ---- cases ----

trial_case unmarked_gru(const target& t, draw& d) {
  trial_case c = small_gru(t, d);
  leave_out(c, "reset");
  return c;
}

// States and gradients that an open gate has to hand on to the bit: within 1 and beyond, and too small for a product.
trial_case kept_states(const target& t, draw& d) {
  trial_case c = unmarked_gru(t, d);
  const double seed = d.seed();
  const auto fill = [&](const char* tensor, recipe r) {
    if (c.at(tensor).elements() > 0) c.find(tensor)->fill = std::move(r);
  };
  if (d.index() % 4 == 1)
    for (const char* tensor : {"h0", "dy", "dhn"}) fill(tensor, make_recipe("near_underflow", {seed}));
  if (d.index() % 4 == 2) fill("h0", make_recipe("uniform", {seed, -16, 16}));
  return c;
}

// ---- helpers ----

void fill_gate(std::vector<double>& bias, const gru_shape& s, int gate, double value) {
  for (int d = 0; d < s.directions; ++d)
    for (int64_t k = 0; k < s.hidden; ++k) bias[s.bias(d, gate, k)] = value;
}
std::vector<double> zeros(int64_t size) { return std::vector<double>(static_cast<size_t>(size)); }

// Every bias there, no marks.
gru_data with_biases(trial& t) {
  gru_data data = data_of(t);
  if (data.problem.b_ih.empty()) data.problem.b_ih = zeros(data.shape().bias_size());
  if (data.problem.b_hh.empty()) data.problem.b_hh = zeros(data.shape().bias_size());
  return data;
}

void judge_zero(trial& t, const char* tensor, const std::vector<double>& values) {
  for (size_t i = 0; i < values.size(); ++i) judge_near(t, tensor, i, values[i], 0, 0);
}

// Rows of a gate of a gradient [D, 3H, columns].
std::vector<double> gate_of(const std::vector<double>& v, const gru_shape& s, int gate, int64_t columns) {
  std::vector<double> out;
  for (int d = 0; d < s.directions; ++d)
    for (int64_t i = 0; i < s.hidden * columns; ++i)
      out.push_back(v[static_cast<size_t>((d * 3 + gate) * s.hidden * columns + i)]);
  return out;
}

// ---- closed forms ----

// z = 1: a state stays, and its gradient, if it is asked for, is the sum of what comes from above, in f32 and in order.
void check_open_gate(trial& t) {
  gru_data data = with_biases(t);
  const gru_shape& s = data.shape();
  fill_gate(data.problem.b_ih, s, 1, 200);
  fill_gate(data.problem.b_hh, s, 1, 0);
  const gru_answer a = ask(t, data);
  const auto h0 = [&](size_t i) { return data.problem.h0.empty() ? 0 : data.problem.h0[i] + 0.0; };
  const bool has_our_plan = t.stated().has_our_plan;
  if (!has_our_plan) judge_steps(t, data, a);  // n + z (h - n) is rounded twice
  for (int d = 0; d < s.directions && has_our_plan; ++d)
    for (int64_t b = 0; b < s.batch; ++b) {
      const reference::gru_walk walk(data.problem, d, b);
      for (int64_t k = 0; k < s.hidden; ++k) {
        const size_t i = s.state(d, b, k);
        float dh = static_cast<float>(reference::element_or_zero(data.dhn, i));
        for (int64_t step = walk.length - 1; step >= 0; --step) {
          const size_t at = s.y(walk.time(step), b, d, k);
          judge_near(t, "y", at, a.states.y[at], h0(i), 0);
          dh = static_cast<float>(reference::element_or_zero(data.dy, at)) + dh;
        }
        if (!a.gradients.dh0.empty()) judge_near(t, "dh0", i, a.gradients.dh0[i], dh, 0);
      }
    }
  for (const auto* v : {&a.gradients.dx, &a.gradients.dw_ih, &a.gradients.dw_hh, &a.gradients.db_ih})
    judge_zero(t, "a gradient beside dh0", *v);
}

void check_closed_gate(trial& t) {
  need_outputs(t, {"dw_hh", "dw_ih", "db_hh", "dh0"});
  gru_data data = with_biases(t);
  const gru_shape& s = data.shape();
  fill_gate(data.problem.b_ih, s, 0, -200);
  fill_gate(data.problem.b_hh, s, 0, 0);
  const gru_answer closed = ask(t, data);
  judge_steps(t, data, closed);
  for (const int gate : {0, 2}) judge_zero(t, "dw_hh of r or n", gate_of(closed.gradients.dw_hh, s, gate, s.hidden));
  judge_zero(t, "dw_ih of r", gate_of(closed.gradients.dw_ih, s, 0, s.input));
  judge_zero(t, "db_hh of n", gate_of(closed.gradients.db_hh, s, 2, 1));
  fill_gate(data.problem.b_ih, s, 1, -200);
  fill_gate(data.problem.b_hh, s, 1, 0);
  const gru_answer forward_fed = ask(t, data);
  gru_data other = data;
  for (double& h : other.problem.h0) h = -h;
  const gru_answer of_other = ask(t, other);
  t.require(forward_fed.states.y == of_other.states.y, "y depends on h0 although both gates are closed");
  for (int64_t b = 0; b < s.batch; ++b)
    for (int d = 0; d < s.directions && data.length(b) > 0; ++d)
      for (int64_t k = 0; k < s.hidden; ++k)
        judge_near(t, "dh0", s.state(d, b, k), forward_fed.gradients.dh0[s.state(d, b, k)], 0, 0);
}

// Without weights h_t = n + z^t (h0 - n), t from 1, and dh0 = sum z^t dy_t + z^L dhn.
void check_bias_only(trial& t) {
  gru_data data = with_biases(t);
  const gru_shape& s = data.shape();
  for (auto* w : {&data.problem.w_ih, &data.problem.w_hh}) std::fill(w->begin(), w->end(), 0.0);
  const gru_answer a = ask(t, data);
  const gru_radii radii = radii_of(t, data);
  for (int d = 0; d < s.directions; ++d)
    for (int64_t b = 0; b < s.batch; ++b) {
      const reference::gru_walk walk(data.problem, d, b);
      for (int64_t k = 0; k < s.hidden; ++k) {
        const auto bias = [&](const std::vector<double>& v, int gate) { return v[s.bias(d, gate, k)]; };
        const auto both = [&](int gate) { return bias(data.problem.b_ih, gate) + bias(data.problem.b_hh, gate); };
        const double r = reference::logistic(both(0)), z = reference::logistic(both(1));
        const double n = std::tanh(bias(data.problem.b_ih, 2) + r * bias(data.problem.b_hh, 2));
        const size_t i = s.state(d, b, k);
        const double h0 = reference::element_or_zero(data.problem.h0, i);
        double power = 1, dh0 = 0;
        for (int64_t step = 0; step < walk.length; ++step) {
          const size_t at = s.y(walk.time(step), b, d, k);
          power *= z;
          dh0 += power * reference::element_or_zero(data.dy, at);
          judge_near(t, "y", at, a.states.y[at], n + power * (h0 - n), gru_radii::bound(radii.y[at]));
        }
        dh0 += power * reference::element_or_zero(data.dhn, i);
        if (!a.gradients.dh0.empty())
          judge_near(t, "dh0", i, a.gradients.dh0[i], dh0, gru_radii::bound(radii.gradients.dh0[i]));
      }
    }
}

void check_halving(trial& t) {
  gru_data data = with_biases(t);
  const gru_shape& s = data.shape();
  for (auto* v : {&data.problem.w_ih, &data.problem.w_hh, &data.problem.b_ih, &data.problem.b_hh})
    std::fill(v->begin(), v->end(), 0.0);
  const gru_answer a = ask(t, data, {.pass = "forward"});
  for (int d = 0; d < s.directions; ++d)
    for (int64_t b = 0; b < s.batch; ++b) {
      const reference::gru_walk walk(data.problem, d, b);
      for (int64_t step = 0; step < walk.length; ++step)
        for (int64_t k = 0; k < s.hidden; ++k) {
          const size_t at = s.y(walk.time(step), b, d, k);
          judge_near(
              t, "y", at, a.states.y[at],
              std::ldexp(reference::element_or_zero(data.problem.h0, s.state(d, b, k)), -static_cast<int>(step + 1)),
              0);
        }
    }
}

// ---- sums ----

void check_batch_split(trial& t) {
  const gru_data data = data_of(t);
  const gru_shape& s = data.shape();
  if (s.batch < 2) return t.skip("it takes two rows");
  const gru_answer all = ask(t, data);
  std::vector<gru_data> parts;
  std::vector<gru_answer> answers;
  std::vector<std::vector<int64_t>> lists = {range(0, s.batch / 2), range(s.batch / 2, s.batch)};
  for (const auto& list : lists) {
    parts.push_back(taken(data, 'B', list));
    answers.push_back(ask(t, parts.back()));
    judge_part(t, "rows of a part of the batch", parts.back(), answers.back(), taken(all, s, 'B', list), of_rows);
  }
  judge_sums(t, {data, all}, {{parts[0], answers[0]}, {parts[1], answers[1]}});
  judge_steps(t, data, all);
}

// A sequence of one direction in two calls, the second one going on where the first has ended.
void check_time_split(trial& t) {
  need_outputs(t, {"hn"});
  gru_data data = taken(data_of(t), 'D', {0});
  if (!data.dy.empty() || !data.dhn.empty()) need_outputs(t, {"dh0"});
  const gru_shape& s = data.shape();
  if (s.time < 2) return t.skip("it takes two steps");
  // dh_reset of both calls is one sum, so there is one for each.
  const int64_t at = s.time / 2;
  gru_data first = taken(data, 'T', range(0, at)), second = taken(data, 'T', range(at, s.time));
  first.problem.lengths.clear();
  second.problem.lengths.clear();
  for (int64_t b = 0; b < s.batch; ++b) {
    first.problem.lengths.push_back(std::min(at, data.length(b)));
    second.problem.lengths.push_back(std::max<int64_t>(0, data.length(b) - at));
  }
  const gru_answer whole = ask(t, data);
  const gru_answer begin = ask(t, first, {.pass = "forward"});
  second.problem.h0 = begin.states.hn;
  const gru_answer end = ask(t, second);
  if (!end.gradients.dh0.empty()) first.dhn = end.gradients.dh0;
  const gru_answer back = ask(t, first);
  gru_answer of_first = taken(whole, s, 'T', range(0, at)), of_last = taken(whole, s, 'T', range(at, s.time));
  of_first.states.hn = back.states.hn;  // the whole row has another one
  judge_part(t, "the first steps", first, back, of_first, of_states | of_history | of_trace);
  judge_part(t, "the last steps", second, end, of_last, of_states | of_history | of_trace);
  if (t.stated().is_batch_invariant)
    t.require(back.gradients.dh0 == whole.gradients.dh0, "dh0 of the first steps differs");
  judge_sums(t, {data, whole}, {{first, back}, {second, end}});
  judge_steps(t, data, whole);
}

void check_repeated_rows(trial& t) {
  const gru_data data = taken(data_of(t), 'B', {0});
  const gru_data many = taken(data, 'B', {0, 0, 0, 0, 0});
  const gru_answer one = ask(t, data), five = ask(t, many);
  for (const int64_t row : {int64_t{0}, int64_t{4}})
    judge_part(t, "a row repeated", data, one, taken(five, many.shape(), 'B', {row}), of_rows);
  judge_sums(t, {many, five}, {{data, one, 5}});
  judge_steps(t, many, five);
}

// A row's segments, each a call of its own.
void check_segments(trial& t) {
  need_outputs(t, {"dx", "dh0", "dh_reset"});
  gru_data data = taken(data_of(t), 'B', {0});
  if (!data.problem.h_reset.empty()) need_outputs(t, {"h0"});  // with which a segment begins
  const gru_shape s = data.shape();
  const int64_t length = data.length(0);
  if (data.problem.reset.empty() || length < 2) return t.skip("it takes marks and two steps");
  data.problem.reset[static_cast<size_t>(length / 2)] = 1;
  const gru_answer whole = ask(t, data);
  std::vector<int64_t> begins = {0};
  for (int64_t step = 1; step < length; ++step)
    if (data.problem.reset[static_cast<size_t>(step)] != 0) begins.push_back(step);
  std::vector<gru_data> parts;
  std::vector<gru_answer> answers;
  const auto states = static_cast<size_t>(s.hidden);
  std::vector<double> dh_reset = zeros(s.state_size());
  for (size_t i = 0; i < begins.size(); ++i) {
    const int64_t begin = begins[i], end = i + 1 < begins.size() ? begins[i + 1] : length;
    gru_data part = taken(data, 'T', range(begin, end));
    part.problem.lengths.clear();
    part.problem.reset.clear();
    const bool enters_reset[2] = {i > 0 || data.problem.reset[0] != 0, i + 1 < begins.size()};
    const bool ends[2] = {i + 1 == begins.size(), i == 0};  // whose last state is the row's
    for (int d = 0; d < s.directions; ++d)
      for (size_t k = 0; k < states; ++k) {
        const size_t at = static_cast<size_t>(d) * states + k;
        if (enters_reset[d] && !part.problem.h0.empty())
          part.problem.h0[at] = reference::element_or_zero(data.problem.h_reset, at);
        if (!ends[d] && !part.dhn.empty()) part.dhn[at] = 0;
      }
    parts.push_back(part);
    answers.push_back(ask(t, part));
    gru_answer same = taken(whole, s, 'T', range(begin, end));
    same.states.hn = answers.back().states.hn;  // the whole row has others
    same.gradients.dh0 = answers.back().gradients.dh0;
    same.gradients.dh_reset = answers.back().gradients.dh_reset;
    judge_part(t, "a segment", part, answers.back(), same, of_states | of_inputs | of_trace);
    for (int d = 0; d < s.directions; ++d)
      for (size_t k = 0; k < states; ++k) {
        const size_t at = static_cast<size_t>(d) * states + k;
        if (enters_reset[d])
          dh_reset[at] += answers.back().gradients.dh0[at];
        else if (t.stated().is_batch_invariant)
          judge_near(t, "dh0", at, whole.gradients.dh0[at], answers.back().gradients.dh0[at], 0);
      }
  }
  std::vector<gru_part> sum;
  for (size_t i = 0; i < parts.size(); ++i) sum.push_back({parts[i], answers[i]});
  judge_sums(t, {data, whole}, sum);
  const gru_radii radii = radii_of(t, data);
  for (size_t i = 0; i < dh_reset.size(); ++i)
    judge_near(t, "dh_reset", i, whole.gradients.dh_reset[i], dh_reset[i],
               2 * gru_radii::bound(radii.gradients.dh_reset[i]) + 0x1p-23 * std::fabs(dh_reset[i]));
  judge_steps(t, data, whole);
}

// ---- from above ----

void check_linear(trial& t) {
  gru_data data = data_of(t);
  const gru_answer once = ask(t, data);
  judge_steps(t, data, once);
  for (auto* v : {&data.dy, &data.dhn})
    for (double& e : *v) e *= 2;
  gru_answer twice = ask(t, data);
  std::vector<const std::vector<double>*> first;
  each_output(once, [&](const char*, const auto& v) { first.push_back(&v); });
  size_t k = 0;
  each_output(twice, [&](const char* name, const std::vector<double>& v) {
    const double factor = (group_of(name) & (of_states | of_history)) != 0 ? 1 : 2;
    // A value that is subnormal on the way is no multiple.
    for (size_t i = 0; i < v.size(); ++i)
      judge_near(t, name, i, v[i], factor * (*first[k])[i], factor == 1 ? 0 : 0x1p-120);
    ++k;
  });
}

void check_zero_upstream(trial& t) {
  gru_data data = data_of(t);
  std::ranges::fill(data.dy, 0.0);
  std::ranges::fill(data.dhn, 0.0);
  const gru_answer zeros_above = ask(t, data);
  judge_steps(t, data, zeros_above);
  each_output(zeros_above, [&](const char* name, const std::vector<double>& v) {
    if ((group_of(name) & (of_states | of_history)) == 0) judge_zero(t, name, v);
  });
  data.dy.clear();
  data.dhn.clear();
  require_same(t, "null dy and dhn", ask(t, data), zeros_above, ~0u);
}

// For rows with a step.
void check_dhn(trial& t) {
  gru_data data = data_of(t);
  const gru_shape& s = data.shape();
  if (data.dhn.empty()) data.dhn = std::vector<double>(static_cast<size_t>(s.state_size()), 0.5);
  data.dy = zeros(s.y_size());
  for (int64_t& length : data.problem.lengths) length = std::max<int64_t>(1, length);
  if (s.time < 1) return t.skip("it takes a step");
  const gru_answer by_dhn = ask(t, data);
  judge_steps(t, data, by_dhn);
  gru_data other = data;
  other.dhn.clear();
  for (int d = 0; d < s.directions; ++d)
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t k = 0; k < s.hidden; ++k)
        other.dy[s.y(d == 0 ? data.length(b) - 1 : 0, b, d, k)] = data.dhn[s.state(d, b, k)];
  require_same(t, "dhn as dy of the last visited step", ask(t, other), by_dhn, ~0u);
}

void check_last_state(trial& t) {
  need_outputs(t, {"hn"});
  const gru_data data = data_of(t);
  const gru_shape& s = data.shape();
  const gru_answer a = ask(t, data);
  for (int d = 0; d < s.directions; ++d)
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t k = 0; k < s.hidden; ++k) {
        const size_t i = s.state(d, b, k);
        const int64_t length = data.length(b);
        const double last = length == 0 ? reference::element_or_zero(data.problem.h0, i)
                                        : a.states.y[s.y(d == 0 ? length - 1 : 0, b, d, k)];
        judge_near(t, "hn", i, a.states.hn[i], last, 0);
      }
  judge_steps(t, data, a);
}

// dy of one step alone: no gradient reaches what is visited later.
void check_causal(trial& t) {
  need_outputs(t, {"dx"});
  gru_data data = data_of(t);
  const gru_shape& s = data.shape();
  if (s.time < 1) return t.skip("it takes a step");
  data.dhn.clear();
  const std::vector<double> dy = data.dy.empty() ? std::vector<double>(static_cast<size_t>(s.y_size()), 1) : data.dy;
  const int64_t at = s.time / 2;
  for (int d = 0; d < s.directions; ++d) {
    data.dy = zeros(s.y_size());
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t k = 0; k < s.hidden; ++k) data.dy[s.y(at, b, d, k)] = dy[s.y(at, b, d, k)];
    const gru_answer a = ask(t, data);
    for (int64_t step = 0; step < s.time; ++step)
      for (int64_t b = 0; b < s.batch; ++b)
        for (int64_t i = 0; i < s.input; ++i)
          if (d == 0 ? step > at : step < at)
            judge_near(t, "dx", s.x(step, b, i), a.gradients.dx[s.x(step, b, i)], 0, 0);
    judge_steps(t, data, a);
  }
}

// ---- chosen inputs ----

// Both are the sum over rows of <x, W_ih^T dgi>.
void check_x_and_weights(trial& t) {
  need_outputs(t, {"dx", "dw_ih"});
  const gru_data data = data_of(t);
  gru_data cleared = data;  // padding counts in neither
  for (int64_t step = 0; step < data.shape().time; ++step)
    for (int64_t b = 0; b < data.shape().batch; ++b)
      for (int64_t i = 0; i < data.shape().input; ++i)
        if (data.is_padding(step, b)) cleared.problem.x[data.shape().x(step, b, i)] = 0;
  const gru_answer a = ask(t, cleared);
  const gru_radii radii = radii_of(t, cleared);
  double bound = 0;
  const auto add = [&](const std::vector<double>& values, const std::vector<double>& radius, const auto& gradient) {
    for (size_t i = 0; i < values.size(); ++i)
      bound += std::fabs(values[i]) * (gru_radii::bound(radius[i]) + 0x1p-48 * std::fabs(gradient[i]));
  };
  add(cleared.problem.x, radii.gradients.dx, a.gradients.dx);
  add(cleared.problem.w_ih, radii.gradients.dw_ih, a.gradients.dw_ih);
  judge_near(t, "<x, dx>", 0, dot(cleared.problem.x, a.gradients.dx), dot(cleared.problem.w_ih, a.gradients.dw_ih),
             bound);
  judge_steps(t, cleared, a);
}

void check_bias_gradients(trial& t) {
  need_outputs(t, {"db_ih", "db_hh"});
  const gru_data data = with_biases(t);
  const gru_shape& s = data.shape();
  const gru_answer a = ask(t, data);
  bool differs = false, is_any = false;
  for (int d = 0; d < s.directions; ++d)
    for (int64_t k = 0; k < s.hidden; ++k) {
      for (int gate = 0; gate < 2 && t.stated().has_our_plan; ++gate)  // of others each may be a sum in its own order
        judge_near(t, "db_hh", s.bias(d, gate, k), a.gradients.db_hh[s.bias(d, gate, k)],
                   a.gradients.db_ih[s.bias(d, gate, k)], 0);
      const double of_n = a.gradients.db_ih[s.bias(d, 2, k)];
      is_any |= of_n != 0;
      differs |= of_n != a.gradients.db_hh[s.bias(d, 2, k)];
    }
  t.require(differs || !is_any, "the gradients of both biases of n are the same");
  judge_steps(t, data, a);
}

void check_constant_feature(trial& t) {
  need_outputs(t, {"dw_ih", "db_ih"});
  gru_data data = with_biases(t);
  const gru_shape& s = data.shape();
  if (s.input < 1) return t.skip("it takes an input");
  for (int64_t row = 0; row < s.time * s.batch; ++row) data.problem.x[static_cast<size_t>(row * s.input)] = 1;
  const gru_answer a = ask(t, data);
  const gru_radii radii = radii_of(t, data);
  for (int d = 0; d < s.directions; ++d)
    for (int gate = 0; gate < 3; ++gate)
      for (int64_t k = 0; k < s.hidden; ++k) {
        const size_t w = s.w_ih(d, gate, k, 0), b = s.bias(d, gate, k);
        judge_near(t, "dw_ih", w, a.gradients.dw_ih[w], a.gradients.db_ih[b],
                   gru_radii::bound(radii.gradients.dw_ih[w]) + gru_radii::bound(radii.gradients.db_ih[b]));
      }
  judge_steps(t, data, a);
}

void check_frozen_unit(trial& t) {
  need_outputs(t, {"dw_hh", "db_hh"});
  gru_data data = with_biases(t);
  const gru_shape& s = data.shape();
  if (s.hidden < 1) return t.skip("it takes a unit");
  const int64_t frozen = s.hidden - 1;
  const bool is_marked = !data.problem.reset.empty();
  for (auto* h : {&data.problem.h0, &data.problem.h_reset})
    if (h->empty() && (is_marked || h == &data.problem.h0)) *h = zeros(s.state_size());
  for (int d = 0; d < s.directions; ++d) {
    data.problem.b_ih[s.bias(d, 1, frozen)] = 200;
    for (auto* h : {&data.problem.h0, &data.problem.h_reset})
      for (int64_t b = 0; b < s.batch && !h->empty(); ++b) (*h)[s.state(d, b, frozen)] = 1;
  }
  const gru_answer a = ask(t, data);
  const gru_radii radii = radii_of(t, data);
  for (int d = 0; d < s.directions; ++d)
    for (int gate = 0; gate < 3; ++gate)
      for (int64_t k = 0; k < s.hidden; ++k) {
        const size_t w = s.w_hh(d, gate, k, frozen), b = s.bias(d, gate, k);
        judge_near(t, "dw_hh", w, a.gradients.dw_hh[w], a.gradients.db_hh[b],
                   gru_radii::bound(radii.gradients.dw_hh[w]) + gru_radii::bound(radii.gradients.db_hh[b]));
      }
  judge_steps(t, data, a);
}

}  // namespace

std::vector<property> gru_algebra_properties() {
  gru_property_list list(30);
  const auto two_rows = [](const target& t, draw& d) {
    gru_shape s = draw_shape(d, t);
    s.hidden = std::min<int64_t>(s.hidden, 9);
    s.batch = std::max<int64_t>(2, s.batch);
    trial_case c = gru_case_of(t, d, {s});
    if (!t.variants.empty()) draw_variant(d, c);
    return c;
  };
  const auto two_steps = [](const target& t, draw& d) {
    gru_shape s = draw_shape(d, t);
    s.hidden = std::min<int64_t>(s.hidden, 9);
    s.time = std::max<int64_t>(3, s.time);
    trial_case c = gru_case_of(t, d, {s});
    std::erase_if(c.find("lengths")->fill.edits, [](const edit& e) { return e.col == 0; });
    if (!t.variants.empty()) draw_variant(d, c);
    return c;
  };
  list.add(
      "an-open-update-gate-copies-h0", "z = 1 keeps h0, and adds up what comes from above in order",
      [](const target& t, draw& d) {
        trial_case c = kept_states(t, d);
        draw_precision(d, c, 2);
        return c;
      },
      check_open_gate);
  list.add("a-closed-reset-gate-cuts-the-recurrent-candidate",
           "r = 0 has no gradient of W_hn, and with z = 0 none of h0", unmarked_gru, check_closed_gate);
  list.add("bias-only-networks-have-a-closed-form", "without weights a state nears n by powers of z", unmarked_gru,
           check_bias_only);
  list.add("zero-parameters-halve-the-state", "without parameters every step halves the state", unmarked_gru,
           check_halving, 10);
  list.add("splitting-the-batch-adds-weight-gradients", "two halves of a batch have the rows and sums of the whole",
           two_rows, check_batch_split);
  list.add("splitting-time-chains-hn-and-dh0", "two calls, chained by hn and dh0, are one", two_steps,
           check_time_split);
  list.add("repeating-a-row-k-times-multiplies-dw-by-k", "five rows that are one have five times its sums", small_gru,
           check_repeated_rows);
  list.add("resets-equal-separate-segments", "segments of a row are sequences of their own", two_steps, check_segments);
  list.add("backward-is-linear-in-dy-and-dhn", "doubled dy and dhn give doubled gradients", small_gru, check_linear);
  list.add("zero-upstream-gives-exact-zeros", "zero dy and dhn give zeros, whatever the buffers hold", small_gru,
           check_zero_upstream, 20);
  list.add("dhn-equals-dy-on-the-last-visited-step", "dhn is dy of a row's last visited step", small_gru, check_dhn);
  list.add("hn-is-the-last-visited-row-of-y", "hn is the state of a row's last visited step, or h0", small_gru,
           check_last_state, 20);
  list.add("gradients-are-causal", "dy of a step reaches no step that is visited later", small_gru, check_causal);
  list.add("x-dot-dx-equals-w-ih-dot-dw-ih", "inputs and their weights divide the same sum", small_gru,
           check_x_and_weights);
  list.add("bias-gradients-agree-on-r-and-z-only", "db_ih and db_hh have the same bits for r and z, others for n",
           small_gru, check_bias_gradients);
  list.add("a-constant-one-feature-column-of-dw-ih-is-db-ih", "an input that is always 1 is a bias", small_gru,
           check_constant_feature);
  list.add("a-unit-frozen-at-one-makes-its-column-of-dw-hh-equal-db-hh", "a unit that is always 1 is a bias", small_gru,
           check_frozen_unit);
  return list.take();
}

}  // namespace warpcheck
