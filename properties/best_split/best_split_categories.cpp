// best_split on trial: categorical features, and the reduction of records.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "properties/best_split/best_split_call.hpp"
#include "properties/engine/cases/case_inputs.hpp"
#include "properties/engine/cases/classes.hpp"
#include "properties/engine/cases/description.hpp"
#include "properties/engine/trials/in_hand.hpp"
#include "reference/numerics/compare.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::split_feature;
using reference::split_result;

constexpr double k_inf = std::numeric_limits<double>::infinity();

// ---- categorical ----

// Categories of a leaf or two; `percent` of the cases have rounded sums.
trial_case categories(const target& t, draw& d, int64_t most_bins, split_knobs knobs) {
  const auto maybe = [&](const char* name, int percent, std::initializer_list<double> values) {
    const bool taken = d.chance(percent);
    const double value = d.one_of(values);
    if (taken) knobs.emplace_back(name, value);
  };
  maybe("lambda_l1", 20, {0.5, 2.0});
  maybe("lambda_l2", 30, {1.0, 10.0});
  maybe("path_smooth", 20, {4.0});
  maybe("min_data", 30, {0.0, 5.0, 20.0});
  maybe("min_hessian", 20, {0.0, 8.0});
  maybe("encoding", 40, {1.0});
  maybe("empty", 40, {30.0});
  maybe("exact", 30, {0.0});
  maybe("extra_trees", 10, {1.0});
  knobs.emplace_back("seed", d.seed());
  knobs.emplace_back("categorical", 1);
  const int64_t bins = std::max<int64_t>(2, draw_bins(d, t, most_bins)), features = d.between(1, 2);
  const recipe masses = dyadic_masses(d);
  trial_case c = split_case(t, bins, features, d.between(1, 2), masses, knobs);
  if (d.index() % 2) c.knobs["variant"] = "best_split_block";  // so few go to clusters
  return c;
}

trial_case one_hot_categories(const target& t, draw& d) {
  return categories(t, d, d.chance(80) ? 34 : 300, {{"max_onehot", 100000}});
}

trial_case sorted_categories(const target& t, draw& d) {
  split_knobs knobs = {{"max_onehot", 0},
                       {"cat_smooth", d.one_of({0.0, 1.0, 3.0, 10.0})},
                       {"cat_l2", d.one_of({0.0, 1.0, 10.0})},
                       {"min_group", d.one_of({0.0, 1.0, 5.0, 20.0})}};
  const double longest = d.one_of({32.0, 4.0, 1.0, 0.0, 200.0});
  knobs.emplace_back("max_cat", longest);
  return categories(t, d, longest > 32 || d.chance(80) ? 70 : 300, std::move(knobs));
}

void check_categories(trial& t) { check_dyadic(t, instance_of(t)); }

// Every category against the numerical feature that separates it from the others.
void check_indicator(trial& t) {
  const split_instance s = instance_of(t);
  const std::vector<split_result> found = check_dyadic(t, s);
  if (!s.used.empty() || s.settings.extra_trees) return;  // masks and draws belong to numbers of features
  for (size_t l = 0; l < found.size(); ++l) {
    split_instance numerical;
    numerical.settings = s.settings;
    numerical.leaves = {s.leaves[l]};
    numerical.leaves[0].hist_base = 0;
    const reference::split_problem p = s.problem(l);
    for (const split_feature& f : s.features) {
      const std::vector<reference::bin_mass> bins = reference::bins_of(p, f);
      for (int64_t b = 1; b < f.num_bin; ++b) {
        const reference::bin_mass& m = bins[static_cast<size_t>(b)];
        // Bin 0: the category; bin 1: the others.
        split_feature indicator;
        indicator.id = static_cast<int64_t>(numerical.features.size());
        indicator.num_bin = 2;
        indicator.hist_offset = static_cast<int64_t>(numerical.slots.size()) / 2;
        numerical.features.push_back(indicator);
        numerical.slots.insert(numerical.slots.end(), {m.g, m.h, p.leaf.g - m.g, p.leaf.h - m.h});
        if (!s.counts.empty()) numerical.counts.insert(numerical.counts.end(), {m.n, p.leaf.n - m.n});
      }
    }
    if (numerical.features.size() > 100) return;
    const split_result r = records_of(t, numerical)[0];
    if (s.counts.empty()) continue;  // derived counts come from the other side there
    t.require(r.is_valid == found[l].is_valid && (!r.is_valid || r.gain == found[l].gain),
              "leaf {}: {}; the indicators give {}", l, text_of(found[l]), text_of(r));
  }
}

