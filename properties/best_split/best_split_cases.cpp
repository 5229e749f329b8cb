#include "properties/best_split/best_split_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "properties/best_split/best_split_call.hpp"
#include "properties/engine/cases/case_inputs.hpp"
#include "properties/engine/cases/description.hpp"
#include "properties/engine/trials/in_hand.hpp"
#include "reference/numerics/compare.hpp"

namespace warpcheck {

using namespace engine;
using reference::split_feature;
using reference::split_leaf_values;
using reference::split_missing;
using reference::split_part;
using reference::split_problem;
using reference::split_result;

namespace {

constexpr int64_t k_values = 9, k_fields = 6, k_feature_fields = 7, k_leaf_fields = 7;

double knob(const trial_case& c, std::string_view name) { return c.number(name); }
int64_t whole_knob(const trial_case& c, std::string_view name) { return static_cast<int64_t>(knob(c, name)); }

void set_shape(tensor_spec& t, int64_t rows, int64_t cols) {
  t.shape = t.shape.size() == 2 ? std::vector<int64_t>{rows, cols} : std::vector<int64_t>{rows};
  t.ld = t.cols();
  std::erase_if(t.fill.edits, [&](const edit& e) { return e.row >= t.rows() || e.col >= t.cols(); });
}

// Gives the case the shapes of the call on this instance.
void set_shapes(trial_case& c, const split_instance& s) {
  const auto features = static_cast<int64_t>(s.features.size()), leaves = static_cast<int64_t>(s.leaves.size());
  const bool masked = !s.used.empty();
  set_shape(*c.find("hist"), static_cast<int64_t>(s.slots.size()) / 2, 2);
  set_shape(*c.find("count"), static_cast<int64_t>(s.counts.size()), 0);
  set_shape(*c.find("feature"), features, k_feature_fields);
  set_shape(*c.find("used"), masked ? leaves : 0, masked ? features : 0);
  set_shape(*c.find("leaf"), leaves, k_leaf_fields);
  set_shape(*c.find("value"), leaves, k_values);
  set_shape(*c.find("field"), leaves, k_fields);
  set_shape(*c.find("cat"), leaves, std::max<int64_t>(1, whole_knob(c, "max_cat")));
}

host_tensor doubles(const tensor_spec& spec, const std::vector<double>& values) {
  host_tensor t(spec);
  for (size_t i = 0; i < values.size(); ++i)
    store_bits(spec.type, t.bytes.data() + i * 8, std::bit_cast<uint64_t>(values[i]));
  return t;
}

host_tensor integers(const tensor_spec& spec, const std::vector<int64_t>& values) {
  host_tensor t(spec);
  for (size_t i = 0; i < values.size(); ++i)
    store_bits(spec.type, t.bytes.data() + i * size_of(spec.type), static_cast<uint64_t>(values[i]));
  return t;
}

// The plain arguments of the call, where they differ from the case's.
void set_knobs(trial_case& c, const reference::split_settings& s) {
  const std::pair<const char*, double> values[] = {{"lambda_l1", s.lambda_l1},
                                                   {"lambda_l2", s.lambda_l2},
                                                   {"path_smooth", s.path_smooth},
                                                   {"min_hessian", s.min_hessian},
                                                   {"min_gain", s.min_gain},
                                                   {"min_data", static_cast<double>(s.min_data)},
                                                   {"min_group", static_cast<double>(s.min_group)},
                                                   {"extra_trees", s.extra_trees ? 1 : 0},
                                                   {"cat_smooth", s.cat_smooth},
                                                   {"cat_l2", s.cat_l2},
                                                   {"max_cat", static_cast<double>(s.max_cat)},
                                                   {"max_onehot", static_cast<double>(s.max_onehot)},
                                                   {"lightgbm_cuda", s.lightgbm_cuda ? 1 : 0}};
  for (const auto& [name, value] : values)
    if (knob(c, name) != value) c.knobs[name] = format_number(value);
}

}  // namespace

split_problem split_instance::problem(size_t leaf) const {
  split_problem p{slots, counts, features, {}, leaves[leaf], settings};
  for (size_t f = 0; f < features.size() && !used.empty(); ++f) p.used.push_back(used[leaf * features.size() + f]);
  return p;
}

int64_t split_instance::slot(size_t leaf, size_t feature, int64_t bin) const {
  return leaves[leaf].hist_base + features[feature].hist_offset + bin - features[feature].mfb_offset;
}
double& split_instance::g(size_t leaf, size_t feature, int64_t bin) {
  return slots[static_cast<size_t>(2 * slot(leaf, feature, bin))];
}
double& split_instance::h(size_t leaf, size_t feature, int64_t bin) {
  return slots[static_cast<size_t>(2 * slot(leaf, feature, bin) + 1)];
}
int64_t& split_instance::count(size_t leaf, size_t feature, int64_t bin) {
  return counts[static_cast<size_t>(slot(leaf, feature, bin))];
}

trial_case split_case(const target& t, int64_t bins, int64_t features, int64_t leaves, recipe fill,
                      const split_knobs& knobs) {
  trial_case c = make_case(*find_description("best_split"), t,
                           {{"slots", bins * features * leaves}, {"features", features}, {"leaves", leaves}},
                           {{"hist", std::move(fill)}});
  for (const auto& [name, value] : knobs) c.knobs[name] = format_number(value);
  follow(c);
  return c;
}

recipe dyadic_masses(draw& d) { return make_recipe("dyadic", {d.seed(), 1024, 6}); }

recipe float_masses(draw& d) {
  switch (d.between(0, 2)) {
    case 0: return make_recipe("log_uniform", {d.seed(), -100, 100});
    case 1: return make_recipe("cancellation", {d.seed(), 1e6});
    default: return make_recipe("randn", {d.seed()});
  }
}

int64_t draw_bins(draw& d, const target& t, int64_t most) {
  const int64_t limit = std::min({most, k_most_bins, t.device == "cuda" || t.size == 2 ? k_most_bins : int64_t{1030}});
  std::vector<int64_t> sizes;
  for (const int64_t n : {1,   2,   3,   4,   31,  32,  33,   63,   64,   65,   255,  256,  257,   258,
                          511, 512, 513, 600, 767, 768, 1023, 1024, 1025, 4095, 4096, 4097, 65535, 65536})
    if (n <= limit) sizes.push_back(n);
  if (d.chance(40)) return d.between(1, std::min<int64_t>(limit, 40));
  return d.one_of(std::span<const int64_t>(sizes));
}

reference::split_settings settings_of(const trial_case& c) {
  reference::split_settings s;
  s.lambda_l1 = knob(c, "lambda_l1");
  s.lambda_l2 = knob(c, "lambda_l2");
  s.path_smooth = knob(c, "path_smooth");
  s.min_hessian = knob(c, "min_hessian");
  s.min_gain = knob(c, "min_gain");
  s.min_data = whole_knob(c, "min_data");
  s.min_group = whole_knob(c, "min_group");
  s.extra_trees = knob(c, "extra_trees") != 0;
  s.cat_smooth = knob(c, "cat_smooth");
  s.cat_l2 = knob(c, "cat_l2");
  s.max_cat = whole_knob(c, "max_cat");
  s.max_onehot = whole_knob(c, "max_onehot");
  s.lightgbm_cuda = knob(c, "lightgbm_cuda") != 0;
  return s;
}

split_instance instance_of(trial& t) { return instance_of(t.the_case(), inputs_of(t)); }
split_instance instance_of(const trial_case& c) { return instance_of(c, inputs_of(c)); }

split_instance instance_of(const trial_case& c, const tensor_map& inputs) {
  split_instance s;
  s.settings = settings_of(c);
  const host_tensor &hist = inputs.at("hist"), &count = inputs.at("count"), &feature = inputs.at("feature"),
                    &used = inputs.at("used"), &leaf = inputs.at("leaf");
  for (int64_t r = 0; r < hist.spec.rows(); ++r) s.slots.insert(s.slots.end(), {hist.value(r, 0), hist.value(r, 1)});
  for (int64_t i = 0; i < count.spec.cols(); ++i) s.counts.push_back(static_cast<int64_t>(count.bits(0, i)));
  for (int64_t r = 0; r < feature.spec.rows(); ++r) {
    const auto field = [&](int64_t k) { return static_cast<int64_t>(feature.bits(r, k)); };
    s.features.push_back(
        {field(0), field(1), field(2), field(3), field(4), static_cast<split_missing>(field(5)), field(6) != 0});
  }
  for (int64_t r = 0; r < leaf.spec.rows(); ++r) {
    const auto field = [&](int64_t k) { return leaf.value(r, k); };
    s.leaves.push_back({static_cast<int64_t>(field(0)), field(1), field(2), static_cast<int64_t>(field(3)), field(4),
                        field(5), static_cast<uint64_t>(field(6))});
  }
  for (int64_t i = 0; i < used.spec.elements(); ++i)
    s.used.push_back(used.bits(i / used.spec.cols(), i % used.spec.cols()) != 0);
  return s;
}

bool has_exact_sums(const split_instance& s) {
  return std::ranges::all_of(
      s.slots, [](double v) { return !std::isfinite(v) || (std::fabs(v) <= 0x1p24 && v * 64 == std::floor(v * 64)); });
}

void set_totals(split_instance& s, size_t leaf) {
  if (s.features.empty()) return;
  split_leaf_values& l = s.leaves[leaf];
  l.g = l.h = 0;
  int64_t rows = 0;
  for (int64_t b = 0; b < s.features[0].num_bin; ++b) {
    l.g += s.g(leaf, 0, b);
    l.h += s.h(leaf, 0, b);
    if (!s.counts.empty()) rows += s.count(leaf, 0, b);
  }
  if (!s.counts.empty()) l.n = rows;
  set_parent_gain(s, leaf);
}

void plant(split_instance& s, int64_t at, bool missing_left, size_t leaf) {
  const split_feature& f = s.features[0];
  split_result route;
  route.threshold = static_cast<uint32_t>(at);
  route.default_left = missing_left;
  split_feature routed = f;
  if (f.num_bin <= 2) routed.missing = split_missing::none;
  for (int64_t b = 0; b < f.num_bin; ++b) {
    s.g(leaf, 0, b) = reference::goes_left(routed, route, b) ? 1 : -1;
    s.h(leaf, 0, b) = 1;
    if (!s.counts.empty()) s.count(leaf, 0, b) = 1;
  }
  s.leaves[leaf].n = f.num_bin;
  set_totals(s, leaf);
}

split_instance empty_leaves(const split_instance& like, size_t leaves) {
  split_instance s = like;
  const auto bins = static_cast<size_t>(s.features[0].num_bin), of_leaf = s.features.size() * bins;
  for (size_t f = 0; f < s.features.size(); ++f) s.features[f].hist_offset = static_cast<int64_t>(f * bins);
  s.slots.assign(2 * leaves * of_leaf, 0);
  s.counts.assign(leaves * of_leaf, 0);
  s.used.clear();
  s.leaves.assign(leaves, like.leaves[0]);
  for (size_t l = 0; l < leaves; ++l) s.leaves[l].hist_base = static_cast<int64_t>(l * of_leaf);
  return s;
}

split_instance without_bin_0(split_instance s) {
  // The slot stays where it is and belongs to nobody.
  for (split_feature& f : s.features) {
    if (f.mfb_offset > 0) continue;
    for (split_leaf_values& l : s.leaves) {
      const auto slot = static_cast<size_t>(l.hist_base + f.hist_offset);
      s.slots[2 * slot] = s.slots[2 * slot + 1] = std::numeric_limits<double>::quiet_NaN();
    }
    f.mfb_offset = 1;
    ++f.hist_offset;
  }
  return s;
}

void set_parent_gain(split_instance& s, size_t leaf) {
  split_leaf_values& l = s.leaves[leaf];
  l.parent_gain = reference::leaf_gain(l.g, l.h, s.settings);
}

tensor_map tensors_of(trial_case& c, const split_instance& s) {
  set_shapes(c, s);
  std::vector<int64_t> feature, used(s.used.begin(), s.used.end());
  for (const split_feature& f : s.features)
    feature.insert(feature.end(), {f.id, f.num_bin, f.default_bin, f.hist_offset, f.mfb_offset,
                                   static_cast<int64_t>(f.missing), f.categorical ? 1 : 0});
  std::vector<double> leaf;
  for (const split_leaf_values& l : s.leaves)
    leaf.insert(leaf.end(), {static_cast<double>(l.hist_base), l.g, l.h, static_cast<double>(l.n), l.parent_gain,
                             l.parent_output, static_cast<double>(l.seed)});
  return {{"hist", doubles(c.at("hist"), s.slots)},
          {"count", integers(c.at("count"), s.counts)},
          {"feature", integers(c.at("feature"), feature)},
          {"used", integers(c.at("used"), used)},
          {"leaf", doubles(c.at("leaf"), leaf)}};
}

run_result run_split(trial& t, const trial_case& like, const split_instance& s) {
  trial_case c = like;
  set_knobs(c, s.settings);
  const tensor_map inputs = tensors_of(c, s);
  return t.run(c, inputs);
}

run_result run_split(trial& t, const split_instance& s) { return run_split(t, t.the_case(), s); }

split_result record_of(const tensor_map& outputs, int64_t leaf) {
  const host_tensor &value = outputs.at("value"), &field = outputs.at("field"), &cat = outputs.at("cat");
  const auto number = [&](int64_t i) { return static_cast<int64_t>(field.bits(leaf, i)); };
  split_result s;
  s.is_valid = (number(0) & 1) != 0;
  s.default_left = (number(0) & 0x100) != 0;
  s.feature = number(1);
  s.threshold = static_cast<uint32_t>(number(2));
  s.gain = value.value(leaf, 0);
  s.left = {value.value(leaf, 1), value.value(leaf, 2), value.value(leaf, 3), value.value(leaf, 4), number(4)};
  s.right = {value.value(leaf, 5), value.value(leaf, 6), value.value(leaf, 7), value.value(leaf, 8), number(5)};
  for (int64_t k = 0; k < std::min(number(3), cat.spec.cols()); ++k)
    s.categories.push_back(static_cast<uint32_t>(cat.bits(leaf, k)));
  return s;
}

split_result record_of(trial& t, const run_result& r, int64_t leaf) {
  const host_tensor &value = r.at("value"), &field = r.at("field"), &cat = r.at("cat");
  const auto flags = static_cast<int64_t>(field.bits(leaf, 0)), listed = static_cast<int64_t>(field.bits(leaf, 3));
  t.require(flags == 0 || flags == 1 || flags == 0x101,
            "leaf {}: the first bytes of the record are {:#x}, neither flags nor padding", leaf, flags);
  t.require(listed >= 0 && listed <= cat.spec.cols(), "leaf {}: num_cat is {}", leaf, listed);
  for (int64_t k = 0; k < k_values; ++k)
    t.require(value.value(leaf, k) != 0 || !std::signbit(value.value(leaf, k)),
              "leaf {}: number {} of the record is -0", leaf, k);
  for (int64_t k = listed; k < cat.spec.cols(); ++k)
    t.require(static_cast<uint32_t>(cat.bits(leaf, k)) == reference::k_no_split_threshold,
              "leaf {}: entry {} of cat_bins is {}, {} categories are listed", leaf, k,
              static_cast<uint32_t>(cat.bits(leaf, k)), listed);
  return record_of(r.tensors, leaf);
}

std::vector<split_result> records_of(trial& t, const split_instance& s) {
  const run_result r = run_split(t, s);
  std::vector<split_result> records;
  for (size_t l = 0; l < s.leaves.size(); ++l) records.push_back(record_of(t, r, static_cast<int64_t>(l)));
  return records;
}

bool is_strict(const trial_case& c) { return knob(c, "lightgbm_cuda") == 0; }

std::string text_of(const split_result& r) {
  if (!r.is_valid) return "no split";
  std::string list;
  for (const uint32_t b : r.categories) list += fmt::format(" {}", b);
  const auto side = [](const split_part& s) {
    return fmt::format("(g {:a}, h {:a}, gain {:a}, value {:a}, {} rows)", s.g, s.h, s.gain, s.value, s.n);
  };
  return fmt::format("feature {} threshold {} default_left {} gain {:a}{}{} left {} right {}", r.feature, r.threshold,
                     r.default_left, r.gain, list.empty() ? "" : " categories", list, side(r.left), side(r.right));
}

void require_record(trial& t, const split_result& actual, const split_result& expected, const std::string& what) {
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  const auto same_side = [&](const split_part& a, const split_part& b) {
    return same(a.g, b.g) && same(a.h, b.h) && same(a.gain, b.gain) && same(a.value, b.value) && a.n == b.n;
  };
  const double gain = actual.gain;
  t.judge("value", 0, 0, 0, gain, reference::judge_fixed(dtype::f64, gain, expected.gain));
  t.require(actual.is_valid == expected.is_valid && actual.default_left == expected.default_left &&
                actual.feature == expected.feature && actual.threshold == expected.threshold &&
                actual.categories == expected.categories && same(gain, expected.gain) &&
                same_side(actual.left, expected.left) && same_side(actual.right, expected.right),
            "{}: {}, expected {}", what, text_of(actual), text_of(expected));
}

std::vector<split_result> check_dyadic(trial& t, const split_instance& s) {
  const std::vector<split_result> records = records_of(t, s);
  for (size_t l = 0; l < records.size(); ++l)
    require_record(t, records[l], reference::best_split(s.problem(l)), fmt::format("leaf {}", l));
  return records;
}

std::vector<split_result> check_split(trial& t, const split_instance& s) {
  return has_exact_sums(s) ? check_dyadic(t, s) : check_float(t, s);
}

std::vector<split_result> check_float(trial& t, const split_instance& s) {
  const std::vector<split_result> records = records_of(t, s);
  for (size_t l = 0; l < records.size(); ++l) refute_record(t, s, l, records[l]);
  return records;
}

void refute_record(trial& t, const split_instance& s, size_t leaf, const split_result& r) {
  const split_problem p = s.problem(leaf);
  const std::string wrong = reference::refute(p, r);
  if (!wrong.empty())  // asked first: the model is slow
    t.require(false, "leaf {}: {}: {}; the model finds {}", leaf, text_of(r), wrong, text_of(reference::best_split(p)));
  t.judge("value", static_cast<int64_t>(leaf), 0, 0, r.gain, reference::judge_fixed(dtype::f64, r.gain, r.gain));
}

void judge_record(trial& t, const split_instance& s, size_t leaf, const split_result& r) {
  if (!has_exact_sums(s)) return refute_record(t, s, leaf, r);
  require_record(t, r, reference::best_split(s.problem(leaf)), fmt::format("leaf {}", leaf));
}

}  // namespace warpcheck
