// Gradients of gated recurrent units as slopes: of the reference's forward pass, of the candidate's own, and by the
// adjoint identity. These find faults that no symmetry of the formulas shows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/engine/cases/description.hpp"
#include "properties/gru/gru_cases.hpp"
#include "reference/gru/gru_tangent.hpp"
#include "reference/numerics/multiprecision.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::gru_radii;
using reference::gru_shape;
using reference::mp50;

constexpr double k_norm_gates[] = {2e-6, 5e-6, 1e-5};  // of y and hn; of dx, dh0, dh_reset; of weights and biases
constexpr double k_step = 0x1p-7;                      // of the candidate's own slope
constexpr int64_t k_directions = 8;                    // where coordinates are too many

template <class S>
gru_case<S> widened(const gru_case<double>& from) {
  gru_case<S> to;
  const auto wide = [](const std::vector<double>& v) { return std::vector<S>(v.begin(), v.end()); };
  to.problem.shape = from.problem.shape;
  to.problem.lengths = from.problem.lengths;
  to.problem.reset = from.problem.reset;
  const auto narrow = gru_tensors<double>();
  const auto tensors = gru_tensors<S>();
  for (size_t k = 0; k < tensors.size(); ++k) to.problem.*tensors[k].value = wide(from.problem.*narrow[k].value);
  to.dy = wide(from.dy);
  to.dhn = wide(from.dhn);
  return to;
}

double sign_of(uint64_t seed, uint64_t a, uint64_t b) { return hash64(seed, a, b) >> 63 != 0 ? 1 : -1; }

// ---- differences of the reference's forward pass ----

// |<g, v> - slope| <= bound, where half the step shows what the difference of width 10^-16 itself is off by.
void judge_slope(trial& t, const gru_case<mp50>& exact, const gru_tensor<mp50>& tensor, size_t i,
                 const std::vector<mp50>& v, double along, double bound) {
  const mp50 slope = gru_difference(exact, tensor, v, mp50("1e-16"));
  if (!(std::fabs(along - static_cast<double>(slope)) <= bound)) {
    const mp50 half = gru_difference(exact, tensor, v, mp50("5e-17"));
    bound += 2 * static_cast<double>(abs(mp50(slope - half)));
  }
  judge_near(t, tensor.gradient_name, i, along, static_cast<double>(slope), bound);
}

void check_differences(trial& t) {
  const gru_data data = data_of(t);
  need_gradients(t, data);
  const gru_shape& s = data.shape();
  const gru_answer a = ask(t, data);
  const gru_radii radii = radii_of(t, data);
  const auto exact = widened<mp50>(data);
  const auto tensors = gru_tensors<mp50>();
  const auto narrow = gru_tensors<double>();
  const bool every = s.time * s.batch * (s.input + s.hidden) * s.hidden <= 400;
  for (size_t k = 0; k < tensors.size(); ++k) {
    const std::vector<double>& g = a.gradients.*narrow[k].gradient;
    const std::vector<double>& radius = radii.gradients.*narrow[k].gradient;
    const size_t size = (data.problem.*narrow[k].value).size();
    if (size == 0) continue;  // h0 is null: its gradient has no coordinate to move
    t.require(g.size() == size, "the gradient of {} has {} elements, not {}", tensors[k].name, g.size(), size);
    for (size_t i = 0; every && i < size; ++i) {
      std::vector<mp50> unit(size, mp50(0));
      unit[i] = 1;
      judge_slope(t, exact, tensors[k], i, unit, g[i], gru_radii::bound(radius[i]));
    }
    for (int64_t direction = 0; !every && direction < k_directions; ++direction) {
      std::vector<mp50> v;
      double along = 0, bound = 0;
      for (size_t i = 0; i < size; ++i) {
        const double sign = sign_of(static_cast<uint64_t>(direction), k, i);
        v.emplace_back(sign);
        along += sign * g[i];
        bound += gru_radii::bound(radius[i]) + 0x1p-50 * std::fabs(g[i]);
      }
      judge_slope(t, exact, tensors[k], static_cast<size_t>(direction), v, along, bound);
    }
  }
  if (every) return;
  const auto states = reference::gru_forward(data.problem);
  const auto expected = reference::gru_backward(data.problem, states, data.dy, data.dhn);
  for (const auto& tensor : narrow)
    for (size_t i = 0; i < (a.gradients.*tensor.gradient).size(); ++i)
      judge_near(t, tensor.gradient_name, i, (a.gradients.*tensor.gradient)[i], (expected.*tensor.gradient)[i],
                 gru_radii::bound((radii.gradients.*tensor.gradient)[i]));
}

