// best_split on trial: the properties of its contract (kernels/best_split/best_split.hpp). On data whose sums are exact
// one record is right, and every property compares all of it; what a property is named after is what its cases are made
// to show.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/best_split/best_split_cases.hpp"
#include "properties/engine/cases/classes.hpp"
#include "properties/engine/cases/description.hpp"
#include "properties/engine/trials/reused_storage.hpp"
#include "properties/rows/own_dispatch.hpp"
#include "reference/numerics/compare.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::split_feature;
using reference::split_missing;
using reference::split_problem;
using reference::split_result;

constexpr double k_inf = std::numeric_limits<double>::infinity();

// ---- cases ----

// Makes the check go through all places, of a feature of up to so many bins. One run of many leaves stands for the
// schedules.
void enumerate(trial_case& c, const target& t, draw& d, int64_t most_bins) {
  const int64_t few = t.device == "cuda" || t.size == 2 ? most_bins : 24;
  const int64_t bins = std::max<int64_t>(3, draw_bins(d, t, few));
  c = split_case(t, bins, 1, 1, c.at("hist").fill,
                 {{"missing", c.number("missing")}, {"seed", d.seed()}, {"at", -1}, {"min_data", 0}});
  if (bins > 16) c.knobs["schedule"] = "fair";
}

trial_case planted_split(const target& t, draw& d) {
  // One block takes a long feature tile by tile, a cluster only a very long one.
  const bool by_block = d.index() % 2 != 0;
  const int64_t any = std::max<int64_t>(2, draw_bins(d, t, t.size == 2 ? 65536 : 1030));
  const int64_t bins = d.index() % 4 == 1 ? d.between(2049, 4200) : any;
  const double missing = d.one_of({0.0, 1.0, 2.0});
  const int64_t anywhere = d.between(0, bins - 2), tile = d.between(0, 16) * 256, beside = d.between(-1, 1);
  const int64_t at = d.one_of({int64_t{0}, bins - 2, anywhere, std::clamp<int64_t>(tile + beside, 0, bins - 2)});
  const split_knobs knobs = {{"seed", d.seed()},
                             {"missing", missing},
                             {"at", static_cast<double>(at)},
                             {"to", static_cast<double>(d.between(0, 1))},
                             {"min_data", 0}};
  trial_case c = split_case(t, bins, 1, 1, dyadic_masses(d), knobs);
  if (by_block) c.knobs["variant"] = "best_split_block";
  if (d.index() % 4 == 2) enumerate(c, t, d, 1024);
  return c;
}

// ---- checks ----

void check_any(trial& t) { check_split(t, instance_of(t)); }

void check_maximal(trial& t) {
  const split_instance s = instance_of(t);
  const std::vector<split_result> records = check_split(t, s);
  for (size_t l = 0; l < records.size(); ++l) {
    const split_problem p = s.problem(l);
    if (!has_exact_sums(s) || (s.settings.path_smooth > 0 && s.settings.path_smooth < 1e-300)) continue;
    if (std::ranges::any_of(p.features, [](const auto& f) { return f.num_bin > 48 || f.categorical; })) continue;
    const std::optional<double> exact = reference::rational_gain(p);
    const split_result& r = records[l];
    // 8 roundings of the largest term; a gain below that may be rounding alone.
    const double shift = p.leaf.parent_gain + s.settings.min_gain;
    const double size = r.is_valid ? std::fabs(r.left.gain) + std::fabs(r.right.gain) + std::fabs(shift)
                                   : 2 * std::fabs(shift) + std::fabs(exact.value_or(0));
    const double gain = r.is_valid ? r.gain : 0;
    t.require(exact.value_or(0) <= gain + 16 * 0x1p-53 * size, "leaf {}: a gain of {:a} is possible, the record has {}",
              l, exact.value_or(0), text_of(r));
  }
}

