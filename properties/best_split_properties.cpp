// best_split on trial: the properties of its contract (kernels/best_split.hpp). On data whose sums are exact one record
// is right, and every property compares all of it; what a property is named after is what its cases are made to show.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "properties/best_split_cases.hpp"
#include "properties/engine/classes.hpp"
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

trial_case planted_split(const target& t, draw& d) {
  // One block takes a long feature tile by tile, a cluster only a very long one.
  const bool by_block = d.index() % 2 != 0;
  const int64_t any = std::max<int64_t>(2, draw_bins(d, t, t.size == 2 ? 65536 : 1030));
  const int64_t bins = d.index() % 4 == 1 ? d.between(513, 1030) : any;
  const double missing = d.one_of({0.0, 1.0, 2.0});
  const int64_t at = d.one_of(
      {int64_t{0}, bins - 2, d.between(0, bins - 2), std::min(bins - 2, d.between(0, 4) * 128 + d.between(0, 1))});
  const split_knobs knobs = {{"seed", d.seed()},
                             {"missing", missing},
                             {"at", static_cast<double>(at)},
                             {"to", static_cast<double>(d.between(0, 1))},
                             {"min_data", 0}};
  trial_case c = split_case(t, bins, 1, 1, dyadic_masses(d), knobs);
  if (by_block) c.knobs["variant"] = "best_split_block";
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
    if (std::any_of(p.features.begin(), p.features.end(),
                    [](const auto& f) { return f.num_bin > 48 || f.categorical; }))
      continue;
    const std::optional<double> exact = reference::rational_gain(p);
    const split_result& r = records[l];
    // 8 roundings of the largest term; a gain below that may be rounding alone.
    const double shift = p.leaf.parent_gain + s.settings.min_gain;
    const double size = r.is_valid ? std::fabs(r.left.gain) + std::fabs(r.right.gain) + std::fabs(shift)
                                   : 2 * std::fabs(shift) + std::fabs(exact.value_or(0));
    const double gain = r.is_valid ? r.gain : 0;
    t.require(exact.value_or(0) <= gain + 16 * 0x1p-53 * size,
              fmt::format("leaf {}: a gain of {:a} is possible, the record has {}", l, exact.value_or(0), text_of(r)));
  }
}

void check_routing(trial& t) {
  const split_instance s = instance_of(t);
  const std::vector<split_result> records = records_of(t, s);
  for (size_t l = 0; l < records.size(); ++l) {
    const split_result& r = records[l];
    const split_problem p = s.problem(l);
    if (!r.is_valid) continue;
    const auto f = std::find_if(p.features.begin(), p.features.end(), [&](const auto& x) { return x.id == r.feature; });
    t.require(f != p.features.end(), fmt::format("leaf {}: no feature is numbered {}", l, r.feature));
    double g = 0, h = 0;
    int64_t n = 0;
    const std::vector<reference::bin_mass> bins = reference::bins_of(p, *f);
    for (int64_t b = 0; b < f->num_bin; ++b)
      if (reference::goes_left(*f, r, b)) {
        g += bins[static_cast<size_t>(b)].g;
        h += bins[static_cast<size_t>(b)].h;
        n += bins[static_cast<size_t>(b)].n;
      }
    t.require(
        g == r.left.g && h == r.left.h && (s.counts.empty() || n == r.left.n),
        fmt::format("leaf {}: {}: routing its rows gives g {:a}, h {:a}, {} rows on the left", l, text_of(r), g, h, n));
  }
  check_dyadic(t, s);
}

void check_sides(trial& t) {
  split_instance s = instance_of(t);
  if (number(t, "to") != 0 && s.features[0].mfb_offset == 0 && s.features[0].num_bin >= 2) {
    plant(s, number(t, "at"), true);
    s.leaves[0].n = 2 * s.features[0].num_bin + 1;  // half a row too many for each half of a power of two
  }
  const std::vector<split_result> records = records_of(t, s);
  for (size_t l = 0; l < records.size(); ++l) {
    const split_result& r = records[l];
    const auto& leaf = s.leaves[l];
    if (r.is_valid)
      t.require(r.right.g == leaf.g - r.left.g && r.right.h == leaf.h - r.left.h && r.left.n + r.right.n == leaf.n,
                fmt::format("leaf {}: {}: the sides do not add up to g {:a}, h {:a}, {} rows", l, text_of(r), leaf.g,
                            leaf.h, leaf.n));
  }
  check_split(t, s);
}

