// best_split on trial: what must not change, or how, when the leaf changes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/best_split/best_split_cases.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::split_feature;
using reference::split_missing;
using reference::split_result;

// Moves what the missing bin holds to another bin.
void check_directions(trial& t) {
  split_instance s = one_leaf(t);
  for (size_t f = 0; f < s.features.size(); ++f) {
    const split_feature& meta = s.features[f];
    if (meta.num_bin <= 2) {  // two bins have no missing one
      check_dyadic(t, s);
      return;
    }
    const int64_t missing = meta.missing == split_missing::nan ? meta.num_bin - 1 : meta.default_bin;
    const int64_t other = missing == 0 ? 1 : missing - 1;
    s.g(0, f, other) += s.g(0, f, missing);
    s.h(0, f, other) += s.h(0, f, missing);
    s.count(0, f, other) += s.count(0, f, missing);
    s.g(0, f, missing) = s.h(0, f, missing) = 0;
    s.count(0, f, missing) = 0;
  }
  const split_result r = check_dyadic(t, s)[0];
  t.require(!r.is_valid || r.default_left, "without mass in the missing bin both directions gain the same: {}",
            text_of(r));
}

void check_encoding(trial& t) {
  const split_instance s = instance_of(t);
  const std::vector<split_result> stored = check_dyadic(t, s);
  const std::vector<split_result> unstored = check_dyadic(t, without_bin_0(s));
  for (size_t l = 0; l < stored.size(); ++l)
    require_record(t, unstored[l], stored[l], fmt::format("leaf {} without bin 0", l));
}

void check_min_gain(trial& t) {
  split_instance s = instance_of(t);
  const std::vector<split_result> before = check_dyadic(t, s);
  s.settings.min_gain += 0.25;
  const std::vector<split_result> after = check_dyadic(t, s);
  for (size_t l = 0; l < before.size(); ++l) {
    if (!before[l].is_valid || !after[l].is_valid) continue;
    const double size = before[l].left.gain + before[l].right.gain + std::fabs(s.leaves[l].parent_gain) + 1;
    t.require(std::fabs(before[l].gain - 0.25 - after[l].gain) <= 4 * 0x1p-53 * size,
              "min_gain + 0.25 turns {} into {}", text_of(before[l]), text_of(after[l]));
  }
}

void check_sign(trial& t) {
  split_instance s = instance_of(t);
  const std::vector<split_result> before = check_dyadic(t, s);
  for (size_t i = 0; i < s.slots.size(); i += 2) s.slots[i] = -s.slots[i];
  for (auto& l : s.leaves) l.g = -l.g, l.parent_output = -l.parent_output;
  const std::vector<split_result> after = records_of(t, s);
  for (size_t l = 0; l < before.size(); ++l) {
    split_result expected = before[l];
    for (auto* side : {&expected.left, &expected.right}) side->g = 0 - side->g, side->value = 0 - side->value;
    require_record(t, after[l], expected, fmt::format("leaf {} with negated gradients", l));
  }
}

// All side hessians are at least 32 before and after, where eps adds nothing.
void check_scale(trial& t) {
  split_instance s = one_leaf(t);
  for (size_t i = 1; i < s.slots.size(); i += 2) s.slots[i] = std::ceil(s.slots[i]) * 64 + 64;
  for (size_t l = 0; l < s.leaves.size(); ++l) set_totals(s, l);
  const std::vector<split_result> before = check_dyadic(t, s);
  const double k = std::ldexp(1.0, static_cast<int>(number(t, "at")));
  for (double& v : s.slots) v *= k;
  s.settings.lambda_l1 *= k;
  s.settings.lambda_l2 *= k;
  s.settings.min_hessian *= k;
  s.settings.min_gain *= k;
  for (auto& l : s.leaves) l.g *= k, l.h *= k, l.parent_gain *= k;
  const std::vector<split_result> after = records_of(t, s);
  for (size_t l = 0; l < before.size(); ++l) {
    split_result expected = before[l];
    expected.gain *= k;
    for (auto* side : {&expected.left, &expected.right}) side->g *= k, side->h *= k, side->gain *= k;
    require_record(t, after[l], expected, fmt::format("leaf {} scaled by {}", l, k));
  }
}

// The bins but the missing one in reverse order.
void check_mirror(trial& t) {
  split_instance s = one_leaf(t);
  const split_result before = check_dyadic(t, s)[0];
  split_feature& f = s.features[0];
  const int64_t last = f.missing == split_missing::nan && f.num_bin > 2 ? f.num_bin - 2 : f.num_bin - 1;
  for (int64_t b = 0; b < (last + 1) / 2; ++b) {
    std::swap(s.g(0, 0, b), s.g(0, 0, last - b));
    std::swap(s.h(0, 0, b), s.h(0, 0, last - b));
    std::swap(s.count(0, 0, b), s.count(0, 0, last - b));
  }
  if (f.missing == split_missing::zero) f.default_bin = f.num_bin - 1 - f.default_bin;
  const split_result after = check_dyadic(t, s)[0];
  t.require(before.is_valid == after.is_valid && (!before.is_valid || before.gain == after.gain),
            "{} becomes {} in the mirror", text_of(before), text_of(after));
}

