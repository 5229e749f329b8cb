// Symmetries of gated recurrent units: directions, rows, units, signs; padding; what is null, wanted or kept.

#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/engine/cases/description.hpp"
#include "properties/gru/gru_cases.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::gru_radii;
using reference::gru_shape;

// ---- directions ----

// Each row turned round within its length; a mark at t begins a segment at length - t.
gru_data turned(gru_data d) {
  const gru_shape s = d.shape();
  const gru_data from = d;
  const auto place = [&](int64_t t, int64_t b) { return from.is_padding(t, b) ? t : from.length(b) - 1 - t; };
  for (int64_t t = 0; t < s.time; ++t)
    for (int64_t b = 0; b < s.batch; ++b) {
      for (int64_t i = 0; i < s.input; ++i) d.problem.x[s.x(t, b, i)] = from.problem.x[s.x(place(t, b), b, i)];
      for (int64_t k = 0; k < s.hidden && !d.dy.empty(); ++k)
        d.dy[s.y(t, b, 0, k)] = from.dy[s.y(place(t, b), b, 0, k)];
      if (d.problem.reset.empty() || from.is_padding(t, b)) continue;
      d.problem.reset[static_cast<size_t>(t * s.batch + b)] =
          t == 0 ? 0 : from.problem.reset[static_cast<size_t>((from.length(b) - t) * s.batch + b)];
    }
  return d;
}

gru_answer turned(const gru_answer& from, const gru_data& d) {
  gru_answer a = from;
  const gru_shape& s = d.shape();
  for (int64_t t = 0; t < s.time; ++t)
    for (int64_t b = 0; b < s.batch; ++b) {
      const int64_t to = d.is_padding(t, b) ? t : d.length(b) - 1 - t;
      for (int64_t i = 0; i < s.input && !a.gradients.dx.empty(); ++i)
        a.gradients.dx[s.x(to, b, i)] = from.gradients.dx[s.x(t, b, i)];
      for (int64_t k = 0; k < s.hidden; ++k) {
        a.states.y[s.y(to, b, 0, k)] = from.states.y[s.y(t, b, 0, k)];
        if (!a.gradients.trace_e.empty())
          a.gradients.trace_e[s.trace(0, to, b, k)] = from.gradients.trace_e[s.trace(0, t, b, k)];
        for (int block = 0; block < 4 && !a.states.history.empty(); ++block)
          a.states.history[s.history(0, to, b, block, k)] = from.states.history[s.history(0, t, b, block, k)];
      }
    }
  return a;
}

// dx is of both directions, so it is compared apart.
void judge_direction(trial& t, const char* what, const gru_data& d, const gru_answer& alone, gru_answer of_both,
                     unsigned groups) {
  of_both.gradients.dx = alone.gradients.dx;
  judge_part(t, what, d, alone, of_both, groups);
}

void check_flip(trial& t) {
  const gru_data both = data_of(t);
  const gru_shape& s = both.shape();
  if (s.directions != 2) return t.skip("it takes two directions");
  const gru_answer a = ask(t, both);
  const gru_answer reverse = taken(a, s, 'D', {1});
  const gru_data second = taken(both, 'D', {1});  // as a forward direction, to be turned
  const gru_data flipped = turned(second);
  const gru_answer forward = ask(t, flipped);
  judge_direction(t, "the flipped forward direction, and the reverse one", flipped, forward, turned(reverse, flipped),
                  of_rows);
  // Rows are added in another order.
  judge_sums(t, {flipped, forward}, {{flipped, reverse}});
  judge_steps(t, both, a);
}