void check_routing(trial& t) {
  const split_instance s = instance_of(t);
  const std::vector<split_result> records = records_of(t, s);
  for (size_t l = 0; l < records.size(); ++l) {
    const split_result& r = records[l];
    const split_problem p = s.problem(l);
    if (!r.is_valid) continue;
    const auto f = std::ranges::find_if(p.features, [&](const auto& x) { return x.id == r.feature; });
    t.require(f != p.features.end(), "leaf {}: no feature is numbered {}", l, r.feature);
    double g = 0, h = 0;
    int64_t n = 0;
    const std::vector<reference::bin_mass> bins = reference::bins_of(p, *f);
    for (int64_t b = 0; b < f->num_bin; ++b)
      if (reference::goes_left(*f, r, b)) {
        g += bins[static_cast<size_t>(b)].g;
        h += bins[static_cast<size_t>(b)].h;
        n += bins[static_cast<size_t>(b)].n;
      }
    t.require(g == r.left.g && h == r.left.h && (s.counts.empty() || n == r.left.n),
              "leaf {}: {}: routing its rows gives g {:a}, h {:a}, {} rows on the left", l, text_of(r), g, h, n);
  }
  check_dyadic(t, s);
}

void check_sides(trial& t) {
  split_instance s = instance_of(t);
  if (s.features.empty() || s.leaves.empty()) return t.skip("it takes a leaf and a feature");
  if (number(t, "to") != 0 && s.features[0].mfb_offset == 0 && s.features[0].num_bin >= 2) {
    plant(s, number(t, "at"), true);
    // Half a row too many for each half of a power of two: to even that is down (1) or up (3).
    s.leaves[0].n = 2 * s.features[0].num_bin + number(t, "to");
  }
  const std::vector<split_result> records = records_of(t, s);
  for (size_t l = 0; l < records.size(); ++l) {
    const split_result& r = records[l];
    const auto& leaf = s.leaves[l];
    if (r.is_valid)
      t.require(r.right.g == leaf.g - r.left.g && r.right.h == leaf.h - r.left.h && r.left.n + r.right.n == leaf.n,
                "leaf {}: {}: the sides do not add up to g {:a}, h {:a}, {} rows", l, text_of(r), leaf.g, leaf.h,
                leaf.n);
  }
  check_split(t, s);
}

trial_case halves(const target& t, draw& d) {
  if (d.index() % 2) return any_split(t, d);
  // With fewer than 32 bins the epsilon beside their hessians decides.
  constexpr int64_t k_bins[] = {32, 4, 64, 8, 256, 16, 2};
  const int64_t turn = d.index() / 2, bins = k_bins[turn % 7];
  return split_case(
      t, bins, 1, 1, dyadic_masses(d),
      {{"exact", 0}, {"min_data", 0}, {"to", turn % 2 == 0 ? 1.0 : 3.0}, {"at", static_cast<double>(bins / 2 - 1)}});
}

void check_consistent(trial& t) {
  const split_instance s = instance_of(t);
  const std::vector<split_result> records = records_of(t, s);
  for (size_t l = 0; l < records.size(); ++l) {
    if (!records[l].is_valid) continue;
    const std::string wrong = reference::inconsistency(s.problem(l), records[l]);
    t.require(wrong.empty(), "leaf {}: {}: {}", l, text_of(records[l]), wrong);
  }
  check_split(t, s);
}

trial_case penalised(const target& t, draw& d) {
  trial_case c = any_split(t, d);
  c.knobs["lambda_l1"] = d.one_of({"0.5", "3"});
  c.knobs["lambda_l2"] = d.one_of({"1", "7"});
  if (d.chance(60)) {
    c.knobs["path_smooth"] = d.one_of({"2", "16"});
    c.knobs["parent"] = "0";  // smoothed gains are rarely above the leaf's own
  }
  if (d.chance(50)) c.knobs["categorical"] = "2";
  return c;
}