// All subsets of few categories (Fisher 1958): without penalties a prefix of the order is the best of them.
void check_fisher(trial& t) {
  split_instance s = instance_of(t);
  const int64_t bins = s.features.empty() ? 0 : s.features[0].num_bin;
  if (s.leaves.size() != 1 || s.features.size() != 1 || s.features[0].mfb_offset != 0 || s.counts.empty() || bins < 3 ||
      bins > 11)
    return t.skip("it takes one leaf with counts and 2 to 10 categories");
  s.g(0, 0, 0) = s.h(0, 0, 0) = 0;
  s.count(0, 0, 0) = 0;
  for (int64_t b = 1; b < bins; ++b) {
    s.h(0, 0, b) = 32 + std::floor(s.h(0, 0, b));
    s.count(0, 0, b) = 1;
  }
  set_totals(s, 0);
  s.leaves[0].parent_gain = 0;
  const split_result r = check_dyadic(t, s)[0];
  double best = -k_inf;
  for (uint32_t subset = 1; subset + 1 < 1u << (bins - 1); ++subset) {
    double g = 0, h = 0;
    for (int64_t b = 1; b < bins; ++b)
      if (subset >> (b - 1) & 1) g += s.g(0, 0, b), h += s.h(0, 0, b);
    const double right_g = s.leaves[0].g - g, right_h = s.leaves[0].h - h;
    best = std::max(best, g * g / h + right_g * right_g / right_h);
  }
  t.require(r.is_valid ? std::fabs(r.gain - best) <= 8 * 0x1p-53 * best : best <= 0,
            "{}; the best of all subsets gains {:a}", text_of(r), best);
}

bool is_without_penalties(const trial_case& c) {
  const reference::split_settings s = instance_of(c).settings;
  return s.cat_smooth == 0 && s.cat_l2 == 0 && s.lambda_l1 == 0 && s.lambda_l2 == 0 && s.path_smooth == 0;
}

trial_case few_categories(const target& t, draw& d) {
  const split_knobs knobs = {{"seed", d.seed()}, {"categorical", 1}, {"max_onehot", 0},
                             {"cat_smooth", 0},  {"cat_l2", 0},      {"min_hessian", 0},
                             {"min_data", 0},    {"min_group", 0},   {"max_cat", 1000}};
  const recipe masses = dyadic_masses(d);
  return split_case(t, d.between(3, 11), 1, 1, masses, knobs);
}

// True if the categories are sorted: of single ones that gain the same, the lower number wins.
bool are_sorted(const trial_case& c) {
  const split_instance s = instance_of(c);
  return std::ranges::all_of(s.features, [&](const split_feature& f) { return f.num_bin > s.settings.max_onehot; });
}

// Other numbers for the same categories.
void check_relabelling(trial& t) {
  split_instance s = instance_of(t);
  if (s.features.size() != 1 || s.features[0].mfb_offset != 0 || s.leaves.empty() || s.settings.extra_trees ||
      s.features[0].num_bin < 3)
    return t.skip("it takes one feature that stores at least three bins");
  const std::vector<split_result> before = check_dyadic(t, s);
  const int64_t bins = s.features[0].num_bin;
  std::vector<double> keys;
  for (size_t l = 0; l < s.leaves.size(); ++l) {
    keys.clear();
    for (int64_t b = 1; b < bins; ++b) keys.push_back(s.g(l, 0, b) / (s.h(l, 0, b) + s.settings.cat_smooth));
    std::ranges::sort(keys);
    if (std::ranges::adjacent_find(keys) != keys.end()) return;  // the lower number comes first
    for (int64_t b = 1; b < bins - b; ++b) {
      std::swap(s.g(l, 0, b), s.g(l, 0, bins - b));
      std::swap(s.h(l, 0, b), s.h(l, 0, bins - b));
      if (!s.counts.empty()) std::swap(s.count(l, 0, b), s.count(l, 0, bins - b));
    }
  }
  const std::vector<split_result> after = check_dyadic(t, s);
  for (size_t l = 0; l < before.size(); ++l) {
    split_result expected = before[l];
    for (uint32_t& b : expected.categories) b = static_cast<uint32_t>(bins) - b;
    require_record(t, after[l], expected, fmt::format("leaf {} with other numbers", l));
  }
}

trial_case plain_categories(const target& t, draw& d) {
  const split_knobs knobs = {
      {"seed", d.seed()}, {"categorical", 1}, {"max_onehot", 0}, {"cat_smooth", d.one_of({1.0, 2.5})}};
  const recipe masses = dyadic_masses(d);
  const int64_t leaves = d.between(1, 2);
  return split_case(t, std::max<int64_t>(3, draw_bins(d, t, 140)), 1, leaves, masses, knobs);
}

