// best_split on trial: the conventions of LightGBM's learner on CUDA.

#include <algorithm>
#include <cmath>

#include "properties/best_split/best_split_cases.hpp"
#include "properties/engine/cases/description.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::k_split_eps;
using reference::split_feature;
using reference::split_missing;
using reference::split_result;

// Hessians in multiples of 2^-56: with eps, a multiple of 2^-73, every sum is still exact, and every eps shows.
constexpr double k_tiny = 0x1p-50;

void scale_hessians(split_instance& s, double by) {
  for (size_t i = 1; i < s.slots.size(); i += 2) s.slots[i] *= by;
  for (auto& l : s.leaves) l.h *= by;
}

// The convention that a case is made to show.
enum convention : int64_t {
  of_sums,       // eps, in hessians so small that no sum rounds
  of_roundings,  // eps that the hessians round
  of_halves      // sides of half a row too many each
};

// Category 1 has nearly all hessians, 2 nearly all of the gain: eps is less than 2 units in the last place of the one
// and 18 of the other, so that the order of additions shows.
void plant_roundings(split_instance& s) {
  for (size_t l = 0; l < s.leaves.size(); ++l) {
    for (size_t f = 0; f < s.features.size(); ++f)
      for (int64_t b = 0; b < s.features[f].num_bin; ++b) {
        s.g(l, f, b) = b == 1 ? -2 : b == 2 ? 8 : 0;
        s.h(l, f, b) = b == 1 ? 6 : b == 2 ? 0.25 : 0;
      }
    set_totals(s, l);
    s.leaves[l].n = 200;
  }
}

// Category 1 is to be split off: it has half of the hessians, and the leaf an odd number of rows.
void plant_halves(split_instance& s) {
  for (size_t l = 0; l < s.leaves.size(); ++l) {
    for (size_t f = 0; f < s.features.size(); ++f)
      for (int64_t b = 0; b < s.features[f].num_bin; ++b) {
        s.g(l, f, b) = b == 1 ? 64 : -1;
        s.h(l, f, b) = b == 1 ? 64 : b == 0 ? 66 - static_cast<double>(s.features[f].num_bin) : 1;
      }
    set_totals(s, l);
    s.leaves[l].n |= 1;
  }
}

// Checks how much of eps remains in the reported hessians, and which rows are reported.
void check_conventions(trial& t) {
  if (t.the_case().number("lightgbm_cuda") == 0) t.need("lightgbm_cuda!=0");
  split_instance s = instance_of(t);
  s.settings.min_hessian = 0;
  const int64_t what = number(t, "at");
  const bool are_categories = std::ranges::all_of(s.features, [](const split_feature& f) {
    return f.mfb_offset == 0 && f.categorical && f.num_bin >= 3 && f.num_bin <= 60;
  });
  if (what == of_sums) {
    scale_hessians(s, k_tiny);
  } else if (what == of_halves) {
    if (!are_categories) return t.skip("it takes categories that store bin 0");
    plant_halves(s);
  } else if (are_categories) {
    plant_roundings(s);
  } else {
    scale_hessians(s, 0x1p-6);  // below 16 in all
  }
  const std::vector<split_result> found = check_dyadic(t, s);
  if (what == of_roundings) return;
  for (size_t l = 0; l < found.size(); ++l) {
    const split_result& r = found[l];
    if (what == of_halves)
      t.require(r.is_valid && r.categories == std::vector<uint32_t>{1} && r.left.n == r.right.n,
                "leaf {}: {}: two halves of {} rows are rounded to even", l, text_of(r), s.leaves[l].n);
    if (!r.is_valid) continue;
    const auto f = std::ranges::find_if(s.features, [&](const split_feature& x) { return x.id == r.feature; });
    const auto& leaf = s.leaves[l];
    const double cf = static_cast<double>(leaf.n) / (leaf.h + 2 * k_split_eps);
    const double expected = leaf.h + (f->categorical ? 2 : 1) * k_split_eps;
    t.require(r.left.h + r.right.h == expected, "leaf {}: {}: the hessians add up to {:a}, not to {:a}", l, text_of(r),
              r.left.h + r.right.h, expected);
    const bool rows = f->categorical ? static_cast<double>(r.right.n) == std::nearbyint(r.right.h * cf)
                                     : r.left.n + r.right.n == leaf.n;
    t.require(rows, "leaf {}: {}: the rows of the right side", l, text_of(r));
  }
}