// A leaf without rows, or without hessians, is closed even where nothing is asked of its sides.
void check_leaf_gates(trial& t, const split_instance& s) {
  split_instance no_rows = s, no_hessians = s;
  no_rows.counts.clear();
  no_rows.settings.path_smooth = no_hessians.settings.path_smooth = 0;
  no_rows.settings.min_data = no_hessians.settings.min_hessian = 0;
  no_rows.settings.min_hessian = 0.001;
  no_hessians.settings.min_data = 1;
  for (size_t i = 1; i < no_hessians.slots.size(); i += 2)
    if (!std::isnan(no_hessians.slots[i])) no_hessians.slots[i] = 0;
  for (size_t l = 0; l < s.leaves.size(); ++l) {
    no_rows.leaves[l].n = 0;
    no_hessians.leaves[l].h = 0;
    no_rows.leaves[l].parent_gain = no_hessians.leaves[l].parent_gain = -1;  // every division gains
  }
  for (const split_instance& closed : {no_rows, no_hessians})
    for (const split_result& r : check_dyadic(t, closed))
      t.require(!r.is_valid, "an empty leaf is split: {}", text_of(r));
}

// Gates set to what the best split just passes, and just does not.
void check_gates(trial& t) {
  split_instance s = instance_of(t);
  check_leaf_gates(t, s);
  const std::vector<split_result> first = check_dyadic(t, s);
  if (first.empty() || !first[0].is_valid) return;
  const split_result& r = first[0];
  const auto gain_with = [&](double min_hessian, int64_t min_data) {
    split_instance gated = s;
    gated.settings.min_hessian = min_hessian;
    gated.settings.min_data = min_data;
    const split_result found = check_dyadic(t, gated)[0];
    return found.is_valid ? found.gain : -k_inf;
  };
  const double hessian = std::min(r.left.h, r.right.h) + reference::k_split_eps;
  const int64_t rows = std::min(r.left.n, r.right.n);
  const double base_hessian = s.settings.min_hessian;
  const int64_t base_rows = s.settings.min_data;
  if (hessian >= base_hessian && hessian > 1e-14) {
    const double at = gain_with(hessian, base_rows);
    const double above = gain_with(std::nextafter(hessian, k_inf), base_rows);
    t.require(at == r.gain, "a gate equal to the side's hessian rejects it");
    t.require(above <= at, "a higher gate raises the gain");
  }
  if (rows >= std::max<int64_t>(2, base_rows)) {
    const double at = gain_with(base_hessian, rows);
    const double above = gain_with(base_hessian, rows + 1);
    t.require(at == r.gain, "a gate equal to the side's rows rejects it");
    t.require(above <= at, "a higher gate raises the gain");
  }
}

// Nothing, or what is wrong with the record of a leaf in which only the split (at, left) separates + from -.
std::string misplaced(split_instance& s, size_t leaf, const split_result& r, int64_t at) {
  split_feature f = s.features[0];
  if (std::fabs(s.leaves[leaf].g) == static_cast<double>(f.num_bin)) return {};  // one side is empty
  if (!r.is_valid) return "no split is found where one is perfect";
  if (f.num_bin <= 2) f.missing = split_missing::none;
  int64_t outside = 0;
  for (int64_t b = 0; b < f.num_bin; ++b) outside += reference::goes_left(f, r, b) == (s.g(leaf, 0, b) > 0) ? 0 : 1;
  if (outside == 0 || outside == f.num_bin) return {};
  return fmt::format("{} of {} bins are not where the planted split {} puts them: {}", outside, f.num_bin, at,
                     text_of(r));
}

// One planted split; every one where the place is -1, each in a leaf of its own.
void check_optimum(trial& t) {
  split_instance s = one_leaf(t);
  const int64_t planted = number(t, "at"), bins = s.features[0].num_bin;
  if (planted > bins - 2) return t.skip("there is no such threshold");
  const int64_t first = std::max<int64_t>(0, planted), last = planted < 0 ? bins - 2 : planted;
  const bool both = planted < 0 && s.features[0].missing != split_missing::none;
  if (planted < 0) s = empty_leaves(s, static_cast<size_t>((both ? 2 : 1) * (bins - 1)));
  const auto at = [&](size_t leaf) { return first + static_cast<int64_t>(leaf) % (last - first + 1); };
  for (size_t l = 0; l < s.leaves.size(); ++l)
    plant(s, at(l), planted < 0 ? l >= static_cast<size_t>(bins - 1) : number(t, "to") != 0, l);
  const std::vector<split_result> found = check_dyadic(t, s);
  for (size_t l = 0; l < found.size(); ++l) {
    const std::string wrong = misplaced(s, l, found[l], at(l));
    t.require(wrong.empty(), "leaf {}: {}", l, wrong);
  }
}

