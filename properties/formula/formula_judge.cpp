// Outputs of a call beside the formula's exact values and bounds.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "properties/engine/cases/classes.hpp"
#include "properties/engine/trials/case_notes.hpp"
#include "properties/engine/trials/in_hand.hpp"
#include "properties/engine/trials/trial.hpp"
#include "properties/formula/formula_needs.hpp"
#include "properties/formula/formula_properties.hpp"
#include "reference/formula/evaluate.hpp"

namespace warpcheck::formula_trial {

using namespace engine;

namespace {

constexpr double k_most_operations = 0x1p32;  // of an output that is judged whole: half a minute
constexpr int64_t k_most_elements = int64_t{1} << 20;
constexpr double k_sampled_operations = 0x1p24;  // of any other output, and of a case whose needs are looked for
constexpr int64_t k_fewest_elements = 64;
constexpr std::string_view k_values_class = "values:";

// Elements that use the largest parts of their bounds: those that a smaller contract would reject first.
class nearest_elements {
 public:
  void add(double used, returned_element e) {
    if (list_.size() == k_most && !(used > list_.front().first)) return;
    if (list_.size() == k_most) list_.erase(list_.begin());
    const auto larger =
        std::upper_bound(list_.begin(), list_.end(), used, [](double a, const auto& entry) { return a < entry.first; });
    list_.emplace(larger, used, std::move(e));
  }
  std::vector<returned_element> elements() const {
    std::vector<returned_element> all;
    for (const auto& [used, e] : list_) all.push_back(e);
    return all;
  }

 private:
  static constexpr size_t k_most = 4;
  std::vector<std::pair<double, returned_element>> list_;  // ascending
};

// By the class of the case's values.
void note_counts(const trial_case& c, int64_t compared, int64_t free) {
  for (const std::string& name : classes_of(c))
    if (name.starts_with(k_values_class)) {
      case_notes::add(k_compared_note + name, static_cast<double>(compared));
      case_notes::add(k_free_note + name, static_cast<double>(free));
    }
}

}  // namespace

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

void judge_outputs(trial& t, const run_result& r, const named_formula& f) {
  const trial_case& c = t.the_case();
  const formula::call_data call = call_of(f, c, inputs_of(t));
  formula::evaluation reference(f.op, call);
  const double operations = cost_of(f.op, call.sizes);
  nearest_elements nearest;
  bool is_admitted = true;
  int64_t compared = 0, free = 0;
  for (const formula::tensor& out : f.op.outputs) {
    const host_tensor& y = r.at(out.name);
    // The input beside an element, for people, is one of the same place.
    const formula::tensor& first = f.op.inputs.front();
    const bool is_alike = c.at(first.name).shape == y.spec.shape;
    const int64_t cols = std::max<int64_t>(1, y.spec.cols());
    for (const int64_t i : judged_elements(y.spec.elements(), operations)) {
      const int64_t row = i / cols, col = i % cols;
      const double actual = y.value(row, col);
      const warpcheck::reference::judgement j = reference.judge(out.name, i, actual);
      t.judge(out.name, row, col, is_alike ? t.input(first.name).value(row, col) : NAN, actual, j,
              [&] { return reference.text(out.name, i); });
      is_admitted = is_admitted && j.accepted;
      ++compared;
      free += j.bound == HUGE_VAL ? 1 : 0;
      if (j.error_ratio() > 0) nearest.add(j.error_ratio(), {out.name, i, actual});
    }
  }
  note_counts(c, compared, free);
  if (!is_admitted || operations > k_sampled_operations) return;
  for (const auto& [statement, least] : least_needs(f, call, nearest.elements()))
    case_notes::add(k_need_note + statement, least);
}

}  // namespace warpcheck::formula_trial
