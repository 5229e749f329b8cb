// The model of best_split: which candidates a leaf has, by hand, what becomes of each, and a second algorithm beside
// it.
#include "reference/best_split/best_split.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/numerics/special_values.hpp"

namespace warpcheck::reference {
namespace {

// Without gates and penalties.
split_settings plain_settings() {
  split_settings s;
  s.min_hessian = s.cat_smooth = s.cat_l2 = 0;
  s.min_data = s.min_group = 0;
  return s;
}

split_feature numerical(int64_t bins, split_missing missing, int64_t default_bin = 0, int64_t mfb_offset = 0) {
  return {0, bins, default_bin, 0, mfb_offset, missing, false};
}

split_feature categorical(int64_t bins) { return {0, bins, 0, 0, 0, split_missing::none, true}; }

// Four bins whose sums tell what was added. Where the first is not stored, the slots begin with the second.
const std::vector<double> k_slots = {1, 1, 10, 2, 100, 4, 1000, 8};
const std::vector<int64_t> k_rows = {1, 2, 4, 8};

split_problem four_bins(const split_feature& f) {
  return split_problem{.slots = std::span(k_slots).subspan(static_cast<size_t>(2 * f.mfb_offset)),
                       .counts = std::span(k_rows).subspan(static_cast<size_t>(f.mfb_offset)),
                       .features = {f},
                       .leaf = {0, 1111, 15, 15, 0, 0, 5},
                       .settings = plain_settings()};
}

// threshold, where missing values go, left sums, rows of the side that is scanned, categories
std::vector<std::string> candidates_of(const split_problem& p) {
  std::vector<std::string> found;
  for_each_candidate(p, [&](const split_candidate_sums& c) {
    std::ostringstream text;
    text << c.threshold << (c.default_left ? " left" : " right") << ": " << c.g << " " << c.h << " of "
         << c.scanned_rows;
    for (const uint32_t& category : c.categories) text << (&category == c.categories.data() ? " {" : " ") << category;
    found.push_back(text.str() + (c.categories.empty() ? "" : "}"));
  });
  return found;
}

using texts = std::vector<std::string>;

TEST(split_reference, without_missing_values_the_right_side_is_scanned) {
  const texts all = {"2 left: 111 7 of 8", "1 left: 11 3 of 12", "0 left: 1 1 of 14"};
  EXPECT_EQ(candidates_of(four_bins(numerical(4, split_missing::none))), all);
  // Bin 0 is what the stored ones leave of the total.
  EXPECT_EQ(candidates_of(four_bins(numerical(4, split_missing::none, 0, 1))), all);
}

TEST(split_reference, missing_values_go_both_ways) {
  EXPECT_EQ(candidates_of(four_bins(numerical(4, split_missing::nan))),
            (texts{"0 right: 1 1 of 1", "1 right: 11 3 of 3", "2 right: 111 7 of 7", "1 left: 1011 11 of 4",
                   "0 left: 1001 9 of 6"}));
  const texts second = {"0 right: 1 1 of 1", "2 right: 101 5 of 5", "2 left: 111 7 of 8", "1 left: 11 3 of 12"};
  EXPECT_EQ(candidates_of(four_bins(numerical(4, split_missing::zero, 1))), second);
  EXPECT_EQ(candidates_of(four_bins(numerical(4, split_missing::zero, 1, 1))), second);
}

TEST(split_reference, two_bins_have_one_threshold) {
  const auto only = [](const split_feature& f, bool lightgbm_cuda = false) {
    split_problem p = four_bins(f);
    p.leaf.g = 11;
    p.leaf.h = p.leaf.n = 3;
    p.settings.lightgbm_cuda = lightgbm_cuda;
    const texts found = candidates_of(p);
    return found.size() == 1 ? found[0] : std::to_string(found.size());
  };
  EXPECT_EQ(only(numerical(2, split_missing::none)), "0 left: 1 1 of 2");
  EXPECT_EQ(only(numerical(2, split_missing::nan)), "0 right: 1 1 of 2");
  EXPECT_EQ(only(numerical(2, split_missing::zero, 0)), "0 left: 1 1 of 2");
  EXPECT_EQ(only(numerical(2, split_missing::zero, 1)), "0 right: 1 1 of 2");
  EXPECT_EQ(only(numerical(2, split_missing::zero, 1), true), "0 left: 1 1 of 2");
  EXPECT_EQ(only(numerical(1, split_missing::none)), "0");
}

// Only that learner, only an unstored bin 0, only beside zeros that are missing, only from the left.
TEST(split_reference, lightgbm_leaves_an_unstored_bin_out) {
  const auto scan = [](split_missing missing, int64_t mfb_offset, bool lightgbm_cuda) {
    split_problem p = four_bins(numerical(4, missing, 2, mfb_offset));
    p.settings.lightgbm_cuda = lightgbm_cuda;
    return candidates_of(p);
  };
  const texts from_right = {"2 left: 111 7 of 8", "0 left: 101 5 of 10"};
  texts all = {"0 right: 1 1 of 1", "1 right: 11 3 of 3"}, without = {"1 right: 10 2 of 2"};
  for (texts* list : {&all, &without}) list->insert(list->end(), from_right.begin(), from_right.end());
  EXPECT_EQ(scan(split_missing::zero, 1, true), without);
  EXPECT_EQ(scan(split_missing::zero, 1, false), all);
  EXPECT_EQ(scan(split_missing::zero, 0, true), all);
  EXPECT_EQ(scan(split_missing::nan, 1, true), scan(split_missing::nan, 1, false));
}

// The output of SplitMix64 (Vigna, prng.di.unimi.it/splitmix64.c) for the seeds 0 and 1234567; a feature is a step.
TEST(split_reference, thresholds_are_drawn_by_splitmix64) {
  constexpr uint64_t all = uint64_t{1} << 32;
  EXPECT_EQ(drawn_threshold(0, 0, all), 0xe220a8397b1dcdafull >> 32);
  EXPECT_EQ(drawn_threshold(1234567, 0, all), 6457827717110365317ull >> 32);
  EXPECT_EQ(drawn_threshold(1234567, 1, all), 3203168211198807973ull >> 32);
  EXPECT_EQ(drawn_threshold(0, 0, 10), 8u);
}

TEST(split_reference, extra_trees_keep_the_threshold_drawn) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    split_problem p = four_bins(numerical(4, split_missing::nan));
    p.leaf.seed = seed;
    p.features[0].id = 3;
    const texts all = candidates_of(p);
    p.settings.extra_trees = true;
    texts kept;
    const std::string drawn = std::to_string(drawn_threshold(seed, 3, 3));
    std::copy_if(all.begin(), all.end(), std::back_inserter(kept),
                 [&](const std::string& c) { return c.starts_with(drawn); });
    EXPECT_EQ(candidates_of(p), kept);