// Every gradient is significant: weights of up to 3 / sqrt(hidden), states that are not 0, inputs of another number
// than units.
trial_case sloped(const target& t, draw& d, int directions) {
  const bool many = d.index() % 8 == 7;
  gru_shape s{d.between(2, 3), 2, d.one_of({1, 3}), d.between(2, 3), directions};
  if (s.input == s.hidden) s.input = 1;
  if (many) s = {4, 3, 5, 7, directions};
  gru_choice choice{s, d.one_of({1.0, 2.0, 3.0})};
  if (many) choice.weights = 1;
  choice.ragged = choice.marked = directions == 2 || d.chance(40);
  trial_case c = gru_case_of(t, d, choice);
  // One row is whole, another is not.
  if (choice.ragged) {
    auto& lengths = c.find("lengths")->fill.edits;
    std::erase_if(lengths, [](const edit& e) { return e.col == 0; });
    if (lengths.empty()) lengths.push_back({0, 1, 1});
  }
  if (!t.variants.empty()) draw_variant(d, c);
  if (d.chance(30)) set_knob(c, "history_mode", "recompute"), leave_out(c, "history");
  run_once(c);
  return c;
}
trial_case one_direction(const target& t, draw& d) { return sloped(t, d, 1); }
trial_case two_directions(const target& t, draw& d) { return sloped(t, d, 2); }

// ---- the candidate's own slope ----

// v of -1, 0 and 1 for every parameter.
gru_case<double> directions_of(const gru_case<double>& like) {
  gru_case<double> v;
  const auto tensors = gru_tensors<double>();
  for (size_t k = 0; k < tensors.size(); ++k)
    for (size_t i = 0; i < (like.problem.*tensors[k].value).size(); ++i)
      (v.problem.*tensors[k].value).push_back(static_cast<double>(hash64(151, k, i) % 3) - 1);
  return v;
}

template <class S>
gru_case<S> moved(gru_case<S> c, const gru_case<double>& v, const S& by) {
  const auto narrow = gru_tensors<double>();
  const auto tensors = gru_tensors<S>();
  for (size_t k = 0; k < tensors.size(); ++k)
    for (size_t i = 0; i < (v.problem.*narrow[k].value).size(); ++i)
      (c.problem.*tensors[k].value)[i] += by * S((v.problem.*narrow[k].value)[i]);
  return c;
}

// (4 s(c) - s(2c)) / 3 with s(c) = (L(p + c v) - L(p - c v)) / 2c.
template <class S, class Objective>
S extrapolated(const gru_case<S>& c, const gru_case<double>& v, const S& step, Objective objective) {
  const auto s = [&](const S& by) {
    return S((objective(moved(c, v, by)) - objective(moved(c, v, S(-by)))) / (2 * by));
  };
  return S((4 * s(step) - s(S(2 * step))) / 3);
}

