// Vector clocks against maps from key to bound: random joins of clocks that share nodes with one another.
#include "simt/emulated/vector_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <random>

namespace {
size_t made = 0, freed = 0;  // by new
}  // namespace

void* operator new(size_t bytes) {
  ++made;
  if (void* p = std::malloc(bytes)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept {
  freed += p != nullptr;
  std::free(p);
}
void operator delete(void* p, size_t) noexcept { operator delete(p); }

namespace warpcheck::self::emulated {
namespace {

using simt::vector_clock;

constexpr uint32_t k_blocks = 40, k_warps = 20;

struct modelled_clock {
  vector_clock clock;
  std::map<uint64_t, uint32_t> model;
  void join(uint64_t key, uint32_t below) {
    clock.join(key, below);
    model[key] = std::max(model[key], below);
  }
  void join(const modelled_clock& other) {
    clock.join(other.clock);
    for (const auto& [key, below] : other.model) model[key] = std::max(model[key], below);
  }
};

uint32_t below(const modelled_clock& c, uint64_t key) {
  const auto at = c.model.find(key);
  return at != c.model.end() ? at->second : 0;
}

uint64_t random_key(std::mt19937& random) {
  const uint32_t block = 1 + random() % k_blocks, thread = random() % (k_warps * 32);
  switch (random() % 8) {
    case 0: return vector_clock::block_key(block);
    case 1: return vector_clock::warp_key(block, thread / 32);
    case 2: return vector_clock::thread_key(block << simt::k_instance_shift | simt::k_agent | thread);
    case 3: return vector_clock::phase_key(random() % 100);
    case 4:
      return random() % 2 != 0 ? vector_clock::k_fenced | vector_clock::block_key(block)
                               : vector_clock::fenced_by_block(block) | vector_clock::warp_key(block, 3);
    default: return vector_clock::thread_key(block << simt::k_instance_shift | thread);
  }
}

bool covers_by_model(const modelled_clock& c, uint64_t mark, uint32_t block, uint32_t thread, uint32_t epoch) {
  return epoch < below(c, mark | vector_clock::thread_key(block << simt::k_instance_shift | thread)) ||
         epoch < below(c, mark | vector_clock::block_key(block)) ||
         epoch < below(c, mark | vector_clock::warp_key(block, thread / 32));
}

void expect_as_modelled(const modelled_clock& c, std::mt19937& random) {
  ASSERT_EQ(c.clock.empty(), c.model.empty());
  for (const auto& [key, bound] : c.model) ASSERT_EQ(c.clock.below(key), bound) << key;
  for (int i = 0; i < 50; ++i) {
    const uint64_t key = random_key(random);
    ASSERT_EQ(c.clock.below(key), below(c, key)) << key;
    const uint32_t block = 1 + random() % k_blocks, thread = random() % (k_warps * 32), epoch = random() % 1000;
    const bool is_before = block < below(c, vector_clock::k_launches_before);
    const uint32_t id = block << simt::k_instance_shift | thread;
    ASSERT_EQ(c.clock.covers(id, epoch), is_before || covers_by_model(c, 0, block, thread, epoch));
    const uint32_t agent = id | simt::k_agent;  // what its block or warp has done says nothing about it
    ASSERT_EQ(c.clock.covers(agent, epoch), is_before || epoch < below(c, vector_clock::thread_key(agent)));
    ASSERT_EQ(c.clock.covers_as(vector_clock::k_fenced, id, epoch),
              covers_by_model(c, vector_clock::k_fenced, block, thread, epoch));
  }
}

TEST(vector_clock, agrees_with_a_map) {
  std::mt19937 random(20261129);
  for (int round = 0; round < 30; ++round) {
    modelled_clock clocks[6];
    for (int step = 0; step < 400; ++step) {
      modelled_clock& to = clocks[random() % 6];
      const modelled_clock& other = clocks[random() % 6];
      switch (random() % 16) {
        case 0: to = other; break;
        case 1: to.clock.clear(), to.model.clear(); break;
        case 2: to.join(vector_clock::k_launches_before, random() % 8); break;
        case 3:
        case 4:
        case 5: to.join(other); break;
        default: to.join(random_key(random), random() % 1000);
      }
    }
    for (const modelled_clock& c : clocks) expect_as_modelled(c, random);
  }
}

TEST(vector_clock, marks_what_has_no_mark) {
  std::mt19937 random(1);
  for (const uint64_t mark : {vector_clock::k_fenced, vector_clock::fenced_by_block(k_blocks)}) {
    modelled_clock c, marked;
    for (int i = 0; i < 500; ++i) c.join(random_key(random), 1 + random() % 1000);
    marked.clock = c.clock.marked(mark);
    for (const auto& [key, bound] : c.model)
      if (key >> 60 == 0) marked.model[key | mark] = bound;
    expect_as_modelled(marked, random);
    expect_as_modelled(c, random);
  }
}

TEST(vector_clock, has_nothing_to_mark_without_events_of_threads) {
  vector_clock c;
  EXPECT_TRUE(c.marked(vector_clock::k_fenced).empty());
  c.join(vector_clock::phase_key(0), 5);
  EXPECT_TRUE(c.marked(vector_clock::k_fenced).empty());
}

// What two clocks have in common is one node, so that a join of the two goes no further.
TEST(vector_clock, is_one_of_the_two_that_contains_the_other) {
  vector_clock small, large;
  for (uint32_t i = 0; i < 1000; ++i) (i % 3 != 0 ? large : small).join(vector_clock::thread_key(i << 11 | i), 5);
  large.join(small);
  vector_clock both = small;
  both.join(large);
  EXPECT_TRUE(both.is(large));
  both.join(small);
  EXPECT_TRUE(both.is(large));
  both.join(vector_clock::thread_key(7 << 11 | 7), 6);
  EXPECT_FALSE(both.is(large));
  EXPECT_EQ(large.below(vector_clock::thread_key(7 << 11 | 7)), 5u);
}

TEST(vector_clock, shares_a_leaf_that_has_all) {
  vector_clock small, large;
  small.join(vector_clock::thread_key(1), 5);
  large.join(vector_clock::thread_key(1), 6);
  small.join(large);
  EXPECT_TRUE(small.is(large));
  const vector_clock before = large;
  vector_clock less;
  less.join(vector_clock::thread_key(1), 5);
  large.join(less);
  EXPECT_TRUE(large.is(before));
}

TEST(vector_clock, changes_its_own_nodes_and_frees_them) {
  const size_t before = made - freed;
  {
    vector_clock c;
    for (uint32_t i = 0; i < 1000; ++i) c.join(vector_clock::thread_key(i << 11 | i), 5);
    const size_t nodes = made - freed - before;
    const size_t begin = made;
    for (uint32_t i = 0; i < 1000; ++i) c.join(vector_clock::thread_key(i << 11 | i), 6);
    EXPECT_EQ(made - begin, 1000u);  // the leaf that is joined
    EXPECT_EQ(made - freed - before, nodes);
    const vector_clock copy = c;
    c.join(vector_clock::thread_key(7 << 11 | 7), 7);  // along the way to the leaf
    EXPECT_LT(made - freed - before, nodes + 20);
    c.join(vector_clock::thread_key(8 << 11 | 9), 8);
    const size_t also = made;
    c.join(vector_clock::thread_key(8 << 11 | 10), 8);
    EXPECT_EQ(made - also, 1u);  // two threads have one leaf
  }
  EXPECT_EQ(made - freed, before);
}

}  // namespace
}  // namespace warpcheck::self::emulated
