#include "properties/best_split/best_split_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "properties/best_split/best_split_call.hpp"
#include "properties/engine/cases/case_inputs.hpp"
#include "properties/engine/cases/description.hpp"
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
constexpr int64_t k_most_bins = 65536;

double knob(const trial_case& c, std::string_view name) { return c.number(name); }
int64_t whole_knob(const trial_case& c, std::string_view name) { return static_cast<int64_t>(knob(c, name)); }

void set_shape(tensor_spec& t, int64_t rows, int64_t cols) {
  t.shape = t.shape.size() == 2 ? std::vector<int64_t>{rows, cols} : std::vector<int64_t>{rows};
  t.ld = t.cols();
  std::erase_if(t.fill.edits, [&](const edit& e) { return e.row >= t.rows() || e.col >= t.cols(); });
}

// The tensors of the call on an instance of these sizes.
void set_shapes(trial_case& c, int64_t slots, int64_t counts, int64_t features, int64_t leaves, bool masked) {
  set_shape(*c.find("hist"), slots, 2);
  set_shape(*c.find("count"), counts, 0);
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

// 0, 1, ... in order, or by the hash if the knob is `mixed`.
int64_t choice(const trial_case& c, std::string_view name, int64_t mixed, uint64_t hash) {
  const int64_t value = whole_knob(c, name);
  return value == mixed ? static_cast<int64_t>(hash % static_cast<uint64_t>(mixed)) : value;
}

}  // namespace