// One category stands apart, wherever it is.
void check_place(trial& t) {
  split_instance s = instance_of(t);
  const int64_t at = number(t, "at");
  if (s.leaves.size() != 1 || s.features.size() != 1 || s.features[0].mfb_offset != 0 || !s.features[0].categorical ||
      s.counts.empty() || at < 1 || at >= s.features[0].num_bin)
    return t.skip("it takes one leaf with counts and a feature that has the category");
  const double sign = number(t, "to") != 0 ? -1 : 1;  // of its key: it is at either end of the order
  for (int64_t b = 0; b < s.features[0].num_bin; ++b) {
    s.g(0, 0, b) = b == at ? 4 * sign : 0;
    s.h(0, 0, b) = s.count(0, 0, b) = 1;
  }
  set_totals(s, 0);
  const split_result r = check_dyadic(t, s)[0];
  t.require(r.is_valid && r.categories == std::vector<uint32_t>{static_cast<uint32_t>(at)},
            "{}: category {} alone stands apart", text_of(r), at);
}

trial_case category_apart(const target& t, draw& d) {
  // The numbers of two bytes, with a sign and without one.
  const bool are_many = d.index() % 4 == 1;
  const int64_t bins = are_many ? d.one_of({32769, 65535}) : std::max<int64_t>(3, draw_bins(d, t, 1030));
  const int64_t at = d.one_of({bins - 1, d.between(are_many ? 32768 : 1, bins - 1)});
  const split_knobs knobs = {{"categorical", 1},
                             {"max_onehot", d.index() / 4 % 2 ? 65536.0 : 0.0},
                             {"max_cat", 2},
                             {"at", static_cast<double>(at)},
                             {"to", static_cast<double>(d.between(0, 1))}};
  trial_case c = split_case(t, bins, 1, 1, dyadic_masses(d), knobs);
  if (are_many) c.knobs["schedule"] = "fair";
  if (d.index() % 3 == 1) c.knobs["variant"] = "best_split_block";
  return c;
}

void check_list(trial& t) {
  const split_instance s = instance_of(t);
  const std::vector<split_result> found = records_of(t, s);
  for (size_t l = 0; l < found.size(); ++l) {
    const split_result& r = found[l];
    if (!r.is_valid) continue;
    const auto size = static_cast<int64_t>(r.categories.size());
    t.require(size >= 1 && (size <= s.settings.max_cat || size == 1), "leaf {} lists {} categories", l, size);
    std::vector<uint32_t> sorted = r.categories;
    std::ranges::sort(sorted);
    t.require(sorted[0] != 0 && std::ranges::adjacent_find(sorted) == sorted.end(),
              "leaf {} lists bin 0 or one bin twice: {}", l, text_of(r));
  }
  check_dyadic(t, s);
}

// The lengths of prefixes that may be tested, from one end, by the rows of the categories in order.
std::vector<size_t> tested_lengths(const std::vector<int64_t>& rows, int64_t longest, int64_t total,
                                   const reference::split_settings& s) {
  std::vector<size_t> tested;
  int64_t left = 0, since = 0;
  for (int64_t k = 0; k < longest; ++k) {
    left += rows[static_cast<size_t>(k)];
    since += rows[static_cast<size_t>(k)];
    if (left < std::max<int64_t>(1, s.min_data)) continue;
    if (total - left < std::max(s.min_group, std::max<int64_t>(1, s.min_data))) break;
    if (since < s.min_group) continue;
    since = 0;
    tested.push_back(static_cast<size_t>(k + 1));
  }
  return tested;
}