// How far slope and gradient may be apart, but for the truncation of the formula.
struct slope_errors {
  double of_objective = 0, of_gradient = 0;
  bool usable = true;
};
slope_errors errors_of(const gru_data& data, const gru_case<double>& v, const reference::gru_accuracy& accuracy) {
  slope_errors e;
  const auto radii_at = [&](const gru_case<double>& at) {
    const gru_radii radii =
        reference::gru_trajectory(at.problem, at.dy, at.dhn, accuracy, accuracy, reference::gru_gates::saved);
    e.usable &= radii.usable();
    return radii;
  };
  for (const double step : {k_step, 2 * k_step}) {
    double both = 0;
    for (const double by : {step, -step}) {
      const gru_radii radii = radii_at(moved<double>(data, v, by));
      for (size_t i = 0; i < radii.y.size() && !data.dy.empty(); ++i)
        both += std::fabs(data.dy[i]) * gru_radii::bound(radii.y[i]);
      for (size_t i = 0; i < radii.hn.size() && !data.dhn.empty(); ++i)
        both += std::fabs(data.dhn[i]) * gru_radii::bound(radii.hn[i]);
    }
    e.of_objective = std::max(e.of_objective, both);
  }
  const gru_radii radii = radii_at(data);
  for (const auto& tensor : gru_tensors<double>())
    for (size_t i = 0; i < (v.problem.*tensor.value).size(); ++i)
      e.of_gradient +=
          std::fabs((v.problem.*tensor.value)[i]) * gru_radii::bound((radii.gradients.*tensor.gradient)[i]);
  return e;
}

double along(const reference::gru_gradients<double>& g, const gru_case<double>& v) {
  double sum = 0;
  for (const auto& tensor : gru_tensors<double>())  // without h0 there is no way along it
    if (!(v.problem.*tensor.value).empty()) sum += dot(g.*tensor.gradient, v.problem.*tensor.value);
  return sum;
}

// 3/2 W/2c, the truncation, and the gradient's own errors.
double allowed_of(const slope_errors& e, double truncation) {
  return 1.5 * e.of_objective / (2 * k_step) + truncation + e.of_gradient;
}

// True if the case shows a wrong gradient, by the reference alone.
bool has_significant_gradient(const trial_case& c) {
  const gru_data data = data_of(c);
  const gru_case<double> v = directions_of(data);
  const auto states = reference::gru_forward(data.problem);
  const double slope = along(reference::gru_backward(data.problem, states, data.dy, data.dhn), v);
  const double truncation = std::fabs(extrapolated<double>(data, v, k_step, gru_objective<double>) - slope);
  const slope_errors e = errors_of(data, v, reference::gru_allowed_chains(data.shape()));
  return e.usable && allowed_of(e, truncation) <= std::fabs(slope) / 50;
}

trial_case own_slope(const target& t, draw& d) {
  trial_case c;
  int refused = 0;
  for (;; ++refused) {
    gru_choice choice{{d.between(2, 3), 2, d.between(1, 3), d.between(2, 3), static_cast<int>(d.between(1, 2))}, 2};
    choice.steps = 10;
    c = gru_case_of(t, d, choice);
    if (refused == 20 || has_significant_gradient(c)) break;
  }
  if (!t.variants.empty()) draw_variant(d, c);
  set_knob(c, "refused", fmt::format("{}", refused));
  run_once(c);
  return c;
}

// Sums of products in twice the precision (Ogita, Rump and Oishi, SIAM J. Sci. Comput. 26, 2005).
double compensated_dot(const std::vector<double>& a, const std::vector<double>& b, double sum = 0) {
  double rest = 0;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const double product = a[i] * b[i], total = sum + product, part = total - sum;
    rest += (sum - (total - part)) + (product - part) + std::fma(a[i], b[i], -product);
    sum = total;
  }
  return sum + rest;
}

void check_own_slope(trial& t) {
  const gru_data data = data_of(t);
  need_gradients(t, data);
  if (!data.dy.empty()) need_outputs(t, {"y"});
  if (!data.dhn.empty()) need_outputs(t, {"hn"});
  const gru_case<double> v = directions_of(data);
  const slope_errors e = errors_of(data, v, accuracy_of(t.stated(), t.the_case(), data.shape()));
  if (!e.usable) return t.skip("its errors are beyond first order");
  const double slope = extrapolated<double>(data, v, k_step, [&](const gru_case<double>& at) {
    const gru_answer a = ask(t, {at, {}, {}}, {.pass = "forward", .history = "none"});
    return compensated_dot(data.dhn, a.states.hn, compensated_dot(data.dy, a.states.y));
  });
  const auto exact = widened<mp50>(data);
  const auto near = [&](const mp50& by) {
    return mp50((gru_objective(moved(exact, v, by)) - gru_objective(moved(exact, v, mp50(-by)))) / (2 * by));
  };
  const mp50 formula = extrapolated<mp50>(exact, v, mp50(k_step), gru_objective<mp50>);
  const double truncation = static_cast<double>(abs(mp50(formula - near(mp50("1e-16")))));
  const double allowed = allowed_of(e, truncation);
  const gru_answer a = ask(t, data);
  judge_steps(t, data, a);  // a net without outputs has no slope and no gradient
  const double actual = along(a.gradients, v);
  if (!(allowed <= std::fabs(static_cast<double>(formula)) / 50)) return t.skip("its gradient is too small to judge");
  judge_near(t, "<gradient, v>", 0, actual, slope, allowed);
}

