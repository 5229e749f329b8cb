// Outputs of a call beside the formula's exact values and bounds.
#include <algorithm>
#include <cmath>
#include <set>

#include "properties/engine/trials/trial.hpp"
#include "properties/formula/formula_properties.hpp"
#include "reference/formula/evaluate.hpp"

namespace warpcheck::formula_trial {

using namespace engine;

namespace {

constexpr double k_most_operations = 0x1p32;  // of an output that is judged whole: half a minute
constexpr int64_t k_most_elements = int64_t{1} << 20;
constexpr double k_sampled_operations = 0x1p24;  // of any other output
constexpr int64_t k_fewest_elements = 64;

// All elements, or ends, neighbours of powers of two and a random choice.
std::vector<int64_t> judged_elements(int64_t elements, double operations) {
  std::vector<int64_t> chosen;
  if (operations <= (elements <= k_most_elements ? k_most_operations : k_sampled_operations)) {
    for (int64_t i = 0; i < elements; ++i) chosen.push_back(i);
    return chosen;
  }
  const auto share = static_cast<double>(elements) * (k_sampled_operations / operations);
  const int64_t count = std::min(elements, std::max(k_fewest_elements, static_cast<int64_t>(share)));
  std::set<int64_t> some = {0, elements - 1};
  for (int64_t p = 1; p < elements; p *= 2)
    for (const int64_t i : {p - 1, p, p + 1})
      if (i < elements) some.insert(i);
  for (uint64_t k = 0; static_cast<int64_t>(some.size()) < count; ++k)
    some.insert(static_cast<int64_t>(hash64(1, k) % static_cast<uint64_t>(elements)));
  return {some.begin(), some.end()};
}

tensor_map inputs_of(trial& t) {
  tensor_map inputs;
  for (const tensor_spec& s : t.the_case().tensors)
    if (s.is_input) inputs.emplace(s.name, t.input(s.name));
  return inputs;
}

}  // namespace

void judge_outputs(trial& t, const run_result& r, const named_formula& f) {
  const trial_case& c = t.the_case();
  const formula::call_data call = call_of(f, c, inputs_of(t));
  formula::evaluation reference(f.op, call);
  const double operations = cost_of(f.op, call.sizes);
  for (const formula::tensor& out : f.op.outputs) {
    const host_tensor& y = r.at(out.name);
    // The input beside an element, for people, is one of the same place.
    const formula::tensor& first = f.op.inputs.front();
    const bool is_alike = c.at(first.name).shape == y.spec.shape;
    const int64_t cols = std::max<int64_t>(1, y.spec.cols());
    for (const int64_t i : judged_elements(y.spec.elements(), operations)) {
      const int64_t row = i / cols, col = i % cols;
      const double actual = y.value(row, col);
      t.judge(out.name, row, col, is_alike ? t.input(first.name).value(row, col) : NAN, actual,
              reference.judge(out.name, i, actual), [&] { return reference.text(out.name, i); });
    }
  }
}

}  // namespace warpcheck::formula_trial
