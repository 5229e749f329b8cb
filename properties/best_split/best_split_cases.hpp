// Cases of best_split: how a leaf, its histogram and its features follow from a case, and how a candidate's record is
// compared. A case has the shapes (slots, features, leaves), a recipe of numbers for the histogram, and knobs; the
// description derives the tables from these, so that shapes can shrink.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/trials/property_list.hpp"
#include "properties/engine/trials/trial.hpp"
#include "reference/best_split/best_split.hpp"

namespace warpcheck {

// The data of one call. Leaves have separate histograms, one after the other.
struct split_instance {
  std::vector<double> slots;    // two per slot
  std::vector<int64_t> counts;  // per slot, or none
  std::vector<reference::split_feature> features;
  std::vector<reference::split_leaf_values> leaves;
  std::vector<bool> used;  // [leaves][features], or none
  reference::split_settings settings;

  reference::split_problem problem(size_t leaf) const;
  // Slots of a leaf's feature, for changes; its first stored bin is bin mfb_offset.
  double& g(size_t leaf, size_t feature, int64_t bin);
  double& h(size_t leaf, size_t feature, int64_t bin);
  int64_t& count(size_t leaf, size_t feature, int64_t bin);
  int64_t slot(size_t leaf, size_t feature, int64_t bin) const;
};

// Knobs that a property's case sets to something else than the default.
using split_knobs = std::vector<std::pair<std::string, double>>;

// `bins` slots for each feature of each leaf, outputs to match. `fill` makes two numbers per slot: the gradient, and
// the hessian's size.
engine::trial_case split_case(const engine::target&, int64_t bins, int64_t features, int64_t leaves,
                              engine::recipe fill, const split_knobs& knobs = {});
engine::bench_list best_split_bench_list();
// k/64, |k| <= 1024: every sum is exact.
engine::recipe dyadic_masses(engine::draw&);
// Masses of all scales, in cancelling pairs, or random.
engine::recipe float_masses(engine::draw&);
// ---- generators ----

constexpr double k_mixed_missing = 3, k_mixed = 2;
constexpr int64_t k_most_bins = 65536;  // of a feature

// Adds penalties, gates and smoothing of every kind; many leaves keep a split.
void draw_settings(engine::draw&, split_knobs&);
// Everything mixed; sums of every third recipe round.
engine::trial_case any_split(const engine::target&, engine::draw&);
// Everything mixed, sums exact.
engine::trial_case dyadic_split(const engine::target&, engine::draw&);
// The same with counts.
engine::trial_case exact_split(const engine::target&, engine::draw&);
// One leaf whose bins are all stored, with counts: what a check changes as it likes.
engine::trial_case plain_split(const engine::target&, engine::draw&, int64_t most_bins, int64_t features,
                               split_knobs knobs = {});
// The same with settings, and places for what a check plants.
engine::trial_case leaf_of(const engine::target&, engine::draw&, int64_t features, split_knobs knobs);
template <int Features, int Missing>
engine::trial_case one_leaf_case(const engine::target& t, engine::draw& d) {
  const auto at = static_cast<double>(d.between(0, 30)), to = static_cast<double>(d.between(0, 2));
  return leaf_of(t, d, Features, {{"missing", Missing}, {"at", at}, {"to", to}});
}
// The bins of a feature: boundaries of the kernels and of the published ones.
int64_t draw_bins(engine::draw&, const engine::target&, int64_t most);

// The data of the case's tensors.
split_instance instance_of(engine::trial& t);
split_instance instance_of(const engine::trial_case& c);
// One leaf with counts whose features store every bin; other cases are skipped.
split_instance one_leaf(engine::trial& t);
// A knob of places and choices.
int64_t number(engine::trial& t, const char* name);
// True if every number is a multiple of 1/64 of moderate size, so that no sum rounds.
bool has_exact_sums(const split_instance& s);
// After slots changed: the leaf's totals are those of its first feature, which stores every bin.
void set_totals(split_instance& s, size_t leaf);
void set_parent_gain(split_instance& s, size_t leaf);
// One feature that stores every bin: +1 in the bins that the split sends left, -1 in the others, a row each. No other
// partition gains as much.
void plant(split_instance& s, int64_t at, bool missing_left, size_t leaf = 0);
// So many leaves with the features of one, which all have as many bins and store them; nothing in them.
split_instance empty_leaves(const split_instance& like, size_t leaves);
// The same leaves with bin 0 of every feature left out of the histogram.
split_instance without_bin_0(split_instance s);

// Runs the case on the tables of the instance.
engine::run_result run_split(engine::trial& t, const split_instance& s);
engine::run_result run_split(engine::trial& t, const engine::trial_case& c, const split_instance& s);
// The record of a leaf; requires its flags and unused list entries to follow the contract.
reference::split_result record_of(engine::trial& t, const engine::run_result& r, int64_t leaf);
std::vector<reference::split_result> records_of(engine::trial& t, const split_instance& s);

// Requires the record to be the only right one, to the bit.
void require_record(engine::trial& t, const reference::split_result& actual, const reference::split_result& expected,
                    const std::string& what);
// Requires the record of a leaf to be one that its bins allow, within the bounds of their sums.
void refute_record(engine::trial& t, const split_instance& s, size_t leaf, const reference::split_result& r);
// By whether the instance's sums are exact.
void judge_record(engine::trial& t, const split_instance& s, size_t leaf, const reference::split_result& r);
// Runs and judges every leaf, by the model on exact sums or by the bounds; returns what it ran.
std::vector<reference::split_result> check_dyadic(engine::trial& t, const split_instance& s);
std::vector<reference::split_result> check_float(engine::trial& t, const split_instance& s);
// By whether the instance's sums are exact.
std::vector<reference::split_result> check_split(engine::trial& t, const split_instance& s);

// True if the case has not the conventions of LightGBM's learner: the record's own sums then add up to the leaf's.
bool is_strict(const engine::trial_case& c);
std::string text_of(const reference::split_result& r);

}  // namespace warpcheck