// If every side has a hessian of 32 or more, eps adds nothing, and the split is the strict one.
void check_against_strict(trial& t) {
  split_instance s = instance_of(t);
  for (const split_feature& f : s.features)
    if (f.mfb_offset != 0) return t.skip("bin 0 is stored here");
  for (size_t i = 1; i < s.slots.size(); i += 2) s.slots[i] = 64 + std::ceil(s.slots[i]);
  for (size_t l = 0; l < s.leaves.size(); ++l) set_totals(s, l);
  s.settings.min_group = 0;
  const std::vector<split_result> found = check_dyadic(t, s);
  s.settings.lightgbm_cuda = false;
  const std::vector<split_result> strict = check_dyadic(t, s);
  for (size_t l = 0; l < found.size(); ++l) {
    const split_result &r = found[l], &o = strict[l];
    const auto f = std::ranges::find_if(s.features, [&](const split_feature& x) { return x.id == o.feature; });
    // Two bins whose missing one is default_bin: the direction is a convention.
    const bool free = o.is_valid && f->num_bin <= 2 && f->missing == split_missing::zero;
    t.require(r.is_valid == o.is_valid && r.gain == o.gain &&
                  (free || !o.is_valid ||
                   (r.feature == o.feature && r.threshold == o.threshold && r.default_left == o.default_left &&
                    r.categories == o.categories && r.left.h == o.left.h && r.right.g == o.right.g)),
              "leaf {}: {}; strict: {}", l, text_of(r), text_of(o));
    if (!r.is_valid) continue;
    // The exact T T/D loses 2 u in strict. In -((2T) w + (D w) w) the terms lose 2 and 4 u (once and twice that of w),
    // the sum 1: 2 2 + 4 + 1 in all.
    t.require(std::fabs(r.left.gain - o.left.gain) <= 12 * 0x1p-53 * o.left.gain || s.settings.path_smooth > 0,
              "leaf {}: the left gain is {:a}, strict {:a}", l, r.left.gain, o.left.gain);
  }
}

split_knobs conventions(draw& d) {
  split_knobs knobs = {{"seed", d.seed()},
                       {"exact", 0},
                       {"lightgbm_cuda", 1},
                       {"missing", k_mixed_missing},
                       {"categorical", d.one_of({0.0, 0.0, 1.0, 2.0})}};
  const auto maybe = [&](const char* name, int percent, std::initializer_list<double> values) {
    const bool taken = d.chance(percent);
    const double value = d.one_of(values);
    if (taken) knobs.emplace_back(name, value);
  };
  maybe("lambda_l1", 25, {0.5, 2.0});
  maybe("lambda_l2", 25, {0.25, 8.0});
  maybe("path_smooth", 25, {0.5, 4.0});
  maybe("min_data", 30, {0.0, 2.0, 5.0});
  maybe("empty", 30, {20.0});
  maybe("max_onehot", 40, {100.0});
  maybe("min_group", 30, {20.0});
  return knobs;
}

trial_case conventional_split(const target& t, draw& d) {
  split_knobs knobs = conventions(d);
  knobs.emplace_back("encoding", k_mixed);
  const int64_t bins = draw_bins(d, t, d.chance(20) ? 300 : 40);
  const recipe masses = dyadic_masses(d);
  const int64_t leaves = d.between(1, 2), features = d.between(1, 3);
  trial_case c = split_case(t, bins, features, leaves, masses, knobs);
  const auto with = [&](std::initializer_list<std::pair<const char*, const char*>> values) {
    for (const auto& [name, value] : values) c.knobs[name] = value;
  };
  const auto with_bins = [&](int64_t slots) {
    const int64_t of_all = c.at("feature").rows() * c.at("leaf").rows();
    c.find("hist")->shape[0] = slots * of_all;
    follow(c);
  };
  const bool is_even = d.index() / 6 % 2 == 0;
  switch (d.index() % 6) {
    case 0: with({{"categorical", "0"}}); break;
    case 1:  // two bins, the second one missing
      with({{"categorical", "0"}, {"missing", "1"}, {"default_bin", "1"}, {"lambda_l1", "0"}});
      with({{"encoding", is_even ? "1" : "0"}});
      with_bins(is_even ? 1 : 2);
      break;
    case 2:  // of_roundings
      with({{"at", "1"}});
      if (is_even) {
        with({{"categorical", "1"}, {"max_onehot", "100"}, {"encoding", "0"}, {"min_data", "1"}});
        with({{"lambda_l1", "0"}, {"lambda_l2", "0"}, {"path_smooth", "0"}});
      }
      with_bins(d.between(3, 12));
      break;
    case 3:  // groups of rows count for nothing
      with({{"categorical", "1"}, {"max_onehot", "0"}, {"min_group", "20"}, {"min_data", "1"}});
      break;
    case 4:  // of_halves
      with({{"at", "2"}, {"categorical", "1"}, {"encoding", "0"}, {"parent", "0"}, {"min_data", "1"}});
      with({{"lambda_l1", "0"}, {"path_smooth", "0"}});
      with_bins(d.between(3, 40));
      break;
    default:  // smoothing shows which rows decide
      with({{"categorical", "1"}, {"max_onehot", "100"}, {"path_smooth", "4"}});
      break;
  }
  return c;
}

trial_case large_hessians(const target& t, draw& d) {
  split_knobs knobs = conventions(d);
  const int64_t bins = draw_bins(d, t, d.chance(20) ? 300 : 40);
  const recipe masses = dyadic_masses(d);
  return split_case(t, bins, 1, d.between(1, 2), masses, knobs);
}

const property_registration registration([] {
  property_list list("best_split", {dtype::f64});
  list.add("lightgbm-conventions", "with LightGBM's conventions eps and rows are where its learner on CUDA leaves them",
           conventional_split, check_conventions, 40);  // six kinds of cases
  list.add("lightgbm-equals-strict", "where eps adds nothing, its conventions give the strict split", large_hessians,
           check_against_strict, 25);
  return list.take();
}());

}  // namespace
}  // namespace warpcheck
