// No use of a cache gets below the least bytes of a turn, and the floor is not far below the best use.
#include "bench/memory_floor.hpp"

#include <gtest/gtest.h>

namespace {

using warpcheck::bench::least_bytes;
using warpcheck::bench::traffic;

struct turn {
  size_t slots, in, out, cache;
  int calls;
};

// Returns the bytes that a cache moves which keeps the first `cache` bytes of the slots and nothing else: with a cyclic
// access, whose next use of each byte is equally far, none does better. The turn begins with what the first calls read
// in the cache, and ends with results in it.
double moved_at_best(const turn& t) {
  const size_t set = t.in + t.out, all = t.slots * set, used = set * static_cast<size_t>(t.calls);
  const size_t rounds = used / all, rest = used % all;
  const size_t found = rounds * std::min(t.cache, all) + std::min(t.cache, rest);
  const size_t left = std::min(t.cache, t.out * static_cast<size_t>(t.calls));
  return (static_cast<double>(used) - static_cast<double>(found) - static_cast<double>(left)) / t.calls;
}

double floor_of(const turn& t) {
  traffic moved;
  moved.in = t.in;
  moved.out = t.out;
  return least_bytes(moved, t.slots * (t.in + t.out), t.cache, t.calls);
}

TEST(MemoryFloor, NoUseOfTheCacheMovesLess) {
  for (const size_t in : {1, 8, 64, 500})
    for (const size_t out : {0, 1, 8, 64, 500})
      for (const size_t slots : {2, 3, 9, 100})
        for (const size_t cache : {1, 16, 100, 400})
          for (const int calls : {1, 20, 101})
            EXPECT_LE(floor_of({slots, in, out, cache, calls}),
                      std::max(0.0, moved_at_best({slots, in, out, cache, calls})) + 1e-9)
                << slots << " slots of " << in << " and " << out << ", cache " << cache << ", " << calls << " calls";
}

// An H200: 60 MiB of cache, softmax of 512 MiB in two slots, and of 32 MiB in eight.
TEST(MemoryFloor, LargeCallsMoveNearlyAll) {
  constexpr size_t k_mib = 1 << 20;
  EXPECT_GT(floor_of({2, 256 * k_mib, 256 * k_mib, 60 * k_mib, 20}), 0.92 * 512 * k_mib);
  EXPECT_GT(floor_of({8, 16 * k_mib, 16 * k_mib, 60 * k_mib, 20}), 0.55 * 32 * k_mib);
}

TEST(MemoryFloor, SmallCallsMayFindAllInTheCache) { EXPECT_EQ(floor_of({5000, 32 << 10, 32 << 10, 60 << 20, 20}), 0); }

TEST(MemoryFloor, InputsOfAllSlotsMayStayInTheCache) {
  traffic moved;
  moved.in = moved.picked = 100 << 20;
  EXPECT_EQ(least_bytes(moved, 240 << 20, 60 << 20, 20), 0);
}

}  // namespace