// ---- the adjoint identity ----

double largest(const std::vector<double>& v) {
  double most = 0;
  for (const double x : v) most = std::max(most, std::fabs(x));
  return most;
}

// <dy, J v> + <dhn, J_n v> = the sum of <gradient, v> over all tensors, v of +-1.
void check_adjoint(trial& t) {
  const gru_data data = data_of(t);
  need_gradients(t, data);
  const gru_answer a = ask(t, data);
  reference::gru_problem<double> v;
  const auto tensors = gru_tensors<double>();
  double of_gradients = 0, bound = 0;
  const bool small = data.shape().hidden <= 12 && data.shape().time <= 8;
  const gru_radii radii = small ? radii_of(t, data) : gru_radii{};
  for (size_t k = 0; k < tensors.size(); ++k) {
    const std::vector<double>& g = a.gradients.*tensors[k].gradient;
    for (size_t i = 0; i < (data.problem.*tensors[k].value).size(); ++i)
      (v.*tensors[k].value).push_back(sign_of(7, k, i));
    of_gradients = compensated_dot(g, v.*tensors[k].value, of_gradients);
    // Weights and biases are tensors 1 to 4.
    const double gate = k_norm_gates[k >= 1 && k <= 4 ? 2 : 1] * largest(g);
    for (size_t i = 0; i < g.size(); ++i)
      bound += small ? gru_radii::bound((radii.gradients.*tensors[k].gradient)[i]) : gate;
  }
  const auto [y, hn] = reference::gru_tangent(data.problem, v);
  const auto slopes = [](const std::vector<reference::dual<double>>& of) {
    std::vector<double> list;
    for (const auto& e : of) list.push_back(e.slope);
    return list;
  };
  const double of_slopes = compensated_dot(data.dhn, slopes(hn), compensated_dot(data.dy, slopes(y)));
  judge_near(t, "<gradient, v>", 0, of_gradients, of_slopes, bound);
}

trial_case of_any_size(const target& t, draw& d) {
  gru_shape s = draw_shape(d, t);
  if (d.index() % 8 == 6) s = {t.device == "cuda" ? 300 : 12, 3, 20, t.device == "cuda" ? 120 : 40, 2};
  gru_choice choice{s};
  trial_case c = gru_case_of(t, d, choice);
  if (!t.variants.empty()) draw_variant(d, c);
  c.knobs["schedule"] = "fair";
  return c;
}

}  // namespace

std::vector<property> gru_gradient_properties() {
  const auto at_least_two = [](const trial_case& c) {
    const gru_data data = data_of(c);
    return data.shape().time > 0 && data.shape().batch > 0 && data.shape().hidden > 0;
  };
  gru_property_list list;
  list.add("each-gradient-of-the-kernel-is-a-difference-quotient",
           "each gradient is the slope of the reference's forward pass, coordinate by coordinate", one_direction,
           check_differences, 20);
  list.add("each-gradient-of-two-directions-and-padded-rows-is-a-difference-quotient",
           "the same of two directions, rows of several lengths and segments", two_directions, check_differences, 10);
  list.add("the-kernels-gradient-is-the-kernels-slope", "gradients are slopes of the candidate's own forward pass",
           own_slope, check_own_slope, 20);
  list.add("the-adjoint-identity-holds", "gradients along a direction are the derivative along it", of_any_size,
           check_adjoint, 40);
  std::vector<property> all = list.take();
  for (property& p : all) p.holds = at_least_two;
  return all;
}

}  // namespace warpcheck