// Features of which two splits gain the same and all others less: hessians at both ends alone make H_L = H_R, and the
// gradients on the left add up to 3 or -3 at those two places, to less in between.
enum tie : int64_t {
  of_thresholds = -1,  // i < j of one direction: the lower wins
  of_directions = -2,  // i to the right of the missing bin, j to the left: to the left wins
  of_features = -3     // i of one feature, j of the other, in either order: the lower feature wins
};
struct tied_pair {
  int64_t i, j;
};

std::vector<tied_pair> tied_pairs(int64_t kind, int64_t places) {
  std::vector<tied_pair> pairs;
  for (int64_t i = 0; i < places; ++i)
    for (int64_t j = kind == of_thresholds ? i + 1 : 0; j < places; ++j)
      if (kind == of_features || i != j) pairs.push_back({i, j});
  return pairs;
}

void plant_tie(split_instance& s, size_t leaf, int64_t kind, tied_pair p) {
  const int64_t bins = s.features[0].num_bin, last = kind == of_directions ? bins - 2 : bins - 1;
  for (size_t f = 0; f < s.features.size(); ++f) {
    s.h(leaf, f, 0) = s.h(leaf, f, last) = 1;
    s.count(leaf, f, 0) = s.count(leaf, f, last) = 4;
    const auto raise = [&](int64_t bin, double by) {
      s.g(leaf, f, bin) += by;
      s.g(leaf, f, bin + 1) -= by;
    };
    if (kind == of_features) {
      raise(f == 0 ? p.i : p.j, 3);
    } else if (kind == of_thresholds) {
      raise(p.i, 3);
      raise(p.j, 3);
    } else {  // the missing bin holds -1, what comes before it 1
      raise(p.i, 3);
      raise(p.j, -2);
      s.g(leaf, f, bins - 2) += 1;
      s.g(leaf, f, bins - 1) -= 1;
    }
  }
  set_totals(s, leaf);
}

void check_ties(trial& t) {
  const split_instance like = one_leaf(t);
  const int64_t bins = like.features[0].num_bin, kind = number(t, "at") < 0 ? number(t, "at") : of_thresholds;
  if (kind < of_features || (kind == of_features) != (like.features.size() == 2) || bins < 4)
    return t.skip("there are no such ties");
  split_instance one = like;
  for (split_feature& f : one.features) f.missing = kind == of_directions ? split_missing::nan : split_missing::none;
  std::vector<tied_pair> pairs = {{number(t, "at"), number(t, "to")}};
  const int64_t places = kind == of_directions ? bins - 2 : bins - 1;
  if (number(t, "at") < 0)
    pairs = tied_pairs(kind, places);
  else if (pairs[0].i >= pairs[0].j || pairs[0].j >= places)
    return t.skip("there is no such pair");
  split_instance s = empty_leaves(one, pairs.size());
  if (kind == of_features && number(t, "to") != 0) std::swap(s.features[0].id, s.features[1].id);
  for (size_t l = 0; l < pairs.size(); ++l) plant_tie(s, l, kind, pairs[l]);
  const std::vector<split_result> found = check_dyadic(t, s);
  for (size_t l = 0; l < pairs.size(); ++l) {
    const size_t selected = s.features.size() == 2 && s.features[1].id < s.features[0].id ? 1 : 0;
    const int64_t threshold = kind == of_directions || selected == 1 ? pairs[l].j : pairs[l].i;
    const split_result& r = found[l];
    t.require(r.is_valid && r.feature == s.features[selected].id && r.default_left &&
                  static_cast<int64_t>(r.threshold) == threshold,
              "{}; of the equal splits {} and {} the first is feature {} at {}", text_of(r), pairs[l].i, pairs[l].j,
              s.features[selected].id, threshold);
  }
}

