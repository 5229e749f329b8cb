// Which times an honest call may take in another process.
#include "bench/yardstick.hpp"

#include <gtest/gtest.h>

#include <random>

namespace {

using warpcheck::bench::claimed_time;
using warpcheck::bench::k_sets;
using warpcheck::bench::k_turns_of_set;
using warpcheck::bench::yardstick;

// Tiny calls of 2 us take 15 us elsewhere, calls of 100 us take 13 us and a tenth more.
yardstick quiet() {
  return {{2, std::vector<double>(k_turns_of_set, 15.0)}, {100, std::vector<double>(k_turns_of_set, 123.0)}};
}

TEST(Yardstick, AddsTheLaunchAndTheShareOfTheClocks) { EXPECT_NEAR(quiet().most_us(50), 13 + 1.1 * 50, 1e-9); }

// On an H200 one late turn of eight had allowed 1478 us for a call of 129 us.
TEST(Yardstick, LateTurnsOfOursWidenNothing) {
  yardstick disturbed = quiet();
  for (const size_t turn : {1u, 4u, 6u}) disturbed.alike.us[turn] = 1200;
  disturbed.tiny.us[2] = 900;
  EXPECT_NEAR(disturbed.most_us(50), quiet().most_us(50), 1e-9);
}

TEST(Yardstick, AFalseTimeIsNotConfirmed) {
  claimed_time half(50);
  for (int turn = 0; turn <= k_turns_of_set; ++turn) half.add(123);
  half.judge(quiet());
  EXPECT_FALSE(half.is_confirmed());
  EXPECT_EQ(half.least_us(), 123);
  claimed_time honest(100);
  for (const double us : {500.0, 123.0, 900.0}) honest.add(us);
  honest.judge(quiet());
  EXPECT_TRUE(honest.is_confirmed());
}

// Honest calls on a busy host, whose excess has the distribution of ours: one of 17,000 rows may be refused.
TEST(Yardstick, HonestCallsAreConfirmedOnABusyHost) {
  std::mt19937 random(1);
  std::lognormal_distribution<double> late(3, 1.5);
  int refused = 0, refused_at_first = 0;
  for (int row = 0; row < 20000; ++row) {
    claimed_time honest(100);
    for (int set = 0; set < k_sets && !honest.is_confirmed(); ++set) {
      yardstick measure{{2, {}}, {100, {}}};
      for (int turn = 0; turn < k_turns_of_set; ++turn) {
        measure.tiny.us.push_back(2 + 13);
        measure.alike.us.push_back(100 + 13 + late(random));
        honest.add(100 + 13 + late(random));
      }
      honest.judge(measure);
      refused_at_first += set == 0 && !honest.is_confirmed();
    }
    refused += !honest.is_confirmed();
  }
  EXPECT_LE(refused, 5);
  EXPECT_NEAR(refused_at_first, 20000 * 495 / 12870, 150);
}

}  // namespace
