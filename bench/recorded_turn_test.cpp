// How long a device waits for the host in turns that a candidate's process makes.
#include "bench/recorded_turn.hpp"

#include <gtest/gtest.h>

#include <tuple>

namespace {

using warpcheck::bench::recorded_turn;
using warpcheck::engine::listed_operator;

int32_t g_head_start;
bool g_is_late;

warpcheck_status make(warpcheck_turn* turn) {
  g_head_start = turn->head_start;
  turn->was_late = g_is_late;
  return WARPCHECK_OK;
}

TEST(RecordedTurn, AfterALateTurnTheDeviceWaitsFourTimesAsLongAtMostTwice) {
  const listed_operator op("none", WARPCHECK_DEVICE_CUDA, 0, {}, [](warpcheck_call&) { return WARPCHECK_OK; });
  recorded_turn turn(make, op, {});
  const auto take = [&](bool is_late) {
    g_is_late = is_late;
    turn.begin();
    turn.mark();
    double host_us = 0;
    turn.finish(&host_us);
    return turn.was_late();
  };
  for (const auto& [head_start, is_late, again] :
       {std::tuple(1, false, false), {1, true, true}, {4, false, false}, {4, true, true}, {16, true, false}}) {
    EXPECT_EQ(take(is_late), again);
    EXPECT_EQ(g_head_start, head_start);
  }
}

}  // namespace