    // Categories: the drawn prefix of each end, the drawn category where one goes left.
    split_problem sorted = four_bins(categorical(4));
    sorted.leaf.seed = seed;
    sorted.features[0].id = 3;
    sorted.settings.max_onehot = 3;
    sorted.settings.extra_trees = true;
    const uint32_t longest = 2, prefix = drawn_threshold(seed, 3, longest);
    std::vector<uint32_t> thresholds;
    for_each_candidate(sorted, [&](const split_candidate_sums& c) { thresholds.push_back(c.threshold); });
    EXPECT_EQ(thresholds, (std::vector<uint32_t>{prefix, longest + prefix}));
    sorted.settings.max_onehot = 4;
    thresholds.clear();
    for_each_candidate(sorted, [&](const split_candidate_sums& c) { thresholds.push_back(c.threshold); });
    EXPECT_EQ(thresholds, (std::vector<uint32_t>{1 + drawn_threshold(seed, 3, 3)}));
  }
}

TEST(split_reference, one_category_goes_left) {
  EXPECT_EQ(candidates_of(four_bins(categorical(4))),
            (texts{"1 right: 10 2 of 2 {1}", "2 right: 100 4 of 4 {2}", "3 right: 1000 8 of 8 {3}"}));
}

// Keys 5, 25, 125, but for the smoothing: the order of the bins. Their first and last are walked, (3 + 1)/2 each.
TEST(split_reference, sorted_categories_go_left_from_either_end) {
  split_problem p = four_bins(categorical(4));
  p.settings.max_onehot = 3;
  EXPECT_EQ(candidates_of(p), (texts{"0 right: 10 2 of 2 {1}", "1 right: 110 6 of 6 {1 2}", "2 right: 1000 8 of 8 {3}",
                                     "3 right: 1100 12 of 12 {2 3}"}));
  p.settings.max_cat = 1;
  EXPECT_EQ(candidates_of(p), (texts{"0 right: 10 2 of 2 {1}", "1 right: 1000 8 of 8 {3}"}));
  p.settings.cat_smooth = 3;  // category 1 has two rows
  EXPECT_EQ(candidates_of(p), (texts{"0 right: 100 4 of 4 {2}", "1 right: 1000 8 of 8 {3}"}));
  // The order is that of the keys.
  const std::vector<double> falling = {0, 0, 8, 1, -8, 1, -24, 1};
  p.slots = falling;
  p.settings.cat_smooth = 0;
  EXPECT_EQ(candidates_of(p), (texts{"0 right: -24 1 of 8 {3}", "1 right: 8 1 of 2 {1}"}));
}

