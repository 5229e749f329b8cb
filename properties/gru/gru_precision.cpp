// Gated recurrent units on trial: what each precision promises of the operands of products.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "properties/engine/cases/description.hpp"
#include "properties/gru/gru_cases.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::gru_shape;

trial_case in_a_precision(const target& t, draw& d) {
  trial_case c = usual_gru(t, d);
  tensor_spec& x = *c.find("x");
  const double seed = d.seed();
  if (d.index() % 4 == 1) x.fill = make_recipe("log_uniform", {seed, -30, 3});
  if (d.index() % 16 == 2) x.fill = make_recipe("near_underflow", {seed});
  if (d.index() % 16 == 6) c.find("h0")->fill = make_recipe("near_underflow", {seed});
  draw_precision(d, c);
  return c;
}

// Errors of 2^-7 stay within first order for few steps of small weights.
trial_case small_in_a_precision(const target& t, draw& d) {
  gru_shape s = draw_shape(d, t);
  s.hidden = std::min<int64_t>(s.hidden, 9);
  s.input = std::min<int64_t>(s.input, 9);
  s.time = std::min<int64_t>(s.time, 3);
  trial_case c = gru_case_of(t, d, {s, 0.5});
  if (!t.variants.empty()) draw_variant(d, c);
  if (d.chance(30)) set_knob(c, "history_mode", "recompute"), leave_out(c, "history");
  draw_precision(d, c);
  return c;
}

// Two weights of which the precision keeps every bit and the next lower one does not.
std::vector<double> distinguishing_weights(const std::string& precision) {
  if (precision == "tf32") return {1 + 0x1p-9, 1 + 0x1p-10};
  if (precision == "bf16") return {1 + 0x1p-6, 1 + 0x1p-7};
  return {1 + 0x1p-12, 1 + 0x1p-20};
}

// Products with operands of 1, 0 and such weights: of x, then of h0. Nothing but gates may round.
void check_mode(trial& t) {
  need_outputs(t, {"history"});
  gru_data data = data_of(t);
  gru_shape& s = data.shape();
  if (s.input < 1 || s.hidden < 1 || s.batch < 1 || s.time < 1) return t.skip("it takes a product");
  data = taken(data, 'T', {0});
  for (auto* none : {&data.problem.b_ih, &data.problem.b_hh, &data.problem.h0, &data.problem.h_reset}) none->clear();
  data.problem.lengths.clear();
  data.problem.reset.clear();
  const std::string precision = t.the_case().knob("precision");
  const std::vector<double> weights = distinguishing_weights(precision);
  // A split leaves 8 u, and a step on tensor cores is cut.
  const double slack = (precision == "tf32x3" ? 40 : 10) * 0x1p-24;
  const double stated = accuracy_of(t.stated(), t.the_case(), s).gates;
  const auto one_hot = [](std::vector<double>& v, int64_t columns) {
    for (size_t i = 0; i < v.size(); ++i)
      v[i] = static_cast<int64_t>(i) % columns == static_cast<int64_t>(i) / columns % columns ? 1 : 0;
  };
  const auto set_weights = [&](std::vector<double>& v) {
    for (size_t i = 0; i < v.size(); ++i) v[i] = weights[i % 2];
  };
  const auto judge_gates = [&](auto weight, bool of_state) {
    const gru_answer a = ask(t, data, {.pass = "forward"});
    judge_steps(t, data, a, {.pass = "forward"});
    for (int d = 0; d < s.directions; ++d)
      for (int64_t b = 0; b < s.batch; ++b)
        for (int block = 0; block < 4; ++block)
          for (int64_t k = 0; k < s.hidden; ++k) {
            if (block == (of_state ? 2 : 3)) continue;  // both sums are in it, or there is none
            const double sum = weight(d, std::min(block, 2), b, k);
            const double exact = block == 3 ? sum : block == 2 ? std::tanh(sum) : 1 / (1 + std::exp(-sum));
            const size_t i = s.history(d, 0, b, block, k);
            judge_near(t, "history", i, a.states.history[i], exact, std::max(slack * exact, block == 3 ? 0 : stated));
          }
  };
  one_hot(data.problem.x, s.input);
  set_weights(data.problem.w_ih);
  judge_gates([&](int d, int g, int64_t b, int64_t k) { return data.problem.w_ih[s.w_ih(d, g, k, b % s.input)]; },
              false);
  data.problem.x.assign(data.problem.x.size(), 0);
  data.problem.h0.assign(static_cast<size_t>(s.state_size()), 0);
  one_hot(data.problem.h0, s.hidden);
  set_weights(data.problem.w_hh);
  judge_gates([&](int d, int g, int64_t b,
                  int64_t k) { return data.problem.w_hh[s.w_hh(d, g, k, (d * s.batch + b) % s.hidden)]; },
              true);
}

}  // namespace

std::vector<property> gru_precision_properties() {
  gru_property_list list;
  list.add(
      "the-mode-is-the-mode", "operands of products keep the bits that the precision promises",
      [](const target& t, draw& d) {
        trial_case c = small_gru(t, d);
        draw_precision(d, c, 6);
        return c;
      },
      check_mode, 20);
  list.add(
      "products-keep-their-precision", "in every precision every step lies within the bounds of its products",
      in_a_precision,
      [](trial& t) {
        const gru_data data = data_of(t);
        judge_steps(t, data, ask(t, data));
      },
      50);
  list.add("every-precision-matches-the-reference", "both passes lie within the bounds of the precision as a whole",
           small_in_a_precision, judge_whole, 30);
  return list.take();
}

}  // namespace warpcheck
