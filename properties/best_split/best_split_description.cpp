// The description of best_split, and the tables of a case that follow from its knobs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/best_split/contract.hpp"
#include "properties/best_split/best_split_call.hpp"
#include "properties/engine/cases/case_inputs.hpp"

namespace warpcheck {

using namespace engine;
using reference::split_feature;
using reference::split_leaf_values;
using reference::split_missing;

namespace {

int64_t whole_number(const trial_case& c, std::string_view name) { return static_cast<int64_t>(c.number(name)); }

// 0, 1, ... in order, or by the hash if the knob is `mixed`.
int64_t choice(const trial_case& c, std::string_view name, int64_t mixed, uint64_t hash) {
  const int64_t value = whole_number(c, name);
  return value == mixed ? static_cast<int64_t>(hash % static_cast<uint64_t>(mixed)) : value;
}

// Of the cases' tables.
const std::vector<scalar_rule> k_knobs_of_splits = {
    {"seed", 1, "of what the tables draw"},
    {"missing", 0, "0 none, 1 zero, 2 nan, 3 mixed"},
    {"encoding", 0, "whether bin 0 is left out of the histogram; 2 mixed"},
    {"default_bin", -1, "-1: first, second, middle and last, mixed"},
    {"categorical", 0, "2 mixed"},
    {"exact", 1, "whether slots have counts"},
    {"empty", 0, "percentage of bins without rows"},
    {"masked", 0, "1: some features are left out"},
    {"last_bins", 0, "stored bins of the last of several features; 0: as of the others"},
    {"parent", 1, "the parent's gain as a multiple of the leaf's own"},
    {"at", 0, "where something is planted"},
    {"to", 0, "where its counterpart is planted"}};
const std::vector<scalar_rule> k_knobs_of_records = {
    {"seed", 1, "of the records"},
    {"gains", 0, "0 all, 1 below zero, 2 equal, 3 none valid, 4 one valid"},
    {"place", 0, "of the one valid record of the first leaf; one further in each next"}};

// All inputs but the numbers of a histogram and of records follow from the knobs.
void add_tables(call_form& form, std::vector<scalar_rule> knobs) {
  for (const tensor_rule& t : form.tensors)
    if (t.is_input && t.name != "hist" && t.name != "in_value") form.derived.push_back(t.name);
  form.knobs = std::move(knobs);
}

std::vector<split_feature> features_of(const trial_case& c, int64_t features, int64_t slots_of_leaf) {
  const auto seed = static_cast<uint64_t>(c.number("seed"));
  const int64_t last = features > 1 ? std::min(whole_number(c, "last_bins"), slots_of_leaf) : 0;
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
    const int64_t place = whole_number(c, "default_bin");
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
  if (std::ranges::all_of(s.features, [](const split_feature& f) { return f.mfb_offset > 0; })) {
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

// The instance whose tables follow from the knobs, and its histogram from these numbers.
split_instance instance_by_knobs(const trial_case& c, const host_tensor& raw) {
  split_instance s;
  s.settings = settings_of(c);
  const auto seed = static_cast<uint64_t>(c.number("seed")), empty = static_cast<uint64_t>(c.number("empty"));
  const int64_t slots = raw.spec.rows(), leaves = c.at("leaf").rows(), features = c.at("feature").rows();
  const int64_t of_leaf = leaves > 0 ? slots / leaves : 0;
  // A slot that belongs to nobody must not be read.
  s.slots.assign(static_cast<size_t>(2 * slots), std::numeric_limits<double>::quiet_NaN());
  if (c.number("exact") != 0) s.counts.assign(static_cast<size_t>(slots), int64_t{1} << 40);
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
    made.parent_gain *= c.number("parent");
  }
  if (c.number("masked") != 0)
    for (int64_t i = 0; i < leaves * features; ++i)
      s.used.push_back(hash64(seed, 81, static_cast<uint64_t>(i)) % 3 != 0);
  return s;
}

void derive_split(const trial_case& c, tensor_map& inputs) {
  if (c.find("in_value")) return derive_records(c, inputs);
  host_tensor& hist = inputs.at("hist");
  const bool has_own_leaf = inputs.at("leaf").spec.fill.distribution != "derived",
             has_own_features = inputs.at("feature").spec.fill.distribution != "derived";
  const split_instance s = instance_by_knobs(c, hist);
  trial_case shaped = c;
  for (auto& [name, made] : tensors_of(shaped, s)) {
    if (name != "hist")
      set_derived(inputs, std::move(made));
    else if (!has_own_leaf && !has_own_features)
      hist.bytes = std::move(made.bytes);
  }
  if (has_own_leaf || has_own_features) check_tables(instance_of(c, inputs));
}

bool is_of_lightgbm(const trial_case& c) { return c.find("hist") && c.number("lightgbm_cuda") != 0; }

const description_registration described([] {
  description d = description_of(best_split_contract());
  d.statements = {.sums = false, .batch_invariant = false};
  d.null_kernels = {{"no-stale-fields", 40, "where there is no leaf nothing is to be written"}};
  const auto is_masked = [](const sizes& of, const trial_case& c) {
    return c.find("used") && c.number("masked") != 0 && size_in(of, "features") > 0;
  };
  find_extent(d, "counts").derived = [](const sizes& of, const trial_case& c) {
    return c.find("count") && c.number("exact") != 0 ? size_in(of, "slots") : 0;
  };
  find_extent(d, "masked_leaves").derived = [=](const sizes& of, const trial_case& c) {
    return is_masked(of, c) ? size_in(of, "leaves") : 0;
  };
  find_extent(d, "masked_features").derived = [=](const sizes& of, const trial_case& c) {
    return is_masked(of, c) ? size_in(of, "features") : 0;
  };
  find_extent(d, "list").derived = [](const sizes&, const trial_case& c) {
    return std::max<int64_t>(1, whole_number(c, "max_cat"));
  };
  add_tables(d.forms[0], k_knobs_of_splits);
  add_tables(d.forms[1], k_knobs_of_records);
  d.illegal = [](const sizes& of, const trial_case& c) {
    const int64_t places = size_in(of, "leaves") * size_in(of, "features");
    if (places > 0 && size_in(of, "slots") / places > k_most_bins)
      return fmt::format("hist: a feature has more than {} bins", k_most_bins);
    if (!is_of_lightgbm(c)) return std::string();
    if (c.number("extra_trees") != 0) return std::string("extra_trees: it is 1, must be 0 where lightgbm_cuda is 1");
    return size_in(of, "counts") > 0 ? std::string("count: it has elements, must have none where lightgbm_cuda is 1")
                                     : "";
  };
  d.mend = [](trial_case& c) {
    if (!is_of_lightgbm(c)) return;
    set_knob(c, "extra_trees", "0");
    set_knob(c, "exact", "0");
  };
  d.derive = derive_split;
  d.bench = best_split_bench_list();
  return d;
}());
}  // namespace
}  // namespace warpcheck
