// Rules of sizes, from answers about sizes.
#include "properties/engine/trials/size_rules.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace warpcheck::engine {
namespace {

struct asked_rule {
  size_rule rule;
  int answered;  // calls, which take long if the size is large
};

asked_rule asked(int64_t refused, bool (*offers)(int64_t)) {
  int answered = 0;
  const size_rule rule = rule_of(
      [&](int64_t size) -> std::optional<bool> {
        if (size < 0) return std::nullopt;
        answered += offers(size);
        return offers(size);
      },
      refused);
  return {rule, answered};
}

TEST(size_rules, the_bound_of_a_grid_takes_few_answered_calls) {
  const asked_rule of_grid = asked(70000, [](int64_t size) { return size <= 65535; });
  EXPECT_EQ(of_grid.rule.kind, trait::more);
  EXPECT_EQ(of_grid.rule.size, 65535);
  EXPECT_EQ(of_grid.answered, 1);
  for (const int64_t most : {3, 1024, 60000, 65534, 65536, 69999}) {
    static int64_t bound;
    bound = most;
    const asked_rule of_other = asked(70000, [](int64_t size) { return size <= bound; });
    EXPECT_EQ(of_other.rule.kind, trait::more) << most;
    EXPECT_EQ(of_other.rule.size, most);
  }
}

TEST(size_rules, a_multiple_and_a_least_size_are_told_apart) {
  const asked_rule of_four = asked(5, [](int64_t size) { return size % 4 == 0; });
  EXPECT_EQ(of_four.rule.kind, trait::not_multiple);
  EXPECT_EQ(of_four.rule.size, 4);
  const asked_rule of_least = asked(5, [](int64_t size) { return size >= 17; });
  EXPECT_EQ(of_least.rule.kind, trait::fewer);
  EXPECT_EQ(of_least.rule.size, 17);
  EXPECT_FALSE(asked(70, [](int64_t size) { return size % 7 != 0; }).rule.kind);
}

}  // namespace
}  // namespace warpcheck::engine