void check_directions(trial& t) {
  const gru_data both = data_of(t);
  const gru_shape& s = both.shape();
  if (s.directions != 2) return t.skip("it takes two directions");
  const gru_answer a = ask(t, both);
  const gru_data first = taken(both, 'D', {0});
  const gru_data second = turned(taken(both, 'D', {1}));
  const gru_answer alone = ask(t, first), other = ask(t, second);
  judge_direction(t, "the first direction alone", first, alone, taken(a, s, 'D', {0}), of_rows | of_weights);
  const gru_answer back = turned(other, second);
  const gru_radii of_both = radii_of(t, both), of_first = radii_of(t, first), of_second = radii_of(t, second);
  gru_answer bounds;
  bounds.gradients.dx = of_second.gradients.dx;
  bounds.gradients.trace_e = of_second.gradients.trace_e;
  bounds.states.y = of_second.y;
  bounds.states.history = of_second.history;
  bounds = turned(bounds, second);
  for (size_t i = 0; i < a.gradients.dx.size(); ++i)
    judge_near(t, "dx", i, a.gradients.dx[i], alone.gradients.dx[i] + back.gradients.dx[i],
               gru_radii::bound(of_both.gradients.dx[i]) + gru_radii::bound(of_first.gradients.dx[i]) +
                   gru_radii::bound(bounds.gradients.dx[i]));
  judge_steps(t, both, a);
}

// ---- rows, units, signs ----

std::vector<int64_t> shuffled(int64_t size, uint64_t seed) {
  std::vector<int64_t> list = range(0, size);
  std::ranges::stable_sort(list, [&](int64_t a, int64_t b) {
    return hash64(seed, static_cast<uint64_t>(a)) < hash64(seed, static_cast<uint64_t>(b));
  });
  return list;
}

void check_rows(trial& t) {
  const gru_data data = data_of(t);
  const std::vector<int64_t> order = shuffled(data.shape().batch, 3);
  const gru_data other = taken(data, 'B', order);
  const gru_answer a = ask(t, data), b = ask(t, other);
  judge_part(t, "rows in another order", other, b, taken(a, data.shape(), 'B', order), of_rows);
  judge_sums(t, {other, b}, {{data, a}});
  judge_steps(t, data, a);
}

void check_rows_alone(trial& t) {
  const gru_data data = data_of(t);
  const gru_shape& s = data.shape();
  const gru_answer a = ask(t, data);
  for (int64_t b = 0; b < s.batch; ++b) {
    gru_data one = taken(data, 'B', {b});
    const int64_t length = data.length(b);
    if (length == 0) continue;
    one = taken(one, 'T', range(0, length));
    one.problem.lengths.clear();
    const gru_answer alone = ask(t, one);
    gru_answer of_all =
        taken(taken(a, s, 'B', {b}), {s.time, 1, s.input, s.hidden, s.directions}, 'T', range(0, length));
    judge_part(t, "a row packed alone", one, alone, of_all, of_rows);
  }
  judge_steps(t, data, a);
}

void check_units(trial& t) {
  const gru_data data = data_of(t);
  const gru_shape& s = data.shape();
  const std::vector<int64_t> order = shuffled(s.hidden, 5);
  const gru_data other = taken(data, 'H', order);
  const gru_answer a = taken(ask(t, data), s, 'H', order), b = ask(t, other);
  judge_sums(t, {other, b}, {{other, a}}, of_weights | of_inputs | of_trace);
  const gru_radii radii = radii_of(t, other);
  for (size_t i = 0; i < b.states.y.size(); ++i)
    judge_near(t, "y", i, b.states.y[i], a.states.y[i], 2 * gru_radii::bound(radii.y[i]));
  for (size_t i = 0; i < b.states.hn.size(); ++i)
    judge_near(t, "hn", i, b.states.hn[i], a.states.hn[i], 2 * gru_radii::bound(radii.hn[i]));
  judge_steps(t, other, b);
}

void negate(std::vector<double>& v) {
  for (double& e : v) e = -e;
}