// Rows 4, 3, 5 and 8 in the order of the keys, from both ends.
TEST(split_reference, prefixes_are_passed_over_or_end_the_walk) {
  const std::vector<double> slots = {0, 0, 1, 4, 3, 3, 10, 5, 80, 8};
  const std::vector<int64_t> rows = {0, 4, 3, 5, 8};
  split_problem p{.slots = slots, .counts = rows, .features = {categorical(5)}, .leaf = {0, 94, 20, 20, 0, 0, 0}};
  const auto thresholds = [&](double min_hessian, int64_t min_data, int64_t min_group) {
    p.settings = plain_settings();
    p.settings.min_hessian = min_hessian;
    p.settings.min_data = min_data;
    p.settings.min_group = min_group;
    std::vector<uint32_t> found;
    for_each_candidate(p, [&](const split_candidate_sums& c) { found.push_back(c.threshold); });
    return found;
  };
  using list = std::vector<uint32_t>;
  EXPECT_EQ(thresholds(0, 0, 0), (list{0, 1, 2, 3}));
  // Three rows are too few after four that were tested, and enough after four that were not.
  EXPECT_EQ(thresholds(0, 0, 4), (list{0, 2, 3}));
  EXPECT_EQ(thresholds(0, 5, 4), (list{1, 2, 3}));
  EXPECT_EQ(thresholds(5, 0, 4), (list{1, 2, 3}));
  // The other side is too small after eight and after thirteen rows.
  EXPECT_EQ(thresholds(0, 8, 0), (list{2}));
  EXPECT_EQ(thresholds(8, 0, 0), (list{2}));
  EXPECT_EQ(thresholds(0, 0, 8), (list{2}));
  EXPECT_EQ(thresholds(13, 0, 0), (list{}));
  // That learner tries every prefix.
  p.settings.lightgbm_cuda = true;
  EXPECT_EQ(candidates_of(p).size(), 4u);
}

TEST(split_reference, closed_leaves_and_features_have_no_candidate) {
  const auto count = [](const auto& change) {
    split_problem p = four_bins(numerical(4, split_missing::none));
    change(p);
    return candidates_of(p).size();
  };
  EXPECT_EQ(count([](split_problem&) {}), 3u);
  EXPECT_EQ(count([](split_problem& p) { p.settings.min_data = 14; }), 3u);
  EXPECT_EQ(count([](split_problem& p) { p.settings.min_data = 15; }), 0u);
  EXPECT_EQ(count([](split_problem& p) { p.settings.min_hessian = 15; }), 0u);
  EXPECT_EQ(count([](split_problem& p) { p.used = {false}; }), 0u);
  EXPECT_EQ(count([](split_problem& p) { p.leaf.parent_output = k_nan; }), 3u);
  EXPECT_EQ(count([](split_problem& p) {
              p.leaf.parent_output = k_nan;
              p.settings.path_smooth = 1;
            }),
            0u);
  for (double split_leaf_values::*member :
       {&split_leaf_values::g, &split_leaf_values::h, &split_leaf_values::parent_gain})
    EXPECT_EQ(count([&](split_problem& p) { p.leaf.*member = k_inf; }), 0u);
  for (size_t i = 0; i < 8; ++i) {
    std::vector<double> slots = k_slots;
    slots[i] = k_nan;
    EXPECT_EQ(count([&](split_problem& p) { p.slots = slots; }), 0u) << i;
  }
}

