// The cases of best_split's properties.
#include <algorithm>

#include "properties/best_split/best_split_cases.hpp"
#include "properties/engine/cases/description.hpp"

namespace warpcheck {

using namespace engine;
using reference::split_feature;

// Penalties, gates and smoothing of every kind; many leaves keep a split.
void draw_settings(draw& d, split_knobs& knobs) {
  const auto maybe = [&](const char* name, int percent, std::initializer_list<double> values) {
    const bool taken = d.chance(percent);
    const double value = d.one_of(values);
    if (taken) knobs.emplace_back(name, value);
  };
  maybe("lambda_l1", 30, {0.5, 2.0, 16.0});
  maybe("lambda_l2", 40, {0.25, 1.0, 10.0});
  maybe("path_smooth", 30, {0.5, 4.0, 1e-310});
  maybe("min_hessian", 30, {0.0, 1.0, 16.0});
  maybe("min_data", 40, {0.0, 2.0, 5.0, 20.0});
  maybe("min_gain", 20, {0.125, 8.0});
  maybe("extra_trees", 10, {1.0});
  maybe("exact", 40, {0.0});
  maybe("empty", 40, {20.0, 80.0});
  maybe("masked", 10, {1.0});
}

static recipe draw_masses(draw& d) {
  switch (d.index() % 12) {
    case 1: return make_recipe("constant", {d.one_of({1.0, 0.5})});
    case 2: return make_recipe("integers", {d.seed(), -3, 3});
    case 3: return make_recipe("duplicates", {d.seed(), 3});
    case 4: return make_recipe("log_uniform", {d.seed(), -100, 100});
    case 5: return make_recipe("cancellation", {d.seed(), 1e6});
    case 6: return make_recipe("randn", {d.seed()});
    case 7: return make_recipe("near_underflow", {d.seed()});
    case 8: return make_recipe("alternating", {d.one_of({-1.0, 1.0}), 1});
    case 9: return make_recipe("spike", {1, 4, 1});
    case 10: return make_recipe("near_overflow", {d.seed()});
    default: return dyadic_masses(d);
  }
}

trial_case any_split(const target& t, draw& d) {
  split_knobs knobs = {{"seed", d.seed()}, {"missing", k_mixed_missing}, {"encoding", k_mixed}};
  draw_settings(d, knobs);
  const int64_t bins = draw_bins(d, t, d.chance(20) ? 1030 : 130);
  // More features than a block has warps: their records are compared across blocks.
  const bool are_many = bins <= 8 && d.chance(40);
  const int64_t features = are_many ? d.between(5, 20) : bins > 64 ? d.between(1, 2) : d.between(1, 4);
  const int64_t leaves = bins > 64 ? 1 : d.between(1, 2);
  recipe masses = draw_masses(d);
  trial_case c = split_case(t, bins, features, leaves, std::move(masses), knobs);
  if (d.index() % 3 == 2) c.knobs["variant"] = d.index() % 2 ? "best_split_mixed" : "best_split_cluster";
  if (d.index() % 3 == 1) c.knobs["variant"] = "best_split_block";
  return c;
}

// Small cases go to clusters; half of them go to blocks here, where a warp takes each.
static trial_case by_blocks(trial_case c, const draw& d) {
  if (d.index() % 2) c.knobs["variant"] = "best_split_block";
  return c;
}

trial_case dyadic_split(const target& t, draw& d) {
  split_knobs knobs = {{"seed", d.seed()}, {"missing", k_mixed_missing}, {"encoding", k_mixed}};
  draw_settings(d, knobs);
  const int64_t bins = draw_bins(d, t, d.chance(20) ? 300 : 70), features = d.between(1, 3);
  const recipe masses = dyadic_masses(d);
  return by_blocks(split_case(t, bins, features, d.between(1, 2), masses, knobs), d);
}

// One leaf whose bins are all stored, with counts: what a check changes as it likes.
trial_case plain_split(const target& t, draw& d, int64_t most_bins, int64_t features, split_knobs knobs) {
  knobs.emplace_back("seed", d.seed());
  const int64_t bins = std::max<int64_t>(2, draw_bins(d, t, most_bins));
  return by_blocks(split_case(t, bins, features, 1, dyadic_masses(d), knobs), d);
}

trial_case exact_split(const target& t, draw& d) {
  trial_case c = dyadic_split(t, d);
  c.knobs.erase("exact");
  follow(c);
  return c;
}

trial_case leaf_of(const target& t, draw& d, int64_t features, split_knobs knobs) {
  draw_settings(d, knobs);
  std::erase_if(knobs,
                [](const auto& k) { return k.first == "exact" || k.first == "masked" || k.first == "extra_trees"; });
  return plain_split(t, d, 300, features, std::move(knobs));
}

// One leaf whose features store every bin.
split_instance one_leaf(trial& t) {
  split_instance s = instance_of(t);
  if (s.features.empty() || s.leaves.size() != 1 || s.counts.empty())
    t.skip("it takes a leaf with counts and a feature");
  for (const split_feature& f : s.features)
    if (f.num_bin < 2 || f.mfb_offset != 0) t.skip("it takes features that store at least two bins");
  return s;
}

int64_t number(trial& t, const char* name) {
  const trial_case& c = t.the_case();
  return c.knobs.count(name) ? static_cast<int64_t>(c.number(name)) : 0;
}

}  // namespace warpcheck