trial_case tied_split(const target& t, draw& d) {
  if (d.index() % 2 == 0) {  // all pairs of a few bins
    const int64_t kind = of_thresholds - d.index() / 2 % 3;
    const int64_t most = t.device == "cuda" || t.size == 2 ? 64 : 9;
    const int64_t bins = d.chance(50) ? most : d.between(4, most);
    const split_knobs knobs = {{"at", static_cast<double>(kind)}, {"to", static_cast<double>(d.between(0, 1))}};
    trial_case c = split_case(t, bins, kind == of_features ? 2 : 1, 1, dyadic_masses(d), knobs);
    if (bins > 8) c.knobs["schedule"] = "fair";
    return c;
  }
  const int64_t bins = std::max<int64_t>(4, draw_bins(d, t, 4097));
  const auto boundary = [&](int64_t low) {
    const int64_t at = d.one_of({low, int64_t{31}, int64_t{32}, int64_t{255}, int64_t{256}, int64_t{511}, bins - 2});
    return std::clamp<int64_t>(at + d.between(-1, 1), low, bins - 2);
  };
  const int64_t i = std::min(boundary(0), bins - 3);
  const auto at = static_cast<double>(i), to = static_cast<double>(boundary(i + 1));
  return split_case(t, bins, 1, 1, dyadic_masses(d), {{"at", at}, {"to", to}});
}

// The last bin stands apart: where it is the missing one, only a split that sends it to the right will do.
void set_last_apart(split_instance& s) {
  const int64_t last = s.features[0].num_bin - 1;
  s.leaves[0].g += -1024 - s.g(0, 0, last);
  s.leaves[0].h += 16 - s.h(0, 0, last);
  s.g(0, 0, last) = -1024;
  s.h(0, 0, last) = 16;
  set_parent_gain(s, 0);
}

void check_paths(trial& t) {
  split_instance s = instance_of(t);
  if (number(t, "at") != 0 && !s.leaves.empty() && !s.features.empty() && s.features[0].num_bin > 1) set_last_apart(s);
  std::vector<std::vector<split_result>> found;
  for (const std::string& path : ways_of(t, {"best_split_block", "best_split_cluster", "best_split_mixed"})) {
    trial_case c = t.the_case();
    if (path != "auto") c.knobs["variant"] = path;
    const run_result r = run_split(t, c, s);
    found.emplace_back();
    for (size_t l = 0; l < s.leaves.size(); ++l) {
      found.back().push_back(record_of(t, r, static_cast<int64_t>(l)));
      const split_problem p = s.problem(l);
      if (has_exact_sums(s)) {
        require_record(t, found.back()[l], reference::best_split(p), fmt::format("leaf {} by {}", l, path));
      } else {
        const std::string wrong = reference::refute(p, found.back()[l]);
        t.require(wrong.empty(), "leaf {} by {}: {}: {}", l, path, text_of(found.back()[l]), wrong);
      }
    }
  }
  if (s.leaves.empty()) return;
  t.judge("value", 0, 0, 0, found[0][0].gain, reference::judge_fixed(dtype::f64, found[0][0].gain, found[0][0].gain));
}

trial_case long_split(const target& t, draw& d) {
  const int64_t any = d.one_of({255, 256, 257, 258, 600, 4097, 8193, 20000, 65535, 65536});
  // With a bin 0 that is not stored 256 slots are a bin too many for a warp.
  const bool is_one_more = d.index() % 10 == 3;
  const int64_t bins = is_one_more ? 256 : any;
  const bool few = t.device == "cuda" || t.size == 2 || d.index() % 6 == 0;
  const split_knobs knobs = {{"seed", d.seed()}, {"missing", k_mixed_missing}, {"encoding", k_mixed}};
  trial_case c = split_case(t, few ? bins : std::min<int64_t>(bins, 4097), 1, 1,
                            d.index() % 3 == 2 ? float_masses(d) : dyadic_masses(d), knobs);
  if (d.index() % 2) c.knobs["encoding"] = "1", c.knobs["missing"] = "2";
  if (is_one_more) c.knobs["at"] = "1";
  if (d.chance(30)) c.knobs["exact"] = "0";
  c.knobs["schedule"] = "fair";
  follow(c);
  return c;
}