// gamma_64 of the sizes, and hardly more; where every bin is stored, what they miss of the total besides.
TEST(split_reference, radius_of_a_sum) {
  const double gamma = 64 * 0x1p-53 / (1 - 64 * 0x1p-53);
  const auto radius = [](split_problem p, double missing) {
    p.leaf.g += missing;
    p.leaf.h += missing;
    std::pair<double, double> found;
    for_each_candidate(p, [&](const split_candidate_sums& c) { found = {c.radius_g, c.radius_h}; });
    return found;
  };
  const split_problem stored = four_bins(numerical(4, split_missing::none)),
                      unstored = four_bins(numerical(4, split_missing::none, 0, 1));
  for (const auto& [found, size] : {std::pair{radius(stored, 0).first, 2222.0},
                                    {radius(stored, 0).second, 30.0},
                                    {radius(unstored, 0).first, 2221.0},
                                    {radius(unstored, 0).second, 29.0}}) {
    EXPECT_GE(found, gamma * size);
    EXPECT_LE(found, gamma * size * (1 + 0x1p-29));
  }
  EXPECT_NEAR(radius(stored, 0.25).first, 0.25, 1e-10);
  EXPECT_NEAR(radius(stored, 0.25).second, 0.25, 1e-12);
  EXPECT_LT(radius(unstored, 0.25).first, 1e-10);
}

// T = sign(s) max(|s| - l1, 0)
TEST(split_reference, gain_of_a_leaf) {
  split_settings s{.lambda_l1 = 2, .lambda_l2 = 6};
  EXPECT_EQ(leaf_gain(-10, 26, s), 2);
  EXPECT_EQ(leaf_gain(10, 26, s), 2);
  for (const double g : {0.0, -0.0, 1.5, -1.5, 2.0, -2.0}) EXPECT_EQ(leaf_gain(g, 26, s), 0) << g;
  EXPECT_EQ(leaf_gain(3, 0, plain_settings()), 9 / k_split_eps);
}

// D = 4 and 8, r = 2/2 and 6/2: w_L = (-2 1 + 12)/2 = 5, w_R = (1 3 + 12)/4 = 3.75, gain = -(2 T w + D w w).
TEST(split_reference, smoothing_draws_towards_the_parent) {
  const std::vector<double> slots = {9, 3, -9, 7};
  const std::vector<int64_t> rows = {2, 6};
  split_problem p{.slots = slots,
                  .counts = rows,
                  .features = {numerical(2, split_missing::none)},
                  .leaf = {0, 0, 10, 8, -1000, 12, 0},
                  .settings = plain_settings()};
  p.settings.lambda_l1 = 1;
  p.settings.lambda_l2 = 1;
  p.settings.path_smooth = 2;
  p.settings.min_gain = 1;
  const split_result r = best_split(p);
  ASSERT_TRUE(r.is_valid);
  EXPECT_NEAR(r.left.value, 5, 1e-12);
  EXPECT_NEAR(r.right.value, 3.75, 1e-12);
  EXPECT_NEAR(r.left.gain, -(2 * 8 * 5 + 4 * 25), 1e-9);
  EXPECT_NEAR(r.right.gain, -(2 * -8 * 3.75 + 8 * 3.75 * 3.75), 1e-9);
  EXPECT_EQ(r.gain, r.left.gain + r.right.gain - (-1000 + 1));
  EXPECT_EQ(r.left.n, 2);
  EXPECT_EQ(r.right.n, 6);
  EXPECT_EQ(refute(p, r), "");
}

// The reported gain of a side, from a hessian without eps, may be none where the deciding one is a number.
TEST(split_reference, lightgbm_reports_no_split_whose_gain_is_no_number) {
  const double h = 0x1p-102;
  const std::vector<double> slots = {1e146, h, -1e146, h};
  split_problem p{.slots = slots,
                  .features = {numerical(2, split_missing::none)},
                  .leaf = {0, 0, 2 * h, 100, 0, 0, 0},
                  .settings = plain_settings()};
  p.settings.lightgbm_cuda = true;
  EXPECT_FALSE(best_split(p).is_valid);
  const std::vector<double> smaller = {1e50, h, -1e50, h};
  p.slots = smaller;
  EXPECT_TRUE(best_split(p).is_valid);
}