trial_case halves(const target& t, draw& d) {
  if (d.index() % 2) return any_split(t, d);
  const int64_t bins = d.one_of({32, 64, 256});
  return split_case(t, bins, 1, 1, dyadic_masses(d),
                    {{"exact", 0}, {"min_data", 0}, {"to", 1}, {"at", static_cast<double>(bins / 2 - 1)}});
}

void check_consistent(trial& t) {
  const split_instance s = instance_of(t);
  const std::vector<split_result> records = records_of(t, s);
  for (size_t l = 0; l < records.size(); ++l) {
    if (!records[l].is_valid) continue;
    const std::string wrong = reference::inconsistency(s.problem(l), records[l]);
    t.require(wrong.empty(), fmt::format("leaf {}: {}: {}", l, text_of(records[l]), wrong));
  }
  check_split(t, s);
}

trial_case penalised(const target& t, draw& d) {
  trial_case c = any_split(t, d);
  c.knobs["lambda_l1"] = d.one_of({"0.5", "3"});
  c.knobs["lambda_l2"] = d.one_of({"1", "7"});
  if (d.chance(60)) c.knobs["path_smooth"] = d.one_of({"2", "16"});
  if (d.chance(50)) c.knobs["categorical"] = "2";
  return c;
}

// Gates set to what the best split just passes, and just does not.
void check_gates(trial& t) {
  split_instance s = instance_of(t);
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

void check_optimum(trial& t) {
  split_instance s = one_leaf(t);
  const int64_t at = number(t, "at");
  const bool left = number(t, "to") != 0;
  const int64_t bins = s.features[0].num_bin;
  if (at > bins - 2) return t.skip("there is no such threshold");
  plant(s, at, left);
  const split_result r = check_dyadic(t, s)[0];
  if (std::fabs(s.leaves[0].g) == static_cast<double>(bins)) return;  // one side is empty
  t.require(r.is_valid, "no split is found where one is perfect");
  double outside = 0;
  split_feature f = s.features[0];
  if (bins <= 2) f.missing = split_missing::none;
  for (int64_t b = 0; b < bins; ++b) outside += reference::goes_left(f, r, b) == (s.g(0, 0, b) > 0) ? 0 : 1;
  t.require(
      outside == 0 || outside == static_cast<double>(bins),
      fmt::format("{} of {} bins are not where the planted split {} puts them: {}", outside, bins, at, text_of(r)));
}

// Mass in three bins only, so that thresholds before and behind the middle one gain the same.
void check_ties(trial& t) {
  split_instance s = one_leaf(t);
  const int64_t bins = s.features[0].num_bin, i = number(t, "at"), j = number(t, "to");
  if (i >= j || j > bins - 2) return t.skip("there is no such pair");
  for (size_t f = 0; f < s.features.size(); ++f)
    for (int64_t b = 0; b < bins; ++b) {
      const bool is_middle = b == i + 1 + (j - i - 1) / 2;
      s.g(0, f, b) = b == i ? 3 : b == j + 1 ? -3 : 0;
      s.h(0, f, b) = b == i || b == j + 1 || is_middle ? 1 : 0;
      s.count(0, f, b) = b == i || b == j + 1 || is_middle ? 4 : 0;
    }
  set_totals(s, 0);
  const split_result r = check_dyadic(t, s)[0];
  t.require(r.is_valid && r.feature == s.features[0].id && static_cast<int64_t>(r.threshold) == i,
            fmt::format("{}; the first of equal splits is feature {} at {}", text_of(r), s.features[0].id, i));
}

trial_case tied_split(const target& t, draw& d) {
  const int64_t bins = std::max<int64_t>(4, draw_bins(d, t, 600));
  const int64_t i = d.between(0, bins - 4);
  const int64_t j = d.chance(30) ? bins - 2 : d.between(i + 1, bins - 2);
  return split_case(t, bins, d.between(1, 3), 1, dyadic_masses(d),
                    {{"at", static_cast<double>(i)}, {"to", static_cast<double>(j)}, {"min_data", 1}});
}

void check_paths(trial& t) {
  const split_instance s = instance_of(t);
  std::vector<std::vector<split_result>> found;
  for (const char* path : {"best_split_block", "best_split_cluster"}) {
    trial_case c = t.the_case();
    c.knobs["variant"] = path;
    const run_result r = run_split(t, c, s);
    found.emplace_back();
    for (size_t l = 0; l < s.leaves.size(); ++l) {
      found.back().push_back(record_of(t, r, static_cast<int64_t>(l)));
      const split_problem p = s.problem(l);
      if (has_exact_sums(s)) {
        require_record(t, found.back()[l], reference::best_split(p), fmt::format("leaf {} by {}", l, path));
      } else {
        const std::string wrong = reference::refute(p, found.back()[l]);
        t.require(wrong.empty(), fmt::format("leaf {} by {}: {}: {}", l, path, text_of(found.back()[l]), wrong));
      }
    }
  }
  t.judge("value", 0, 0, 0, found[0][0].gain, reference::judge_fixed(dtype::f64, found[0][0].gain, found[0][0].gain));
}

trial_case long_split(const target& t, draw& d) {
  const int64_t bins = d.one_of({255, 256, 257, 258, 600, 4097, 8193, 20000, 65535, 65536});
  const bool few = t.device == "cuda" || t.size == 2 || d.index() % 6 == 0;
  trial_case c = split_case(t, few ? bins : std::min<int64_t>(bins, 4097), 1, 1,
                            d.index() % 3 == 2 ? float_masses(d) : dyadic_masses(d),
                            {{"seed", d.seed()}, {"missing", k_mixed_missing}, {"encoding", k_mixed}});
  if (d.chance(30)) c.knobs["exact"] = "0";
  c.knobs["schedule"] = "fair";
  return c;
}

void check_zero_hessian(trial& t) {
  split_instance s = one_leaf(t);
  const int64_t bins = s.features[0].num_bin, at = std::min(number(t, "at"), bins - 2);
  plant(s, at, true);
  for (int64_t b = 0; b <= at; ++b) s.h(0, 0, b) = 0;
  set_totals(s, 0);
  const split_result r = check_dyadic(t, s)[0];
  t.require(r.is_valid && std::isfinite(r.gain), "a side without hessian has a gain of G^2/eps: " + text_of(r));
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
    t.require(!actual.is_valid || reference::inconsistency(s.problem(0), actual).empty(), text_of(actual));
    return;
  }
  require_record(t, actual, reference::best_split(s.problem(0)), "with a number that is none");
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
  trial_case c = dyadic_split(t, d);
  return split_case(t, std::max<int64_t>(1, std::min<int64_t>(70, draw_bins(d, t, 70))), d.between(1, 3),
                    d.between(2, 5), c.at("hist").fill,
                    {{"seed", d.seed()}, {"missing", k_mixed_missing}, {"encoding", k_mixed}});
}