// Hessians open every gate, so that rows alone decide. All group sizes up to the leaf's.
void check_groups(trial& t) {
  split_instance s = instance_of(t);
  if (s.leaves.size() != 1 || s.features.size() != 1 || s.features[0].mfb_offset != 0 || s.counts.empty() ||
      s.features[0].num_bin < 3)
    return t.skip("it takes one leaf with counts and two categories");
  const int64_t bins = s.features[0].num_bin;
  for (int64_t b = 0; b < bins; ++b) {
    s.h(0, 0, b) = 32;
    s.count(0, 0, b) = b == 1 ? 40 : 1 + s.count(0, 0, b) % 7;  // one may leave too few to the others
  }
  set_totals(s, 0);
  s.leaves[0].parent_gain = -1;  // every division gains
  std::vector<int64_t> order(static_cast<size_t>(bins - 1));
  std::iota(order.begin(), order.end(), 1);
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return s.g(0, 0, a) < s.g(0, 0, b); });
  const int64_t longest = std::min(s.settings.max_cat, bins / 2);
  std::vector<int64_t> ends[2];
  for (const int64_t b : order) ends[0].push_back(s.count(0, 0, b));
  ends[1].assign(ends[0].rbegin(), ends[0].rend());
  for (const int64_t group : {0, 1, 2, 3, 5, 8, 13, 21, 34}) {
    s.settings.min_group = group;
    const split_result r = check_dyadic(t, s)[0];
    std::vector<size_t> tested[2];
    for (int end = 0; end < 2; ++end) tested[end] = tested_lengths(ends[end], longest, s.leaves[0].n, s.settings);
    t.require(r.is_valid == !(tested[0].empty() && tested[1].empty()), "groups of {}: {}; {} prefixes may be tested",
              group, text_of(r), tested[0].size() + tested[1].size());
    if (!r.is_valid) continue;
    const auto& allowed = tested[static_cast<int64_t>(r.threshold) < longest ? 0 : 1];
    t.require(std::ranges::find(allowed, r.categories.size()) != allowed.end(),
              "groups of {}: {}: a prefix of {} categories is not tested", group, text_of(r), r.categories.size());
  }
}

trial_case grouped_categories(const target& t, draw& d) {
  const split_knobs knobs = {{"seed", d.seed()},
                             {"categorical", 1},
                             {"max_onehot", 0},
                             {"cat_smooth", 1},
                             {"min_data", d.one_of({0.0, 1.0, 6.0})},
                             {"max_cat", d.one_of({32.0, 5.0})}};
  const recipe masses = dyadic_masses(d);
  return split_case(t, std::max<int64_t>(3, draw_bins(d, t, 70)), 1, 1, masses, knobs);
}

// ---- the reduction ----

constexpr int64_t k_fields = 6;

trial_case records(const target& t, draw& d) {
  int64_t per_leaf = d.one_of({0, 1, 2, 31, 32, 33, 127, 128, 129, 1023, 1024, 1025, 2049});
  const double seed = d.seed();
  int64_t gains = d.between(0, 3);
  int64_t leaves = per_leaf > 200 ? 1 : d.between(1, 3);
  const bool is_scattered = d.index() % 3 == 2;
  if (is_scattered) {
    // Whatever thread, warp or round has it, one record is found: the places up to 2 x 1024 in turn, scattered.
    leaves = t.size == 2 ? 64 : 16;
    per_leaf = d.chance(75) ? 2 * 1024 : d.between(1, 2 * 1024);
    gains = 4;
  }
  trial_case c =
      make_case(*find_description("best_split"), t, {{"leaves", leaves}}, {{"in_value", dyadic_masses(d)}}, 1);
  c.knobs["per_leaf"] = format_number(static_cast<double>(per_leaf));
  c.knobs["seed"] = format_number(seed);
  c.knobs["gains"] = format_number(static_cast<double>(gains));
  if (is_scattered) {
    c.knobs["place"] = format_number(static_cast<double>(d.index() / 3 * 37 * leaves % per_leaf));
    run_once(c);
  }
  reshape(*find_description("best_split"), c, {{"leaves", leaves}});
  return c;
}

}  // namespace

