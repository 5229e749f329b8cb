// best_split in steps: sums of a side, rows, gates, gains, values, and the choice among candidates. Model and
// bounds: reference/best_split/best_split.hpp.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "properties/best_split/best_split_call.hpp"
#include "properties/rows/explanation_support.hpp"
#include "reference/best_split/best_split_steps.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::split_candidate_sums;
using reference::split_problem;
using reference::split_result;

doubles numbers_of(const split_result& r) {
  doubles numbers;
  for (const reference::model_step& t : reference::split_steps(r)) numbers.push_back(t.exact);
  return numbers;
}

bool is_same_partition(const split_result& a, const split_result& b) {
  return a.is_valid == b.is_valid && a.feature == b.feature && a.threshold == b.threshold &&
         a.default_left == b.default_left && a.categories == b.categories;
}

std::string name_of(const split_result& r) {
  if (!r.is_valid) return "no split";
  if (!r.categories.empty())
    return fmt::format("feature {}, categories {} to the left", r.feature, fmt::join(r.categories, ", "));
  return fmt::format("feature {}, bins up to {} to the left{}", r.feature, r.threshold,
                     r.default_left ? ", the missing bin too" : "");
}

// The candidate that a record names, with its exact sums.
std::optional<split_candidate_sums> candidate_of(const split_problem& p, const split_result& r) {
  std::optional<split_candidate_sums> found;
  reference::for_each_candidate(p, [&](const split_candidate_sums& c) {
    if (p.features[c.feature].id == r.feature && c.threshold == r.threshold && c.default_left == r.default_left &&
        c.categories == r.categories)
      found = c;
  });
  return found;
}

// ---- the explanation ----

bool is_wrong(const split_instance& s, const split_problem& p, const split_result& given) {
  if (!has_exact_sums(s)) return !reference::refute(p, given).empty();
  const split_result due = reference::best_split(p);
  const doubles a = numbers_of(given), e = numbers_of(due);
  for (size_t i = 0; i < a.size(); ++i)
    if (share_of_bound(a[i], e[i], 0) > 0) return true;
  return !is_same_partition(given, due);
}

size_t leaf_of(const observed_call& call, const split_instance& s) {
  if (call.worst && !(call.worst->error <= call.worst->bound)) return static_cast<size_t>(call.worst->row);
  for (size_t l = 0; l < s.leaves.size() && call.outputs; ++l)
    if (is_wrong(s, s.problem(l), record_of(*call.outputs, static_cast<int64_t>(l)))) return l;
  return 0;
}

std::string formula_of(const reference::split_settings& s) {
  std::string text =
      "Of all admissible candidates the one of the largest gain, then of the lowest feature, default left, the lowest "
      "threshold; gain = (gain_L + gain_R) - (parent_gain + min_gain), gain_S = T T / ((h + eps) + l2), T = sign(g) "
      "max(|g| - l1, 0).";
  if (s.path_smooth != 0) text += " Values are smoothed, and gains follow from them.";
  if (s.lightgbm_cuda) text += " The conventions are those of LightGBM's learner on CUDA.";
  return text;
}

std::string numbers_of(const split_problem& p, size_t leaf, const split_result& due) {
  const std::string of_leaf =
      fmt::format("Leaf {}: {} rows, g {}, h {}, parent's gain {}, {} features. ", leaf, p.leaf.n, digits(p.leaf.g),
                  digits(p.leaf.h), digits(p.leaf.parent_gain), p.features.size());
  if (!due.is_valid) return of_leaf + "No candidate is admissible.";
  return of_leaf +
         fmt::format("Due is {}: left g {}, h {}, {} rows; right g {}, h {}, {} rows; gain ({} + {}) - {} = {}.",
                     name_of(due), digits(due.left.g), digits(due.left.h), due.left.n, digits(due.right.g),
                     digits(due.right.h), due.right.n, digits(due.left.gain), digits(due.right.gain),
                     digits(p.leaf.parent_gain + p.settings.min_gain), digits(due.gain));
}