trial_case hazardous(const target& t, draw& d) {
  // Every fifth case is several tiles of one block.
  const bool is_long = d.index() % 5 == 4;
  const int64_t bins = d.between(520, 1600);
  trial_case c = any_split(t, d);
  if (is_long) {
    c = split_case(t, bins, 1, 1, dyadic_masses(d),
                   {{"seed", d.seed()}, {"missing", k_mixed_missing}, {"encoding", k_mixed}});
    c.knobs["variant"] = "best_split_block";
  }
  c.knobs["detect"] = "only";
  c.knobs["schedule"] = fmt::format("{}:{}", d.one_of({"random", "pct_warp", "preempt"}), d.between(0, 9999));
  if (d.chance(40)) c.knobs["categorical"] = "2";
  return c;
}

trial_case nothing_to_split(const target& t, draw& d) {
  const int64_t what = d.index() % 4;
  const split_knobs knobs = {
      {"seed", d.seed()}, {"masked", what == 2 ? 1.0 : 0.0}, {"encoding", what == 3 ? 1.0 : 0.0}};
  return split_case(t, what == 3 ? 0 : 1, what == 0 ? 0 : 2, what == 1 ? 0 : 2, dyadic_masses(d), knobs);
}

void check_nothing(trial& t) {
  for (const split_result& r : check_dyadic(t, instance_of(t)))
    t.require(!r.is_valid, "features of one bin cannot be split: " + text_of(r));
}

