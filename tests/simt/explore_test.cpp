// Exploration of schedules: kernels whose threads meet by atomics run in all their classes, each broken memory order is
// found, and small random programs have the classes and outcomes that an enumeration of all orders has.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/simt/device_array.hpp"
#include "tests/simt/explore_kernels.hpp"

namespace warpcheck::self {
namespace {

simt::emulation explored(const std::string& schedule, const std::function<void(int*, simt::emulation*)>& run,
                         std::vector<int>* out = nullptr) {
  simt::emulation stream;
  stream.schedule = simt::schedule::parse(schedule);
  device_array<int> memory(k_explore_words);
  try {
    run(memory.data(), &stream);
  } catch (const simt::device_error&) {  // the stream has the finding
  }
  if (out != nullptr) out->assign(memory.data(), memory.data() + memory.size());
  return stream;
}

class explorations : public testing::TestWithParam<explore_trial> {};

TEST_P(explorations, run_every_class_of_a_correct_kernel) {
  const explore_trial& trial = GetParam();
  std::vector<int> fair, after;
  explored(
      "fair", [&](int* out, simt::emulation* s) { trial.run(out, 0, s); }, &fair);
  const simt::emulation stream = explored(
      "explore:100000", [&](int* out, simt::emulation* s) { trial.run(out, 0, s); }, &after);
  ASSERT_TRUE(stream.ok()) << stream.findings.front().text;
  EXPECT_EQ(stream.launches, 1u);
  EXPECT_EQ(stream.explored.launches, 1u);
  EXPECT_EQ(stream.explored.left, 0u);
  EXPECT_TRUE(stream.explored.obstacles.empty()) << stream.explored.obstacles.front();
  EXPECT_GE(stream.explored.classes, trial.least);
  EXPECT_EQ(stream.explored.outcomes, trial.outcomes);
  RecordProperty("classes", static_cast<int>(stream.explored.classes));
  if (trial.outcomes == 1) {
    EXPECT_EQ(after, fair);
  }
}

TEST_P(explorations, find_each_broken_memory_order) {
  const explore_trial& trial = GetParam();
  for (int flaw = 1; flaw <= trial.flaws; ++flaw) {
    const simt::emulation stream =
        explored("explore:100000", [&](int* out, simt::emulation* s) { trial.run(out, flaw, s); });
    ASSERT_FALSE(stream.ok()) << "flaw " << flaw;
    EXPECT_EQ(stream.findings.front().kind, "race") << "flaw " << flaw << ": " << stream.findings.front().text;
  }
}

TEST_P(explorations, stop_at_the_classes_that_the_schedule_allows) {
  const explore_trial& trial = GetParam();
  if (trial.least == 1) return;
  const simt::emulation stream = explored("explore:1", [&](int* out, simt::emulation* s) { trial.run(out, 0, s); });
  EXPECT_EQ(stream.explored.classes, 1u);
  EXPECT_GE(stream.explored.left, 1u);
  EXPECT_EQ(stream.explored.launches, 0u);
}

INSTANTIATE_TEST_SUITE_P(kernels, explorations, testing::ValuesIn(explore_trials()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(exploration, finds_a_race_that_a_thousand_random_schedules_miss) {
  const char* const strategies[] = {"random:", "pct_warp:", "preempt:", "pct:"};
  for (unsigned seed = 0; seed < 1000; ++seed) {
    const std::string schedule = strategies[seed % 4] + std::to_string(seed);
    ASSERT_TRUE(explored(schedule, run_one_order_of_many).ok()) << schedule;
  }
  const simt::emulation stream = explored("explore:2000", run_one_order_of_many);
  ASSERT_FALSE(stream.ok());
  EXPECT_EQ(stream.findings.front().kind, "race");
  EXPECT_GT(stream.explored.classes, 1u);
}

TEST(exploration, keeps_the_order_of_barriers) {
  std::vector<int> out;
  const simt::emulation stream = explored("explore:1", run_one_order, &out);
  ASSERT_TRUE(stream.ok()) << stream.findings.front().text;
  EXPECT_EQ(stream.explored.classes, 1u);
  EXPECT_EQ(stream.explored.left, 0u);
  EXPECT_EQ(out[1], 5);
}

TEST(exploration, reports_a_loop_that_waits_for_ever) {
  const simt::emulation stream = explored("explore:10", run_waits_for_nobody);
  ASSERT_FALSE(stream.ok());
  EXPECT_EQ(stream.findings.front().kind, "livelock");
}

TEST(exploration, needs_a_small_grid) {
  const simt::emulation stream = explored("explore:10", run_on_many_blocks);
  EXPECT_EQ(stream.explored.launches, 0u);
  ASSERT_EQ(stream.explored.obstacles.size(), 1u);
  EXPECT_NE(stream.explored.obstacles[0].find("64 blocks"), std::string::npos);
}

TEST(exploration, ends_at_a_run_with_too_many_choices) {
  const simt::emulation stream = explored("explore:10", run_many_choices);
  EXPECT_EQ(stream.explored.launches, 0u);
  EXPECT_EQ(stream.explored.left, 1u);
  ASSERT_EQ(stream.explored.obstacles.size(), 1u);
  EXPECT_NE(stream.explored.obstacles[0].find("20000 choices"), std::string::npos);
}

// ---- all orders of a small program, one after the other

using program = std::vector<program_step>;  // k_program_steps of each thread

struct executed_step {
  int thread, step;
  bool writes;
};

// What an order of the steps leaves in memory, and what orders the steps that depend on one another.
struct order_result {
  std::vector<int> memory;
  std::set<std::array<int, 4>> ordered;  // (thread, step) before (thread, step)
};

int execute(const program_step& s, int& word, bool& writes) {
  const int before = word;
  writes = s.kind != step_load && !(s.kind == step_compare_and_swap && before != 0);
  if (s.kind == step_store || s.kind == step_swap || (s.kind == step_compare_and_swap && writes)) word = s.value;
  if (s.kind == step_add || s.kind == step_add_unused) word += s.value;
  return s.kind == step_store || s.kind == step_add_unused ? 0 : before;
}

order_result run_in_order(const program& p, const std::vector<int>& threads) {
  order_result r;
  r.memory.assign(2 + k_program_threads * k_program_steps, 0);
  std::array<int, k_program_threads> next{};
  std::vector<executed_step> done;
  for (const int t : threads) {
    const int step = next[static_cast<size_t>(t)]++;
    const program_step& s = p[static_cast<size_t>(t * k_program_steps + step)];
    bool writes = false;
    r.memory[static_cast<size_t>(2 + t * k_program_steps + step)] =
        execute(s, r.memory[static_cast<size_t>(s.word)], writes);
    for (const executed_step& e : done) {
      const program_step& other = p[static_cast<size_t>(e.thread * k_program_steps + e.step)];
      const bool commute = s.kind == step_add_unused && other.kind == step_add_unused;
      if (e.thread != t && other.word == s.word && (e.writes || writes) && !commute)
        r.ordered.insert({e.thread, e.step, t, step});
    }
    done.push_back({t, step, writes});
  }
  return r;
}

// A thread asks a word once at most, since a second time would be taken for a loop that waits.
program random_program(std::mt19937& random) {
  program p;
  for (int t = 0; t < k_program_threads; ++t) {
    bool has_asked[2] = {};
    for (int s = 0; s < k_program_steps; ++s) {
      program_step step = {static_cast<int>(random() % 6), static_cast<int>(random() % 2),
                           static_cast<int>(1 + random() % 3)};
      const bool asks = step.kind == step_load || step.kind == step_swap || step.kind == step_compare_and_swap;
      if (asks && std::exchange(has_asked[step.word], true)) step.kind = step_add;
      p.push_back(step);
    }
  }
  return p;
}

TEST(exploration, has_the_classes_and_outcomes_of_all_orders) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 150; ++trial) {
    const program p = random_program(random);
    std::set<std::vector<int>> outcomes;
    std::set<std::pair<std::vector<int>, std::set<std::array<int, 4>>>> classes;
    std::vector<int> order;
    for (int t = 0; t < k_program_threads; ++t) order.insert(order.end(), k_program_steps, t);
    do {
      order_result r = run_in_order(p, order);
      outcomes.insert(r.memory);
      classes.emplace(std::move(r.memory), std::move(r.ordered));
    } while (std::next_permutation(order.begin(), order.end()));
    device_array<program_step> steps(p);
    const simt::emulation stream =
        explored("explore:100000", [&](int* out, simt::emulation* s) { run_program(steps.data(), out, s); });
    ASSERT_TRUE(stream.ok()) << stream.findings.front().text;
    EXPECT_EQ(stream.explored.launches, 1u);
    EXPECT_EQ(stream.explored.outcomes, outcomes.size()) << "program " << trial;
    EXPECT_GE(stream.explored.classes, classes.size()) << "program " << trial;
    // Before its turn a compare and swap counts as a write, so that a class may run twice.
    const bool compares =
        std::any_of(p.begin(), p.end(), [](const program_step& s) { return s.kind == step_compare_and_swap; });
    if (!compares) {
      EXPECT_EQ(stream.explored.classes, classes.size()) << "program " << trial;
    }
  }
}

}  // namespace
}  // namespace warpcheck::self