void check_zero_hessian(trial& t) {
  split_instance s = one_leaf(t);
  const int64_t bins = s.features[0].num_bin, at = std::min(number(t, "at"), bins - 2);
  plant(s, at, true);
  for (int64_t b = 0; b <= at; ++b) s.h(0, 0, b) = 0;
  set_totals(s, 0);
  const split_result r = check_dyadic(t, s)[0];
  t.require(r.is_valid && std::isfinite(r.gain), "a side without hessian has a gain of G^2/eps: {}", text_of(r));
}

void check_residue(trial& t) {
  split_instance s = one_leaf(t);
  const int64_t bins = s.features[0].num_bin;
  for (int64_t b = 0; b < bins; b += 3) {
    s.g(0, 0, b) = 0;
    s.h(0, 0, b) = -0x1p-53 * s.leaves[0].h;
  }
  check_float(t, s);
}

// NaN and infinities in slots, totals and the parent's numbers.
void check_nonfinite(trial& t) {
  split_instance s = one_leaf(t);
  if (s.features.size() < 2 || s.features[0].num_bin < 3) {
    check_dyadic(t, s);
    return;
  }
  const int64_t what = number(t, "at"), bins = s.features[0].num_bin;
  const double value = std::initializer_list<double>{std::nan(""), k_inf, -k_inf}.begin()[number(t, "to") % 3];
  reference::split_leaf_values& leaf = s.leaves[0];
  switch (what % 8) {
    case 0: s.g(0, 0, bins - 1) = value; break;
    case 1: s.h(0, 0, bins / 2) = value; break;
    case 2: s.g(0, 1, 1) = value; break;
    case 3: leaf.g = value; break;
    case 4: leaf.h = value; break;
    case 5: leaf.parent_gain = value; break;
    case 6: leaf.parent_output = value; break;
    default: s.g(0, 0, 1) = 0x1p1023, s.g(0, 0, 2) = 0x1p1023; break;
  }
  const run_result r = run_split(t, s);
  const split_result actual = record_of(t, r, 0);
  if (what % 8 == 7) {
    t.require(!actual.is_valid || reference::inconsistency(s.problem(0), actual).empty(), "{}", text_of(actual));
    return;
  }
  require_record(t, actual, reference::best_split(s.problem(0)), "with a NaN or an infinity");
}

void check_batch(trial& t) {
  const split_instance s = instance_of(t);
  const std::vector<split_result> all = check_dyadic(t, s);
  for (size_t l = 0; l < all.size(); ++l) {
    split_instance one = s;
    one.leaves = {s.leaves[l]};
    if (!s.used.empty())
      one.used.assign(s.used.begin() + static_cast<ptrdiff_t>(l * s.features.size()),
                      s.used.begin() + static_cast<ptrdiff_t>((l + 1) * s.features.size()));
    require_record(t, records_of(t, one)[0], all[l], fmt::format("leaf {} alone", l));
  }
}

// A leaf for every threshold that may be drawn, with a seed that draws it.
void check_draw(trial& t) {
  split_instance s = one_leaf(t);
  s.settings.extra_trees = true;
  const reference::split_leaf_values leaf = s.leaves[0];
  const int64_t bins = s.features[0].num_bin;
  s.leaves.clear();
  std::vector<bool> is_drawn(static_cast<size_t>(bins - 1));
  for (uint64_t seed = 0; s.leaves.size() < is_drawn.size(); ++seed) {
    const uint32_t drawn = reference::drawn_threshold(seed, s.features[0].id, static_cast<uint64_t>(bins - 1));
    if (is_drawn[drawn]) continue;
    is_drawn[drawn] = true;
    s.leaves.push_back(leaf);
    s.leaves.back().seed = seed;
  }
  check_dyadic(t, s);
}