// h0, h_reset, n's input weights and biases, r's and z's state weights, dy and dhn negated: y is negated, dx is not.
void check_odd(trial& t) {
  gru_data data = data_of(t);
  const gru_shape& s = data.shape();
  const gru_answer a = ask(t, data);
  for (auto* v : {&data.problem.h0, &data.problem.h_reset, &data.dy, &data.dhn}) negate(*v);
  const auto negate_gate = [&](std::vector<double>& v, int gate, int64_t columns) {
    if (v.empty()) return;
    for (int d = 0; d < s.directions; ++d)
      for (int64_t i = 0; i < s.hidden * columns; ++i) {
        double& e = v[static_cast<size_t>((d * 3 + gate) * s.hidden * columns + i)];
        e = -e;
      }
  };
  negate_gate(data.problem.w_ih, 2, s.input);
  negate_gate(data.problem.b_ih, 2, 1);
  negate_gate(data.problem.b_hh, 2, 1);
  for (const int gate : {0, 1}) negate_gate(data.problem.w_hh, gate, s.hidden);
  const gru_answer b = ask(t, data);
  judge_steps(t, data, b);
  if (!t.stated().has_our_plan) return;  // (e^2x - 1) / (e^2x + 1) is odd only up to its rounding
  for (size_t i = 0; i < a.states.y.size(); ++i) judge_near(t, "y", i, b.states.y[i], -a.states.y[i], 0);
  for (size_t i = 0; i < a.gradients.dx.size(); ++i) judge_near(t, "dx", i, b.gradients.dx[i], a.gradients.dx[i], 0);
  for (size_t i = 0; i < a.gradients.dh0.size(); ++i)
    judge_near(t, "dh0", i, b.gradients.dh0[i], -a.gradients.dh0[i], 0);
}

// ---- padding, nulls, what is wanted ----

void check_padding(trial& t) {
  const gru_data data = data_of(t);
  const gru_shape& s = data.shape();
  gru_data dirty = data;
  for (int64_t step = 0; step < s.time; ++step)
    for (int64_t b = 0; b < s.batch; ++b) {
      if (!data.is_padding(step, b)) continue;
      for (int64_t i = 0; i < s.input; ++i) dirty.problem.x[s.x(step, b, i)] = std::numeric_limits<double>::quiet_NaN();
      for (int d = 0; d < s.directions && !data.dy.empty(); ++d)
        for (int64_t k = 0; k < s.hidden; ++k) dirty.dy[s.y(step, b, d, k)] = std::numeric_limits<double>::infinity();
      if (!data.problem.reset.empty()) dirty.problem.reset[static_cast<size_t>(step * s.batch + b)] ^= 1;
    }
  const gru_answer clean = ask(t, data);
  judge_steps(t, data, clean);
  require_same(t, "padding of NaN and infinities", ask(t, dirty), clean, ~0u);
}

void check_longer(trial& t) {
  const gru_data data = data_of(t);
  const gru_shape& s = data.shape();
  gru_data longer = data;
  longer.problem.lengths.clear();
  for (int64_t b = 0; b < s.batch; ++b) longer.problem.lengths.push_back(data.length(b));
  longer.shape().time = s.time + 3;
  const auto grow = [](auto& v, int64_t size, auto value) {
    if (!v.empty()) v.resize(static_cast<size_t>(size), value);
  };
  grow(longer.problem.x, longer.shape().x_size(), 0.5);
  grow(longer.problem.reset, longer.shape().time * s.batch, uint8_t{1});
  grow(longer.dy, longer.shape().y_size(), -1.0);
  const gru_answer a = ask(t, data), b = ask(t, longer);
  const gru_answer begin = taken(b, longer.shape(), 'T', range(0, s.time));
  judge_part(t, "without three steps of padding", data, a, begin, of_rows);
  const gru_answer end = taken(b, longer.shape(), 'T', range(s.time, s.time + 3));
  for (const auto* v : {&end.states.y, &end.states.history, &end.gradients.dx, &end.gradients.trace_e})
    for (size_t i = 0; i < v->size(); ++i) judge_near(t, "padding", i, (*v)[i], 0, 0);
  judge_sums(t, {longer, b}, {{data, a}});
  judge_steps(t, longer, b);
}

void check_nulls(trial& t) {
  gru_data data = data_of(t);
  for (auto* v : {&data.problem.h0, &data.problem.h_reset, &data.dhn, &data.problem.b_ih, &data.problem.b_hh})
    std::fill(v->begin(), v->end(), 0.0);
  gru_answer zeros = ask(t, data);
  judge_steps(t, data, zeros);
  for (auto* v : {&data.problem.h0, &data.problem.h_reset, &data.dhn}) v->clear();
  require_same(t, "null states", ask(t, data), zeros, ~0u);
  data.problem.b_ih.clear();
  data.problem.b_hh.clear();
  // Gradients of biases that are not there are not wanted.
  zeros.gradients.db_ih.clear();
  zeros.gradients.db_hh.clear();
  require_same(t, "null biases", ask(t, data), zeros, ~0u);
}