void check_refusals(trial& t) {
  if (t.the_case().at("leaf").rows() < 1 || t.the_case().at("feature").rows() < 1)
    return t.skip("it takes a leaf and a feature");
  const auto refuse = [&](const char* what, const auto& spoil) { t.expect_refusal(what, spoil); };
  if (t.the_case().knobs.count("lambda_l2") && t.the_case().number("lambda_l2") < 0)
    return refuse("lambda_l2 is negative", [](auto&) {});
  refuse("hist is null", [](auto& v) { v[0].data = nullptr; });
  refuse("leaf has a field too few", [](auto& v) { v[4].shape[1] = 6; });
  refuse("value has a column too few", [](auto& v) { v[5].shape[1] = 8; });
  refuse("count is shorter than the histogram", [](auto& v) { v[1].shape[0] = 1; });
  refuse("the output is off by a byte", [](auto& v) { v[5].data = static_cast<char*>(v[5].data) + 1; });
}

trial_case refused(const target& t, draw& d) {
  trial_case c = split_case(t, 4, 1, 1, dyadic_masses(d), {{"seed", d.seed()}});
  if (d.index() % 2) c.knobs["lambda_l2"] = "-1";
  return c;
}

// ---- registration ----

trial_case unpenalised_zero_gate(const target& t, draw& d) {
  return plain_split(t, d, 300, 1, {{"min_hessian", 0}, {"at", static_cast<double>(d.between(0, 30))}});
}
trial_case short_leaf(const target& t, draw& d) { return plain_split(t, d, 24, 1, {{"missing", 3}}); }
const property_registration registration([] {
  std::vector<property> list;
  const auto add = [&](const char* name, const char* sentence, trial_case (*generate)(const target&, draw&),
                       void (*check)(trial&)) -> property& {
    list.push_back(split_property(name, sentence, generate, check));
    list.back().share_percent = 25;  // a case is several leaves, or a leaf in several forms
    return list.back();
  };
  add("split-is-maximal", "no candidate that passes the gates gains more than the record", any_split, check_maximal);
  add("split-every-optimum", "a perfect split is found at every threshold and in both directions", planted_split,
      check_optimum);
  add("split-tie-matrix", "of equal gains the lower feature, then default_left, then the lower threshold wins",
      tied_split, check_ties);
  add("routing-reproduces-sums", "routing the rows by the record gives its sums and rows", dyadic_split, check_routing);
  add("sides-add-up", "the right side is what the left one leaves of the total, in sums and in rows", halves,
      check_sides);
  add("record-self-consistent", "gains and values follow from the record's own sums to the bit", penalised,
      check_consistent);
  add("split-gates-respected", "a gate that the best split just passes keeps it, one just above rejects it",
      exact_split, check_gates)
      .share_percent = 20;
  add("block-equals-cluster", "both paths find the record", long_split, check_paths).share_percent = 15;
  add("zero-hessian-defined", "a side without hessian has a finite gain", unpenalised_zero_gate, check_zero_hessian);
  add("negative-residue", "bins with a tiny negative hessian do no harm", unpenalised_zero_gate, check_residue)
      .share_percent = 20;
  add("non-finite-rejected", "a number that is none closes its feature, or the leaf", one_leaf_case<2, 3>,
      check_nonfinite);
  add("extra-trees", "the drawn threshold is the only candidate, whichever is drawn", short_leaf, check_draw)
      .share_percent = 20;
  add("no-stale-fields", "a leaf without a split gets every byte of the record that says so", nothing_to_split,
      check_nothing);
  add("leaf-batch-isolation", "every leaf of a batch gets what it gets alone", several_leaves, check_batch);
  add("no-hazard", "no race, uninitialised read, out-of-bounds access or divergent barrier under random schedules",
      hazardous, check_any)
      .share_percent = 50;
  add("refusals", "calls that break the contract are refused with a sentence and write nothing", refused,
      check_refusals)
      .share_percent = 10;
  return list;
}());

const class_waivers waivers({
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