trial_case several_leaves(const target& t, draw& d) {
  const trial_case like = dyadic_split(t, d);
  const split_knobs knobs = {{"seed", d.seed()}, {"missing", k_mixed_missing}, {"encoding", k_mixed}};
  const int64_t leaves = d.between(2, 5), features = d.between(1, 3), bins = std::min<int64_t>(70, draw_bins(d, t, 70));
  trial_case c = split_case(t, std::max<int64_t>(1, bins), features, leaves, like.at("hist").fill, knobs);
  if (d.index() / 2 % 2 == 0) c.knobs["masked"] = "1";
  if (d.index() % 4 != 0) c.knobs["variant"] = d.index() % 4 == 2 ? "best_split_mixed" : "best_split_block";
  follow(c);
  return c;
}

trial_case hazardous(const target& t, draw& d) {
  // Every fifth case is a block, or a cluster, together on one task, often in several tiles.
  const bool is_long = d.index() % 5 == 4, by_cluster = d.index() % 10 == 9;
  const int64_t bins = by_cluster || d.index() / 10 % 2 == 0 ? d.between(2049, 3000) : d.between(257, 600);
  trial_case c = any_split(t, d);
  if (is_long) {
    const split_knobs knobs = {{"seed", d.seed()}, {"missing", k_mixed_missing}, {"encoding", k_mixed}};
    c = split_case(t, bins, 1, 1, dyadic_masses(d), knobs);
    c.knobs["variant"] = by_cluster ? "best_split_cluster" : "best_split_block";
  }
  c.knobs["detect"] = "only";
  const int64_t seed = d.between(0, 9999);
  c.knobs["schedule"] = fmt::format("{}:{}", d.one_of({"random", "pct_warp", "preempt"}), seed);
  if (d.chance(40)) c.knobs["categorical"] = "2";
  return c;
}

trial_case nothing_to_split(const target& t, draw& d) {
  const int64_t what = d.index() % 4;
  const split_knobs knobs = {
      {"seed", d.seed()}, {"masked", what == 2 ? 1.0 : 0.0}, {"encoding", what == 3 ? 1.0 : 0.0}};
  trial_case c = split_case(t, what == 3 ? 0 : 1, what == 0 ? 0 : 2, what == 1 ? 0 : 2, dyadic_masses(d), knobs);
  if (d.index() / 4 % 2 == 0) c.knobs["variant"] = "best_split_block";
  return c;
}

void check_nothing(trial& t) {
  for (const split_result& r : check_dyadic(t, instance_of(t)))
    t.require(!r.is_valid, "features of one bin cannot be split: {}", text_of(r));
}

void check_refusals(trial& t) {
  if (t.the_case().at("leaf").rows() < 1 || t.the_case().at("feature").rows() < 1)
    return t.skip("it takes a leaf and a feature");
  const auto refuse = [&](const char* what, const auto& change) { t.expect_refusal(what, change); };
  if (t.the_case().knobs.count("lambda_l2") && t.the_case().number("lambda_l2") < 0)
    return refuse("lambda_l2 is negative", [](auto&) {});
  refuse("hist is null", [](auto& v) { v[0].data = nullptr; });
  refuse("leaf has a field too few", [](auto& v) { v[4].shape[1] = 6; });
  refuse("value has a column too few", [](auto& v) { v[5].shape[1] = 8; });
  refuse("count is shorter than the histogram", [](auto& v) { v[1].shape[0] = 1; });
  refuse("the output is off by a byte", [](auto& v) { v[5].data = static_cast<char*>(v[5].data) + 1; });
}

trial_case refused(const target& t, draw& d) {
  const split_knobs knobs = {{"seed", d.seed()}};
  trial_case c = split_case(t, 4, 1, 1, dyadic_masses(d), knobs);
  if (d.index() % 2) c.knobs["lambda_l2"] = "-1";
  return c;
}