void name_record(explained_call& s, size_t leaf) {
  s.item = "number";
  s.row = static_cast<int64_t>(leaf);
  s.element = reference::k_gain;
  s.element_name = fmt::format("the gain of leaf {}", leaf);
  s.row_name =
      fmt::format("the record of leaf {} (feature, threshold, default left, sums, rows, gains, values, gain)", leaf);
}

void fill_steps(explained_call& s, const split_result& due) {
  s.values.steps = reference::split_steps(due);
  for (size_t i = 0; i < s.values.steps.size(); ++i) {
    reference::model_step& t = s.values.steps[i];
    t.exact = t.plain = s.values.exact[i];
    if (!s.actual.empty()) t.implied = s.actual[i];
  }
}

explained_call explain_split(const observed_call& call) {
  explained_call s;
  const split_instance instance = instance_of(call.c, call.inputs);
  if (instance.leaves.empty()) return s;
  const size_t leaf = leaf_of(call, instance);
  const split_problem p = instance.problem(leaf);
  split_result due = reference::best_split(p);
  name_record(s, leaf);
  explained_row& t = s.values;
  t.formula = formula_of(p.settings);
  t.numbers = numbers_of(p, leaf, due);
  const bool is_exact = has_exact_sums(instance);
  t.bound_formula = is_exact ? "No sum rounds on these data, so only this record passes."
                             : "Sums round: a side's may err by gamma_64 (|total| + sum of |slots|), all else follows "
                               "from them to the bit, and a candidate passes unless another certainly gains more.";
  t.exact = numbers_of(due);
  t.bound.assign(t.exact.size(), 0);
  if (call.outputs) {
    const split_result given = record_of(*call.outputs, static_cast<int64_t>(leaf));
    const std::string complaint = is_exact ? "" : reference::refute(p, given);
    s.actual = numbers_of(given);
    const std::optional<split_candidate_sums> own = candidate_of(p, given);
    if (!is_exact && complaint.empty()) t.exact = s.actual;
    if (!is_exact && own && given.is_valid && (complaint.empty() || is_same_partition(due, given))) {
      t.exact[reference::k_left_g] = own->g;
      t.exact[reference::k_left_h] = own->h;
      t.bound[reference::k_left_g] = own->radius_g;
      t.bound[reference::k_left_h] = own->radius_h;
    }
    if (!complaint.empty()) t.departs = "What departs: " + complaint + ".";
  }
  fill_steps(s, due);
  return s;
}

// The second stage: the best of a leaf's records, by the same order.
explained_call explain_reduction(const observed_call& call) {
  explained_call s;
  const auto per_leaf = static_cast<int64_t>(call.c.number("per_leaf"));
  const int64_t leaves = per_leaf > 0 ? call.inputs.at("in_value").spec.rows() / per_leaf : 0;
  const int64_t leaf = call.worst ? call.worst->row : 0;
  if (leaf >= leaves) return s;
  const tensor_map records = records_in(call.inputs);
  const int64_t place = best_record(records, leaf, per_leaf);
  if (place < 0) return {};
  const split_result due = record_of(records, leaf * per_leaf + place);
  name_record(s, static_cast<size_t>(leaf));
  s.values.formula =
      "The best valid record of the leaf is copied: larger gain, lower feature, default left, lower threshold.";
  s.values.numbers =
      fmt::format("Of {} records number {} is the best: {}, gain {}.", per_leaf, place, name_of(due), digits(due.gain));
  s.values.exact = numbers_of(due);
  s.values.bound.assign(s.values.exact.size(), 0);
  if (call.outputs) {
    const split_result given = record_of(*call.outputs, leaf);
    s.actual = numbers_of(given);
  }
  fill_steps(s, due);
  return s;
}

explained_call explain_best_split(const observed_call& call) {
  return call.inputs.count("in_value") ? explain_reduction(call) : explain_split(call);
}

const explainer_registration best_split("best_split", explain_best_split);

}  // namespace
}  // namespace warpcheck
