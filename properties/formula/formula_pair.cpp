#include "properties/formula/formula_pair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "properties/engine/error.hpp"
#include "properties/engine/trials/in_hand.hpp"
#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/trial.hpp"
#include "properties/formula/formula_cases.hpp"
#include "reference/formula/evaluate.hpp"

namespace warpcheck::formula_trial {

using namespace engine;

namespace {

constexpr const char* k_knob = "forward";
constexpr const char* k_property = "adjoint-identity";

struct pair_of_formulas {
  shared_formula gradient, primal;
  std::string forward;  // a candidate; "": that of the gradient
};

std::map<std::string, pair_of_formulas, std::less<>>& pairs() {
  static std::map<std::string, pair_of_formulas, std::less<>> all;
  return all;
}

std::string adjoint_name(const std::string& tensor) { return "d_" + tensor; }

// The inputs of the primal on both sides of those of a case, along a direction of random signs.
struct both_sides {
  tensor_map ahead, behind;
};

both_sides sides_of(trial& t, const pair_of_formulas& p) {
  both_sides s;
  for (const formula::tensor& x : p.primal->op.inputs) {
    host_tensor ahead = t.input(x.name), behind = ahead;
    const int64_t cols = std::max<int64_t>(1, ahead.spec.cols());
    const bool moves = is_free_input(x) && p.gradient->op.find_output(adjoint_name(x.name));
    for (int64_t i = 0; moves && i < ahead.spec.elements(); ++i) {
      const double v = ahead.value(i / cols, i % cols), step = std::fmax(std::fabs(v), 0x1p-3) * 0x1p-6;
      const double signed_step = hash64(11, static_cast<uint64_t>(i), x.name.size()) % 2 == 0 ? step : -step;
      ahead.set_bits(i / cols, i % cols, encode(ahead.spec.type, v + signed_step));
      behind.set_bits(i / cols, i % cols, encode(ahead.spec.type, v - signed_step));
    }
    s.ahead.emplace(x.name, std::move(ahead));
    s.behind.emplace(x.name, std::move(behind));
  }
  return s;
}

trial_case forward_case(const trial_case& c, const pair_of_formulas& p) {
  trial_case f;
  f.op = p.primal->engine_name();
  f.property = "within-error-bound";
  for (const formula::tensor& x : p.primal->op.inputs) f.tensors.push_back(c.at(x.name));
  for (const formula::tensor& y : p.primal->op.outputs) {
    tensor_spec s = c.at(adjoint_name(y.name));
    s.name = y.name;
    s.is_input = false;
    s.fill = {};
    f.tensors.push_back(std::move(s));
  }
  for (const auto& [name, value] : c.knobs)
    if (name != "formula" && name != k_knob) f.knobs[name] = value;
  if (const auto named = c.knobs.find(k_knob); named != c.knobs.end()) f.knobs["candidate"] = named->second;
  return f;
}

std::pair<run_result, run_result> run_forward(trial& t, const pair_of_formulas& p, const both_sides& at) {
  const trial_case c = forward_case(t.the_case(), p);
  try {
    trial forward(c);
    try {
      run_result ahead = forward.run(c, at.ahead);
      return {std::move(ahead), forward.run(c, at.behind)};
    } catch (const trial_over&) {
      const case_report r = forward.finish();
      if (r.result != verdict::skipped)
        t.require(false, "the forward kernel, {}: {} {}", c.knob("candidate"), name_of(r.result), r.message);
    }
  } catch (const environment_error&) {
    // The candidate has no such operator.
  }
  t.need(fmt::format("{} of the same candidate, or --forward", c.op));
}

// A sum of products with what a kernel gives, the same of the exact values, and what may lie between them.
struct pairing {
  double actual = 0, exact = 0, bound = 0, sizes = 0;