// ---- registration ----

trial_case unpenalised_zero_gate(const target& t, draw& d) {
  return plain_split(t, d, 300, 1, {{"min_hessian", 0}, {"at", static_cast<double>(d.between(0, 30))}});
}
trial_case short_leaf(const target& t, draw& d) { return plain_split(t, d, 24, 1, {{"missing", 3}}); }
trial_case few_bins(const target& t, draw& d) {
  const split_knobs knobs = {{"seed", d.seed()}, {"missing", k_mixed_missing}, {"encoding", k_mixed}};
  const int64_t bins = d.between(2, 17), features = d.between(1, 3), leaves = d.between(1, 2);
  return split_case(t, bins, features, leaves, dyadic_masses(d), knobs);
}

const property_registration registration([] {
  property_list list("best_split", {dtype::f64}, 25);  // a case is several leaves, or a leaf in several forms
  list.add("split-is-maximal", "no candidate that passes the gates gains more than the record", any_split,
           check_maximal)
      .holds = is_strict;
  list.add("split-every-optimum", "a perfect split is found at every threshold and in both directions", planted_split,
           check_optimum);
  list.add("split-tie-matrix",
           "among equal gains the lower feature, then default_left, then the lower threshold is chosen", tied_split,
           check_ties);
  list.add("routing-reproduces-sums", "routing the rows by the record gives its sums and rows", dyadic_split,
           check_routing)
      .holds = is_strict;
  list.add("sides-add-up", "the right side is what the left one leaves of the total, in sums and in rows", halves,
           check_sides)
      .holds = is_strict;
  list.add("record-self-consistent", "gains and values follow from the record's own sums to the bit", penalised,
           check_consistent);
  list.add("split-gates-respected", "a gate that the best split just passes keeps it, one just above rejects it",
           exact_split, check_gates, 20);
  list.add("block-equals-cluster", "all paths find the record", long_split, check_paths, 40).holds = is_strict;
  list.add("zero-hessian-defined", "a side without hessian has a finite gain", unpenalised_zero_gate,
           check_zero_hessian);
  list.add("negative-residue", "bins with a tiny negative hessian do no harm", unpenalised_zero_gate, check_residue,
           20);
  list.add("non-finite-rejected", "a NaN or an infinity closes its feature, or the leaf", one_leaf_case<2, 3>,
           check_nonfinite);
  list.add("extra-trees", "the drawn threshold is the only candidate, whichever is drawn", short_leaf, check_draw, 20);
  list.add("no-stale-fields", "a leaf without a split gets every byte of the record for no split", nothing_to_split,
           check_nothing);
  make_reused_storage(list.add("usual", "", few_bins, check_any));
  list.add("leaf-batch-isolation", "every leaf of a batch gets what it gets alone", several_leaves, check_batch);
  list.add("no-hazard", "no race, uninitialised read, out-of-bounds access or divergent barrier under random schedules",
           hazardous, check_any, 50)
      .holds = is_strict;
  list.add("rejects-invalid-calls", "calls that break the contract are refused with a sentence and write nothing",
           refused, check_refusals, 10);
  return list.take();
}());

const coverage_exemption_registration coverage_exemptions({
    {"best_split", "columns:none", "a slot has two numbers"},
    {"best_split", "columns:one", "a slot has two numbers"},
    {"best_split", "columns:warp", "a slot has two numbers"},
    {"best_split", "columns:power", "a slot has two numbers"},
    {"best_split", "columns:power-1", "a slot has two numbers"},
    {"best_split", "columns:power+1", "a slot has two numbers"},
    {"best_split", "columns:multiple", "a slot has two numbers"},
    {"best_split", "columns:tail", "a slot has two numbers"},
    {"best_split", "values:masked", "infinities are planted by non-finite-rejected, not by a recipe"},
    {"best_split", "values:special", "numbers that are none are planted by non-finite-rejected, not by a recipe"},
});

}  // namespace
}  // namespace warpcheck
