// When calls take too long, by the clock of the process that watches.
#include "bench/call_limit.hpp"

#include <gtest/gtest.h>

namespace {

using warpcheck::bench::awaited_calls;
using warpcheck::bench::call_limit;
using warpcheck::bench::call_watch;

constexpr double k_forever = 1e9, k_at_once = 1e-9;  // seconds

TEST(CallLimit, BeginsWithTheCallAndEndsWithIt) {
  awaited_calls shared;
  call_watch watch(shared);
  call_limit limit(&shared, k_at_once);
  limit.name(&limit, "mine");
  EXPECT_FALSE(watch.is_late());
  limit.begin(&limit, "a call", 1);
  watch.is_late();  // sees that it has begun
  EXPECT_TRUE(watch.is_late());
  EXPECT_STREQ(shared.what, "a call by mine");
  limit.end();
  EXPECT_FALSE(watch.is_late());
}

TEST(CallLimit, IsInProportionToTheShareAndToTheCallsThatAreAwaited) {
  awaited_calls shared;
  call_watch watch(shared);
  call_limit limit(&shared, k_forever);
  limit.begin(nullptr, "a large call", 3);
  limit.begin(nullptr, "a call", 1);
  EXPECT_EQ(shared.allowed_seconds, 4 * k_forever);
  watch.is_late();
  EXPECT_FALSE(watch.is_late());
}

TEST(CallLimit, OfNobodyThatWatchesIsNone) {
  call_limit limit(nullptr, k_at_once);
  limit.begin(nullptr, "a call", 1);
  limit.end();
}

}  // namespace