void check_empty_bin(trial& t) {
  split_instance s = one_leaf(t);
  const split_result before = check_dyadic(t, s)[0];
  split_feature& f = s.features[0];
  // After bin `at`, which must stay before the NaN bin.
  const int64_t at = std::min(number(t, "at"), f.num_bin - 2);
  const auto place = static_cast<ptrdiff_t>(s.slot(0, 0, at) + 1);
  s.slots.insert(s.slots.begin() + 2 * place, {0.0, 0.0});
  s.counts.insert(s.counts.begin() + place, 0);
  ++f.num_bin;
  if (f.default_bin > at) ++f.default_bin;
  const split_result after = check_dyadic(t, s)[0];
  t.require(before.is_valid == after.is_valid && (!before.is_valid || before.gain == after.gain),
            "{} becomes {} with an empty bin after {}", text_of(before), text_of(after), at);
}

// Two features of one histogram, in either order of the tasks.
void check_duplicate(trial& t) {
  split_instance s = one_leaf(t);
  s.features.push_back(s.features[0]);
  s.features.front().id = 9;
  s.features.back().id = 4;
  if (!s.used.empty()) return t.skip("features are masked");
  const split_result r = check_dyadic(t, s)[0];
  t.require(!r.is_valid || r.feature != 9, "of equal features the lower number is chosen: {}", text_of(r));
}

void check_feature_order(trial& t) {
  split_instance s = instance_of(t);
  const std::vector<split_result> before = check_dyadic(t, s);
  if (!s.used.empty() || s.settings.extra_trees) return;  // masks and draws belong to numbers
  std::ranges::reverse(s.features);
  for (size_t f = 0; f < s.features.size(); ++f) s.features[f].id = 100 + static_cast<int64_t>(f);
  const std::vector<split_result> after = check_dyadic(t, s);
  for (size_t l = 0; l < before.size(); ++l)
    t.require(before[l].is_valid == after[l].is_valid && (!before[l].is_valid || before[l].gain == after[l].gain),
              "{} becomes {} when features change places", text_of(before[l]), text_of(after[l]));
}

// g = h/2 in every bin.
void check_uniform(trial& t) {
  split_instance s = one_leaf(t);
  for (size_t i = 0; i < s.slots.size(); i += 2) {
    s.slots[i + 1] = 32 + std::floor(std::fabs(s.slots[i + 1]));
    s.slots[i] = s.slots[i + 1] / 2;
  }
  set_totals(s, 0);
  const split_result r = check_dyadic(t, s)[0];
  t.require(!r.is_valid, "nothing is gained where all bins have one ratio: {}", text_of(r));
}

void check_identity(trial& t) {
  split_instance s = one_leaf(t);
  for (size_t i = 1; i < s.slots.size(); i += 2) s.slots[i] = 32 + std::floor(std::fabs(s.slots[i]));
  set_totals(s, 0);
  const split_result r = check_dyadic(t, s)[0];
  if (!r.is_valid) return;
  const double cross = r.left.g * r.right.h - r.right.g * r.left.h, total = s.leaves[0].h;
  const double expected = cross / r.left.h * (cross / r.right.h) / total;
  const double size = r.left.gain + r.right.gain + s.leaves[0].parent_gain;
  t.require(std::fabs(r.gain - expected) <= 16 * 0x1p-53 * size, "{}: (G_L H_R - G_R H_L)^2/(H_L H_R H) is {:a}",
            text_of(r), expected);
}

// Without penalties.
template <int Missing>
trial_case bare_leaf(const target& t, draw& d) {
  return plain_split(t, d, 300, 1, {{"missing", Missing}, {"at", static_cast<double>(d.between(0, 30))}});
}
trial_case scaled(const target& t, draw& d) {
  trial_case c = one_leaf_case<1, 3>(t, d);
  c.knobs["at"] = d.one_of({"-1", "1", "4", "20"});
  return c;
}
trial_case stored_bins(const target& t, draw& d) {
  trial_case c = dyadic_split(t, d);
  c.knobs["encoding"] = "0";
  if (d.index() % 4 < 2) c.knobs["missing"] = "1";
  return c;
}
const property_registration registration([] {
  property_list list("best_split", {dtype::f64}, 25);  // a case is several leaves, or a leaf in several forms
  list.add("min-gain-shifts", "raising min_gain lowers the gain by as much", dyadic_split, check_min_gain, 40);
  list.add("split-sign-flip", "negated gradients give the same split with negated values", dyadic_split, check_sign,
           20);
  list.add("split-power-of-two-scale", "scaling everything by a power of two scales the gain", scaled, check_scale, 20);
  list.add("split-mirror", "reversing the bins exchanges the sides and keeps the gain", one_leaf_case<1, 3>,
           check_mirror, 20);
  list.add("empty-bin-insertion", "an empty bin changes no gain", one_leaf_case<1, 3>, check_empty_bin, 20);
  list.add("forward-equals-reverse", "without mass in the missing bin default_left is chosen", one_leaf_case<2, 2>,
           check_directions);
  list.add("encoding-invariance", "a histogram without bin 0 gives the same record", stored_bins, check_encoding)
      .holds = is_strict;
  list.add("feature-permutation", "renumbered features gain the same", exact_split, check_feature_order, 20);
  list.add("duplicate-feature", "among two equal features the one with the lower number is chosen", one_leaf_case<1, 3>,
           check_duplicate, 20);
  list.add("uniform-ratio-no-split", "nothing is gained where all bins have one ratio", bare_leaf<0>, check_uniform,
           20);
  list.add("gain-identity", "the net gain is (G_L H_R - G_R H_L)^2/(H_L H_R H)", bare_leaf<3>, check_identity, 20);
  return list.take();
}());

}  // namespace
}  // namespace warpcheck