void check_recompute(trial& t) {
  need_outputs(t, {"history"});
  const gru_data data = data_of(t);
  const gru_answer saved = ask(t, data);
  const gru_request r{.history = "recompute"};
  const gru_answer again = ask(t, data, r);
  judge_steps(t, data, saved);
  judge_steps(t, data, again, r);
  require_same(t, "save and recompute", again, saved, of_states);
  const gru_radii of_saved = radii_of(t, data), of_again = radii_of(t, data, r);
  for (const auto& tensor : gru_tensors<double>()) {
    const auto &a = saved.gradients.*tensor.gradient, &b = again.gradients.*tensor.gradient;
    for (size_t i = 0; i < a.size(); ++i)
      judge_near(t, tensor.name, i, b[i], a[i],
                 gru_radii::bound((of_saved.gradients.*tensor.gradient)[i]) +
                     gru_radii::bound((of_again.gradients.*tensor.gradient)[i]));
  }
}

void check_subsets(trial& t) {
  const gru_data data = data_of(t);
  const gru_answer full = ask(t, data);
  judge_steps(t, data, full);
  const std::vector<std::vector<std::string>> subsets = {{"y", "history", "dx"},
                                                         {"y", "history", "dw_hh", "db_ih"},
                                                         {"y", "history", "hn", "dh0", "dw_ih"},
                                                         {"y", "history", "dh_reset", "db_hh", "trace_e"}};
  for (const auto& subset : subsets) {
    gru_answer some = ask(t, data, {.only = subset}), wanted = full;
    std::vector<bool> is_there;
    each_output(some, [&](const char* name, auto& v) {
      const bool listed = std::ranges::find(subset, name) != subset.end();
      t.require(listed || v.empty(), "{} was not wanted", name);
      is_there.push_back(listed);
    });
    size_t k = 0;
    each_output(wanted, [&](const char*, auto& v) {
      if (!is_there[k++]) v.clear();
    });
    require_same(t, "some of the outputs", some, wanted, ~0u);
  }
}

// ---- registration ----

trial_case two_directions(const target& t, draw& d) {
  gru_shape s = draw_shape(d, t);
  s.hidden = std::min<int64_t>(s.hidden, 9);
  s.directions = 2;
  s.time = std::max<int64_t>(2, s.time);
  trial_case c = gru_case_of(t, d, {s});
  if (!t.variants.empty()) draw_variant(d, c);
  return c;
}

}  // namespace

std::vector<property> gru_symmetry_properties() {
  gru_property_list list(30);
  const auto has_two = [](const trial_case& c) { return data_of(c).shape().directions == 2; };
  list.add("the-reverse-direction-is-the-flipped-forward-one", "both passes of the reverse direction, turned round",
           two_directions, check_flip)
      .holds = has_two;
  list.add("both-directions-equal-each-alone", "one call of two directions is two calls, and dx adds", two_directions,
           check_directions)
      .holds = has_two;
  const auto in_precisions = [](const target& t, draw& d) {
    trial_case c = small_gru(t, d);
    draw_precision(d, c, 2);
    return c;
  };
  list.add("permuting-batch-rows-permutes-results", "rows in another order give the same rows", in_precisions,
           check_rows);
  list.add("permuting-hidden-units-permutes-everything", "units in another order give the same units", small_gru,
           check_units);
  list.add("odd-symmetry", "states, dy, dhn, some weights and biases change sign: so does y, not dx", small_gru,
           check_odd);
  list.add("padding-content-changes-nothing", "x, dy and marks beyond a row's length change no result", small_gru,
           check_padding);
  list.add("growing-time-by-padding-changes-nothing", "steps beyond every row's length add zeros", small_gru,
           check_longer);
  list.add("null-h0-equals-zero-h0", "states and biases that are null are zeros", small_gru, check_nulls);
  list.add("save-equals-recompute", "gates made anew give the gradients of those that were saved", small_gru,
           check_recompute);
  list.add("packed-equals-padded", "a row alone, without its padding, has the bits it has among others", in_precisions,
           check_rows_alone, 20);
  list.add("a-subset-of-gradients-equals-the-full-run", "gradients that are not wanted change no other result",
           small_gru, check_subsets, 20);
  return list.take();
}

}  // namespace warpcheck