// A leaf of three bins, by hand: 9/1 + 9/2 from {0 | 1 2}, the sum of all being 0.
TEST(split_reference, rational_gain_is_the_gain_by_hand) {
  const std::vector<double> slots = {3, 1, 0, 1, -3, 1};
  split_problem p{.slots = slots, .features = {numerical(3, split_missing::none)}, .leaf = {0, 0, 3, 3, 0, 0, 0}};
  p.settings.min_data = 1;
  const auto gain = rational_gain(p);
  ASSERT_TRUE(gain.has_value());
  EXPECT_NEAR(*gain, 13.5, 1e-13);
  const split_result r = best_split(p);
  EXPECT_EQ(r.threshold, 0u);
  EXPECT_EQ(refute(p, r), "");
  split_result wrong = r;
  wrong.left.value = -wrong.left.value;
  EXPECT_EQ(refute(p, wrong), "left value is not what the sums of the left side give");
  wrong = r;
  wrong.is_valid = false;
  EXPECT_EQ(refute(p, wrong), "a candidate is certainly admissible");
  wrong = r;
  wrong.threshold = 2;
  EXPECT_EQ(refute(p, wrong), "it is not a candidate");
  wrong = r;
  wrong.left.g = 3.5;
  EXPECT_EQ(refute(p, wrong), "its left sums lie outside their bound");
}

// A second best record is refuted by its gain alone.
TEST(split_reference, less_gain_is_refuted) {
  const std::vector<double> slots = {3, 1, 1, 1, 1, 1, -5, 1};
  split_problem p{.slots = slots, .features = {numerical(4, split_missing::none)}, .leaf = {0, 0, 4, 4, 0, 0, 0}};
  p.settings.min_data = 1;
  const split_result best = best_split(p);
  int others = 0;
  for_each_candidate(p, [&](const split_candidate_sums& c) {
    const auto r = evaluate(p, c);
    ASSERT_TRUE(r.has_value());
    EXPECT_EQ(refute(p, *r).empty(), r->threshold == best.threshold);
    others += r->threshold != best.threshold;
  });
  EXPECT_EQ(others, 2);
}

// Small leaves of every kind of feature: the scans find what routing every bin finds, in rational numbers.
TEST(split_reference, scans_and_routing_gain_the_same) {
  std::mt19937_64 random(17);
  const auto draw = [&](int most) { return static_cast<int64_t>(random() % static_cast<uint64_t>(most + 1)); };
  int valid = 0;
  for (int k = 0; k < 600; ++k) {
    split_problem p;
    std::vector<double> slots;
    std::vector<int64_t> counts;
    const int64_t bins = 2 + draw(4);
    p.features = {numerical(bins, static_cast<split_missing>(draw(2)), draw(static_cast<int>(bins - 1)), draw(1))};
    for (int64_t b = 0; b < bins; ++b) {
      const double g = static_cast<double>(draw(64) - 32) / 4, h = static_cast<double>(draw(8)) / 2;
      const int64_t n = 1 + draw(5);
      p.leaf.g += g;
      p.leaf.h += h;
      p.leaf.n += n;
      if (b < p.features[0].mfb_offset) continue;
      slots.insert(slots.end(), {g, h});
      counts.push_back(n);
    }
    p.slots = slots;
    if (draw(2)) p.counts = counts;
    p.settings = plain_settings();
    p.settings.lambda_l1 = static_cast<double>(draw(2));
    p.settings.lambda_l2 = static_cast<double>(1 + draw(2));
    p.settings.path_smooth = static_cast<double>(draw(1) * draw(3));
    p.settings.min_hessian = static_cast<double>(draw(2));
    p.settings.min_data = draw(4);
    p.settings.min_gain = static_cast<double>(draw(1));
    p.settings.extra_trees = draw(3) == 0;
    p.leaf.parent_output = static_cast<double>(draw(4) - 2);
    p.leaf.parent_gain = leaf_gain(p.leaf.g, p.leaf.h, p.settings) / 2;
    p.leaf.seed = random();
    const split_result r = best_split(p);
    const std::optional<double> exact = rational_gain(p);
    ASSERT_EQ(r.is_valid, exact.has_value()) << k;
    EXPECT_EQ(refute(p, r), "") << k;
    if (!exact) continue;
    ++valid;
    const double size = std::fabs(r.left.gain) + std::fabs(r.right.gain) + p.leaf.parent_gain + 1;
    EXPECT_NEAR(r.gain, *exact, 1e-13 * size) << k;
  }
  EXPECT_GT(valid, 200);
}

}  // namespace
}  // namespace warpcheck::reference
