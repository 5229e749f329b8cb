// Generators reach what they promise.
#include "properties/engine/cases/draw.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "properties/engine/cases/generate.hpp"

namespace warpcheck::engine {
namespace {

target three_variants() {
  target t;
  t.op = "softmax";
  t.device = "emulated";
  t.variants = {{"a", {{1, 64, 1, 64}}}, {"b", {{1, 2048, 65, 2048}}}, {"c", {{1, -1, 2049, -1}}}};
  t.boundaries = {{96}};
  t.size = 1;
  return t;
}

TEST(draw, stays_in_its_range_and_reaches_both_ends) {
  draw d(rc::Random(5), 0);
  std::set<int64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    const int64_t k = d.between(-2, 3);
    ASSERT_TRUE(k >= -2 && k <= 3);
    seen.insert(k);
  }
  EXPECT_EQ(seen.size(), 6u);
  EXPECT_EQ(d.between(7, 7), 7);
}

TEST(critical_extents, hold_every_boundary_and_its_neighbours) {
  const std::vector<int64_t> all = critical_extents(three_variants(), 5000);
  for (int64_t e : {63, 64, 65, 66, 95, 96, 97, 2047, 2048, 2049, 2050, 1, 2, 31, 32, 33})
    EXPECT_TRUE(std::ranges::binary_search(all, e)) << e;
  EXPECT_GE(all.front(), 1);
  EXPECT_LE(all.back(), 5000);
}

TEST(component_bound, reaches_every_variant_within_as_many_cases_as_twice_their_number) {
  const target t = three_variants();
  std::set<std::string> reached;
  for (int64_t i = 0; i < 2 * static_cast<int64_t>(t.variants.size()); ++i) {
    const int64_t cols = generate_case(find_property("softmax", "within-error-bound"), t, 1, i).at("x").cols();
    for (const target::variant& v : t.variants)
      if (cols >= v.ranges[0].dispatch_min && (v.ranges[0].dispatch_max < 0 || cols <= v.ranges[0].dispatch_max))
        reached.insert(v.name);
  }
  EXPECT_EQ(reached.size(), t.variants.size());
}

TEST(generate_case, keeps_inputs_within_the_limits_and_refuses_where_none_fits) {
  target t = three_variants();
  t.max_rows = 4;
  t.max_cols = 257;
  std::set<int64_t> rows, cols;
  for (int64_t i = 0; i < 60; ++i) {
    const tensor_spec x = generate_case(find_property("softmax", "within-error-bound"), t, 1, i).at("x");
    rows.insert(x.rows());
    cols.insert(x.cols());
  }
  EXPECT_EQ(rows, (std::set<int64_t>{1, 2, 3, 4}));
  EXPECT_TRUE(*cols.rbegin() <= 257 && *cols.rbegin() > 200 && *cols.begin() < 8);
  EXPECT_THROW(generate_case(find_property("softmax", "index-beyond-2-to-24"), t, 1, 0), no_case_fits);
  t.max_rows = t.max_cols = 1;
  EXPECT_EQ(generate_case(find_property("softmax", "misalignment"), t, 1, 0).at("x").elements(), 1);
}

TEST(generate_case, draws_what_can_be_written_down_within_any_limits) {
  for (const property& p : all_properties())
    for (const int64_t most : {1, 6, 257, 1500}) {
      target t = three_variants();
      t.op = p.op;
      t.type = p.types.front();
      t.max_rows = 4;
      t.max_cols = most;
      try {
        for (int64_t i = 0; i < 16; ++i) {  // hundreds of draws each, where the limits are narrow
          const std::string text = format(generate_case(p, t, 1, i));
          ASSERT_NO_THROW(parse_case_line(text)) << text;
        }
      } catch (const no_case_fits&) {  // and that is said
      }
    }
}

TEST(phase, combines_every_pair_of_offsets) {
  std::set<std::pair<int64_t, int64_t>> pairs;
  for (int64_t i = 0; i < 16; ++i) {
    const trial_case c = generate_case(find_property("softmax", "misalignment"), three_variants(), 1, i);
    pairs.emplace(c.at("x").offset, c.at("y").offset);
  }
  EXPECT_EQ(pairs.size(), 16u);
}

}  // namespace
}  // namespace warpcheck::engine