  void add(double weight, double value, const formula::demand& d) {
    if (weight == 0) return;
    actual += weight * value;
    exact += weight * d.expected;
    bound += std::fabs(weight) * d.bound;
    sizes += std::fabs(weight) * (std::fabs(d.expected) + std::fabs(value));
  }
};

void add_outputs(pairing& sum, trial& t, const pair_of_formulas& p, const tensor_map& inputs, const run_result& r,
                 double sign) {
  const trial_case c = forward_case(t.the_case(), p);
  const formula::call_data call = call_of(*p.primal, c, inputs);
  formula::evaluation reference(p.primal->op, call);
  for (const formula::tensor& y : p.primal->op.outputs) {
    const host_tensor &weight = t.input(adjoint_name(y.name)), &actual = r.at(y.name);
    const int64_t cols = std::max<int64_t>(1, actual.spec.cols());
    for (int64_t i = 0; i < actual.spec.elements(); ++i)
      sum.add(sign * weight.value(i / cols, i % cols), actual.value(i / cols, i % cols),
              reference.demand_of(y.name, i));
  }
}

void add_gradients(pairing& sum, trial& t, const pair_of_formulas& p, const both_sides& at, const run_result& r) {
  const formula::call_data call = call_of(*p.gradient, t.the_case(), inputs_of(t));
  formula::evaluation reference(p.gradient->op, call);
  for (const formula::tensor& x : p.primal->op.inputs) {
    const std::string name = adjoint_name(x.name);
    if (!p.gradient->op.find_output(name)) continue;
    const host_tensor &ahead = at.ahead.at(x.name), &behind = at.behind.at(x.name), &actual = r.at(name);
    const int64_t cols = std::max<int64_t>(1, actual.spec.cols());
    for (int64_t i = 0; i < actual.spec.elements(); ++i)
      sum.add(ahead.value(i / cols, i % cols) - behind.value(i / cols, i % cols), actual.value(i / cols, i % cols),
              reference.demand_of(name, i));
  }
}

// <f(x + h v) - f(x - h v), u> of the forward kernel beside <2 h v, gradient> of the other. The exact values differ by
// the remainder of the central difference; each kernel may depart from its own by the bounds of its elements.
void check_adjoint(trial& t, const pair_of_formulas& p) {
  const run_result gradients = t.run();
  const both_sides at = sides_of(t, p);
  const auto [ahead, behind] = run_forward(t, p, at);
  pairing difference, derivative;
  add_outputs(difference, t, p, at.ahead, ahead, 1);
  add_outputs(difference, t, p, at.behind, behind, -1);
  add_gradients(derivative, t, p, at, gradients);
  constexpr double k_of_sums = 0x1p-40;  // of both sums in double, and of exact values as doubles
  const double bound = difference.bound + derivative.bound + std::fabs(difference.exact - derivative.exact) +
                       k_of_sums * (difference.sizes + derivative.sizes);
  if (!std::isfinite(bound)) t.skip("an element of the outputs or gradients has no bound");
  t.require(std::fabs(difference.actual - derivative.actual) <= bound,
            "the forward kernel's outputs change by {:.9g} along a direction, the gradient gives {:.9g}, and at most "
            "{:.3g} may lie between them",
            difference.actual, derivative.actual, bound);
}

}  // namespace

void register_pair(const shared_formula& gradient, const shared_formula& primal) {
  const auto is_rounded_once = [](const formula::tensor& t) {
    return !formula::is_integer(t.type) && !formula::has_8_bits(t.type);
  };
  const std::vector<formula::tensor>&outputs = primal->op.outputs, &gradients = gradient->op.outputs;
  if (!std::ranges::all_of(outputs, is_rounded_once) || !std::ranges::all_of(gradients, is_rounded_once) ||
      !std::ranges::all_of(outputs,
                           [&](const formula::tensor& y) { return gradient->op.find_input(adjoint_name(y.name)); }))
    return;
  pair_of_formulas& p = pairs()[gradient->engine_name()];
  p = {gradient, primal, ""};
  property q;
  q.op = gradient->engine_name();
  q.name = k_property;
  q.sentence = fmt::format("differences of {}'s kernel are what its gradient gives", primal->op.name);
  q.types = {memory_type(gradient->op.inputs.front())};
  q.knobs = {{k_knob, "", "the candidate whose gradient this one is, if it is another"}};
  q.share_percent = 15;
  q.generate = [&p](const target& t, draw& d) {
    trial_case c = draw_case(*p.gradient, t, d, {.most = 300, .is_plain = true});
    if (!p.forward.empty()) c.knobs[k_knob] = p.forward;
    return c;
  };
  q.check = [&p](trial& t) { check_adjoint(t, p); };
  property_registration{{std::move(q)}};
}

std::string primal_of(const std::string& gradient_op) {
  const auto found = pairs().find(gradient_op);
  if (found == pairs().end())
    throw usage_error(fmt::format("forward: '{}' is no gradient; gradient:FILE.op is one", gradient_op));
  return found->second.primal->engine_name();
}

void name_forward(const std::string& gradient_op, const std::string& candidate) {
  pairs().at(gradient_op).forward = candidate;
}

std::pair<std::string, std::string> forward_of(const trial_case& c) {
  const auto named = c.knobs.find(k_knob);
  const auto found = pairs().find(c.op);
  if (named == c.knobs.end() || found == pairs().end()) return {};
  return {found->second.primal->engine_name(), named->second};
}

}  // namespace warpcheck::formula_trial