// Records that differ in every field, gains that tie, and invalid records with more to offer than the valid ones.
void derive_records(const trial_case& c, tensor_map& inputs) {
  host_tensor &value = inputs.at("in_value"), field(c.at("in_field")), cat(c.at("in_cat"));
  if (inputs.at("in_field").spec.fill.distribution != "derived") return;  // records given by numbers
  const auto seed = static_cast<uint64_t>(c.number("seed"));
  const auto kind = static_cast<int64_t>(c.number("gains"));
  const auto per_leaf = std::max<int64_t>(1, static_cast<int64_t>(c.number("per_leaf"))),
             place = static_cast<int64_t>(c.number("place"));
  for (int64_t i = 0; i < value.spec.rows(); ++i) {
    const auto draw = [&](uint64_t what, uint64_t size) {
      return static_cast<int64_t>(hash64(seed, static_cast<uint64_t>(i), what) % size);
    };
    const bool is_valid = kind == 4 ? i % per_leaf == (place + i / per_leaf) % per_leaf : kind != 3 && draw(1, 4) != 0;
    // Three numbers of features among many records: ties go down to the last rule, where each threshold is another, and
    // the order of the records does not reveal it (an odd factor maps the numbers below 2^32 one to one).
    const uint32_t threshold = (static_cast<uint32_t>(i) + static_cast<uint32_t>(seed)) * 2654435761u;
    double gain = kind == 2   ? -2.5
                  : kind == 1 ? -1.0 - static_cast<double>(draw(5, 5))
                              : static_cast<double>(draw(5, 9)) - 4;
    if (!is_valid && draw(6, 2)) gain = k_inf;
    if (is_valid && kind != 4 && draw(7, 16) == 0) gain = std::nan("");
    value.set_bits(i, 0, encode(dtype::f64, gain));
    // Values that are copied may be those of any record, so a NaN keeps its sign and its payload.
    if (draw(8, 4) == 0) value.set_bits(i, 1 + draw(9, 8), 0xfff8000000000000u | static_cast<uint64_t>(i + 1));
    const int64_t listed = std::min(1 + i % 4, cat.spec.cols());
    const int64_t fields[] = {
        (is_valid ? 1 : 0) + (draw(2, 2) != 0 ? 0x100 : 0), draw(3, 3), threshold, listed, 100 + i, 5000 + i};
    for (int64_t k = 0; k < k_fields; ++k) field.set_bits(i, k, static_cast<uint64_t>(fields[k]));
    for (int64_t k = 0; k < cat.spec.cols(); ++k)
      cat.set_bits(i, k, k < listed ? static_cast<uint64_t>(10 * i + k) : 77);
  }
  set_derived(inputs, std::move(field));
  set_derived(inputs, std::move(cat));
}

namespace {

void check_reduction(trial& t) {
  t.keep_nan_bits();
  const tensor_map inputs = inputs_of(t);
  judge_best_records(t, inputs, static_cast<int64_t>(t.the_case().number("per_leaf")), t.run());
}

const property_registration registration([] {
  property_list list("best_split", {dtype::f64}, 25);  // a case is several leaves
  list.add("one-hot-is-numeric-indicator", "one category against the rest gains what its indicator gains",
           one_hot_categories, check_indicator);
  list.add("sorted-is-prefix-optimal", "the best of the prefixes that the contract tests is found", sorted_categories,
           check_categories);
  list.add("sorted-is-fisher", "without penalties no subset of the categories gains more", few_categories, check_fisher,
           20)
      .holds = is_without_penalties;
  list.add("min-data-per-group-honoured", "a prefix is tested only where enough rows were added and enough remain",
           grouped_categories, check_groups, 15);
  list.add("category-relabelling", "renamed categories give the renamed split", plain_categories, check_relabelling, 20)
      .holds = are_sorted;
  list.add("category-list-legal", "the list has no bin twice, not bin 0, and not too many", sorted_categories,
           check_list);
  list.add("split-every-category", "the category that stands apart is split off, whatever its number", category_apart,
           check_place, 20);
  list.add("reduce-is-lex-max", "the best valid record of each leaf is copied whole", records, check_reduction, 100);
  return list.take();
}());

}  // namespace

tensor_map records_in(const tensor_map& inputs) {
  return {{"value", inputs.at("in_value")}, {"field", inputs.at("in_field")}, {"cat", inputs.at("in_cat")}};
}

int64_t best_record(const tensor_map& records, int64_t leaf, int64_t per_leaf) {
  split_result best;
  int64_t place = -1;
  for (int64_t k = 0; k < per_leaf; ++k) {
    split_result r = record_of(records, leaf * per_leaf + k);
    if (!r.is_valid || std::isnan(r.gain) || (place >= 0 && !reference::is_better(r, best))) continue;
    best = std::move(r);
    place = k;
  }
  return place;
}

void judge_best_records(trial& t, const tensor_map& inputs, int64_t per_leaf, const run_result& r) {
  const tensor_map records = records_in(inputs);
  const host_tensor& value = records.at("value");
  for (int64_t l = 0; l < r.at("value").spec.rows(); ++l) {
    const int64_t place = best_record(records, l, per_leaf), selected = l * per_leaf + place;
    const double nan = std::nan("");
    split_result best;
    best.gain = -k_inf;
    best.left = best.right = {nan, nan, nan, nan, -1};
    if (place >= 0) best = record_of(records, selected);
    require_record(t, record_of(t, r, l), best, fmt::format("leaf {}", l));
    for (int64_t k = 0; k < value.spec.cols() && place >= 0; ++k)
      t.require(r.at("value").bits(l, k) == value.bits(selected, k),
                "leaf {}: number {} of the record has the bits {:#x}, expected those of record {}, {:#x}", l, k,
                r.at("value").bits(l, k), selected, value.bits(selected, k));
  }
}

}  // namespace warpcheck
