#include "properties/engine/trials/polynomial_identity.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "properties/engine/trials/case_notes.hpp"
#include "properties/engine/trials/reused_storage.hpp"
#include "properties/engine/trials/trial.hpp"

namespace warpcheck::engine {
namespace {

constexpr double k_probability = 1e-9;  // that a wrong polynomial passes all runs of a shape
constexpr int k_most_runs = 20;
constexpr int k_draws_for_a_large_set = 50;  // some shapes are too large for one
constexpr int64_t k_distinct_seeds = 1'000'000'000;

bool is_variable(const tensor_spec& t) { return t.is_input && is_float(t.type) && t.elements() > 0; }

// The number of values from which every variable of the case is drawn; 0: some variable is not drawn.
double set_size(const trial_case& c) {
  double smallest = HUGE_VAL;
  for (const tensor_spec& t : c.tensors) {
    if (!is_variable(t)) continue;
    if (t.fill.distribution != "integers" || !t.fill.edits.empty()) return 0;
    smallest = std::min(smallest, std::floor(t.fill.arguments[2]) - std::ceil(t.fill.arguments[1]) + 1);
  }
  return std::isinf(smallest) ? 0 : smallest;
}

trial_case with_new_values(trial_case c, int run) {
  for (tensor_spec& t : c.tensors)
    if (is_variable(t)) reseed(t, static_cast<uint64_t>(run), k_distinct_seeds);
  return c;
}

}  // namespace

int identity_runs(const trial_case& c, int degree) {
  const double size = set_size(c);
  if (size <= degree) return 0;
  const double runs = std::ceil(std::log(k_probability) / std::log(degree / size));
  return runs <= k_most_runs ? static_cast<int>(runs) : 0;
}

void make_polynomial_identity(property& p, int degree) {
  p.name = "polynomial-identity";
  p.sentence = "exact runs on integers, so many that a wrong polynomial passes them with probability below 1e-9";
  p.generate = [generate = p.generate, degree](const target& t, draw& d) {
    trial_case c = generate(t, d);
    for (int i = 0; i < k_draws_for_a_large_set && identity_runs(c, degree) == 0; ++i) c = generate(t, d);
    c.knobs["schedule"] = "fair";
    if (t.device == "emulated") c.knobs["detect"] = "off";
    c.knobs.erase("repeat");
    return c;
  };
  p.holds = [holds = p.holds, degree](const trial_case& c) {
    return identity_runs(c, degree) > 0 && (!holds || holds(c));
  };
  p.check = [check = p.check, degree](trial& t) {
    const trial_case c = t.the_case();
    const int runs = identity_runs(c, degree);
    if (runs == 0) return t.skip("its inputs are not integers of a set large enough");
    std::vector<trial_case> calls = {c};
    for (int i = 1; i < runs; ++i) calls.push_back(with_new_values(c, i));
    t.run_calls(calls, check);
    case_notes::add(k_wrong_polynomial, std::pow(degree / set_size(c), runs));
  };
}

}  // namespace warpcheck::engine