namespace {

int64_t size(const sizes& of, const char* extent) {
  const auto found = of.find(extent);
  return found == of.end() ? 0 : found->second;
}

const std::vector<scalar_info> k_scalars = {
    {"lambda_l1", "0", "the soft threshold"},
    {"lambda_l2", "0", "added to hessians"},
    {"path_smooth", "0", "smoothing towards the parent's output"},
    {"min_hessian", "0.001", "the least sum of hessians of a side"},
    {"min_gain", "0", "what a split must gain besides"},
    {"min_data", "1", "the fewest rows of a side"},
    {"min_group", "1", "the fewest rows between tested prefixes of categories"},
    {"extra_trees", "0", "1: one threshold is drawn"},
    {"cat_smooth", "1", "added to a category's hessian, and its fewest rows"},
    {"cat_l2", "1", "added to lambda_l2 of sorted categories"},
    {"max_cat", "32", "the longest list of categories"},
    {"max_onehot", "4", "up to so many bins one category goes left"},
    {"lightgbm_cuda", "0", "1: the conventions of LightGBM's learner on CUDA"},
    {"long_features", "0", "a hint: so many at the end have many bins; 0: not known"},
    {"seed", "1", "of what the tables draw", 0, 0, false, {}, false},
    {"missing", "0", "0 none, 1 zero, 2 nan, 3 mixed", 0, 0, false, {}, false},
    {"encoding", "0", "whether bin 0 is left out of the histogram; 2 mixed", 0, 0, false, {}, false},
    {"default_bin", "-1", "-1: first, second, middle and last, mixed", 0, 0, false, {}, false},
    {"categorical", "0", "2 mixed", 0, 0, false, {}, false},
    {"exact", "1", "whether slots have counts", 0, 0, false, {}, false},
    {"empty", "0", "percentage of bins without rows", 0, 0, false, {}, false},
    {"masked", "0", "1: some features are left out", 0, 0, false, {}, false},
    {"last_bins", "0", "stored bins of the last of several features; 0: as of the others", 0, 0, false, {}, false},
    {"parent", "1", "the parent's gain as a multiple of the leaf's own", 0, 0, false, {}, false},
    {"at", "0", "where something is planted", 0, 0, false, {}, false},
    {"to", "0", "where its counterpart is planted", 0, 0, false, {}, false}};
const std::vector<scalar_info> k_scalars_of_records = {
    {"per_leaf", "1", "records of each leaf"},
    {"max_cat", "4", "the longest list of categories"},
    {"seed", "1", "of the records", 0, 0, false, {}, false},
    {"gains", "0", "0 all, 1 below zero, 2 equal, 3 none valid, 4 one valid", 0, 0, false, {}, false},
    {"place", "0", "of the one valid record of the first leaf; one further in each next", 0, 0, false, {}, false}};
const std::vector<tensor_info> k_outputs = {{"value", false, "leaves, 9", {dtype::f64}},
                                            {"field", false, "leaves, 6", {dtype::i64}},
                                            {"cat", false, "leaves, list", {dtype::u32}}};
const std::vector<tensor_info> k_inputs = {{"hist", true, "slots, 2", {dtype::f64}},
                                           {"count", true, "counts", {dtype::i64}},
                                           {"feature", true, "features, 7", {dtype::i64}},
                                           {"used", true, "masked_leaves, masked_features", {dtype::u8}},
                                           {"leaf", true, "leaves, 7", {dtype::f64}}};
const std::vector<tensor_info> k_records = {{"in_value", true, "records, 9", {dtype::f64}},
                                            {"in_field", true, "records, 6", {dtype::i64}},
                                            {"in_cat", true, "records, list", {dtype::u32}}};

std::vector<tensor_info> with_outputs(std::vector<tensor_info> tensors) {
  tensors.insert(tensors.end(), k_outputs.begin(), k_outputs.end());
  return tensors;
}

const description_registration described([] {
  description d;
  d.op = "best_split";
  const auto is_masked = [](const sizes& of, const trial_case& c) {
    return c.find("used") && knob(c, "masked") != 0 && size(of, "features") > 0;
  };
  d.extents = {
      {"slots"},
      {"features"},
      {"leaves"},
      {"counts", [](const sizes& of,
                    const trial_case& c) { return c.find("count") && knob(c, "exact") != 0 ? size(of, "slots") : 0; }},
      {"masked_leaves",
       [=](const sizes& of, const trial_case& c) { return is_masked(of, c) ? size(of, "leaves") : 0; }},
      {"masked_features",
       [=](const sizes& of, const trial_case& c) { return is_masked(of, c) ? size(of, "features") : 0; }},
      {"list", [](const sizes&, const trial_case& c) { return std::max<int64_t>(1, whole_knob(c, "max_cat")); }},
      {"records", [](const sizes& of, const trial_case& c) {
         return c.find("in_value") ? whole_knob(c, "per_leaf") * size(of, "leaves") : 0;
       }}};
  d.forms = {{"split", with_outputs(k_inputs), k_scalars},
             {"reduction", with_outputs(k_records), k_scalars_of_records}};
  d.illegal = [](const sizes& of, const trial_case&) {
    const int64_t places = size(of, "leaves") * size(of, "features");
    return places > 0 && size(of, "slots") / places > k_most_bins
               ? fmt::format("hist: a feature has more than {} bins", k_most_bins)
               : std::string();
  };
  d.bench = best_split_bench_list();
  return d;
}());

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
  const recipe zero = make_recipe("uniform", {1, 0, 0});  // made by the check; of no class of values of its own
  trial_case c =
      make_case(*find_description("best_split"), t,
                {{"slots", bins * features * leaves}, {"features", features}, {"leaves", leaves}},
                {{"hist", std::move(fill)}, {"count", zero}, {"feature", zero}, {"used", zero}, {"leaf", zero}});
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

namespace {

std::vector<split_feature> features_of(const trial_case& c, int64_t features, int64_t slots_of_leaf) {
  const auto seed = static_cast<uint64_t>(knob(c, "seed"));
  const int64_t last = features > 1 ? std::min(whole_knob(c, "last_bins"), slots_of_leaf) : 0;
  const int64_t slots_of_others = (slots_of_leaf - last) / std::max<int64_t>(1, last > 0 ? features - 1 : features);
  std::vector<split_feature> made;
  for (int64_t f = 0; f < features; ++f) {
    const int64_t slots_of_feature = last > 0 && f + 1 == features ? last : slots_of_others;
    const auto draw = [&](uint64_t what) { return hash64(seed, static_cast<uint64_t>(f), what); };
    split_feature meta;
    meta.id = 5 + 2 * f;
    meta.mfb_offset = slots_of_feature == 0 ? 1 : choice(c, "encoding", 2, draw(1));
    meta.num_bin = std::min(k_most_bins, slots_of_feature + meta.mfb_offset);
    meta.hist_offset = f * slots_of_others;
    meta.missing = static_cast<split_missing>(choice(c, "missing", 3, draw(2)));
    meta.categorical = choice(c, "categorical", 2, draw(3)) != 0;
    const int64_t places[] = {0, 1, meta.num_bin / 2, meta.num_bin - 1};
    const int64_t place = whole_knob(c, "default_bin");
    meta.default_bin = std::clamp<int64_t>(place < 0 ? places[draw(4) % 4] : place, 0, meta.num_bin - 1);
    made.push_back(meta);
  }
  return made;
}

struct leaf_sums {
  double g = 0, h = 0;
  int64_t n = 0;
};

// Fills the slots of feature f of leaf l from `raw`, of which `empty` percent stay without rows.
leaf_sums fill_feature(split_instance& s, const host_tensor& raw, uint64_t seed, uint64_t empty, size_t l, size_t f) {
  leaf_sums all;
  const split_feature& meta = s.features[f];
  for (int64_t b = meta.mfb_offset; b < meta.num_bin; ++b) {
    const int64_t at = s.slot(l, f, b);
    const auto place = static_cast<size_t>(at);
    const uint64_t h = hash64(seed, 79, static_cast<uint64_t>(at));
    const bool is_empty = h % 100 < empty;
    const int64_t rows = is_empty ? 0 : 1 + static_cast<int64_t>(h / 100 % 8);
    s.slots[2 * place] = is_empty ? 0 : raw.value(at, 0);
    s.slots[2 * place + 1] = is_empty ? 0 : std::fabs(raw.value(at, 1));
    if (!s.counts.empty()) s.counts[place] = rows;
    all.g += s.slots[2 * place];
    all.h += s.slots[2 * place + 1];
    all.n += rows;
  }
  return all;
}

// Fills leaf l, and returns its totals. Every feature divides the same rows: one bin of each makes up for what its
// others lack of the totals.
leaf_sums fill_leaf(split_instance& s, const host_tensor& raw, uint64_t seed, uint64_t empty, size_t l) {
  std::vector<leaf_sums> of_features;
  leaf_sums total;
  for (size_t f = 0; f < s.features.size(); ++f) {
    const leaf_sums all = fill_feature(s, raw, seed, empty, l, f);
    if (f == 0) total.g = all.g;
    total.h = std::max(total.h, all.h);
    total.n = std::max(total.n, all.n);
    of_features.push_back(all);
  }
  // If no feature stores bin 0, every feature has rows there.
  if (std::all_of(s.features.begin(), s.features.end(), [](const split_feature& f) { return f.mfb_offset > 0; })) {
    const uint64_t hash = hash64(seed, 82, static_cast<uint64_t>(l));
    total.g += static_cast<double>(hash % 2048) / 64 - 16;
    total.h += static_cast<double>(hash / 2048 % 2048) / 64;
    total.n += 1 + static_cast<int64_t>(hash / 2048 / 2048 % 8);
  }
  for (size_t f = 0; f < s.features.size(); ++f) {
    const split_feature& meta = s.features[f];
    if (meta.mfb_offset > 0 || meta.num_bin == 0) continue;  // bin 0 makes up for it
    const auto bin =
        static_cast<int64_t>(hash64(seed, 80, static_cast<uint64_t>(f)) % static_cast<uint64_t>(meta.num_bin));
    s.g(l, f, bin) += total.g - of_features[f].g;
    s.h(l, f, bin) += total.h - of_features[f].h;
    if (!s.counts.empty()) s.count(l, f, bin) += total.n - of_features[f].n;
  }
  return total;
}

}  // namespace

split_instance instance_of(trial& t) {
  const trial_case& c = t.the_case();
  const host_tensor& raw = t.input("hist");
  split_instance s;
  s.settings = settings_of(c);
  const auto seed = static_cast<uint64_t>(knob(c, "seed")), empty = static_cast<uint64_t>(knob(c, "empty"));
  const int64_t slots = raw.spec.rows(), leaves = c.at("leaf").rows(), features = c.at("feature").rows();
  const int64_t of_leaf = leaves > 0 ? slots / leaves : 0;
  // A slot that belongs to nobody must not be read.
  s.slots.assign(static_cast<size_t>(2 * slots), std::numeric_limits<double>::quiet_NaN());
  if (knob(c, "exact") != 0) s.counts.assign(static_cast<size_t>(slots), int64_t{1} << 40);
  s.features = features_of(c, features, of_leaf);
  for (int64_t l = 0; l < leaves; ++l) {
    split_leaf_values leaf;
    leaf.hist_base = l * of_leaf;
    leaf.seed = hash64(seed, 77, static_cast<uint64_t>(l)) >> 12;
    leaf.parent_output = static_cast<double>(hash64(seed, 78, static_cast<uint64_t>(l)) % 2048) / 64 - 16;
    s.leaves.push_back(leaf);
    const leaf_sums total = fill_leaf(s, raw, seed, empty, static_cast<size_t>(l));
    split_leaf_values& made = s.leaves.back();
    made.g = total.g;
    made.h = total.h;
    made.n = total.n;
    set_parent_gain(s, static_cast<size_t>(l));
    made.parent_gain *= knob(c, "parent");
  }
  if (knob(c, "masked") != 0)
    for (int64_t i = 0; i < leaves * features; ++i)
      s.used.push_back(hash64(seed, 81, static_cast<uint64_t>(i)) % 3 != 0);
  return s;
}

split_instance given_instance(const trial_case& c) { return given_instance(c, inputs_of(c)); }

split_instance given_instance(const trial_case& c, const tensor_map& inputs) {
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
  return std::all_of(s.slots.begin(), s.slots.end(), [](double v) {
    return !std::isfinite(v) || (std::fabs(v) <= 0x1p24 && v * 64 == std::floor(v * 64));
  });
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

run_result run_split(trial& t, const trial_case& like, const split_instance& s) {
  trial_case c = like;
  set_knobs(c, s.settings);
  const auto features = static_cast<int64_t>(s.features.size()), leaves = static_cast<int64_t>(s.leaves.size());
  set_shapes(c, static_cast<int64_t>(s.slots.size()) / 2, static_cast<int64_t>(s.counts.size()), features, leaves,
             !s.used.empty());
  std::vector<int64_t> feature, used(s.used.begin(), s.used.end());
  for (const split_feature& f : s.features)
    feature.insert(feature.end(), {f.id, f.num_bin, f.default_bin, f.hist_offset, f.mfb_offset,
                                   static_cast<int64_t>(f.missing), f.categorical ? 1 : 0});
  std::vector<double> leaf;
  for (const split_leaf_values& l : s.leaves)
    leaf.insert(leaf.end(), {static_cast<double>(l.hist_base), l.g, l.h, static_cast<double>(l.n), l.parent_gain,
                             l.parent_output, static_cast<double>(l.seed)});
  return t.run(c, {{"hist", doubles(c.at("hist"), s.slots)},
                   {"count", integers(c.at("count"), s.counts)},
                   {"feature", integers(c.at("feature"), feature)},
                   {"used", integers(c.at("used"), used)},
                   {"leaf", doubles(c.at("leaf"), leaf)}});
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

property split_property(std::string name, std::string sentence, trial_case (*generate)(const target&, draw&),
                        void (*check)(trial&)) {
  property p;
  p.op = "best_split";
  p.name = std::move(name);
  p.sentence = std::move(sentence);
  p.types = {dtype::f64};
  p.generate = generate;
  p.check = check;
  p.may_break_contract = p.name == "rejects-invalid-calls";
  return p;
}

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
