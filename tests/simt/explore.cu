// Exploration of schedules: kernels whose threads meet by atomics run in all their classes, each broken memory order is
// found, and small random programs have the classes and outcomes that an enumeration of all orders has.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simt/emulation.hpp"
#include "simt/simt.hpp"
#include "tests/simt/device_array.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {
namespace {

template <int Flaw>
__device__ void releases() {
  if (Flaw == 3) __threadfence_block();
  if (Flaw != 2 && Flaw != 3) __threadfence();
}
template <int Flaw>
__device__ void acquires() {
  if (Flaw == 3) __threadfence_block();
  if (Flaw != 1 && Flaw != 3) __threadfence();
}

__global__ void tickets(int* out) { out[1 + atomicAdd(out, 1)] = static_cast<int>(blockIdx.x); }

// Flaw 1: the scope of the atomics is a block.
template <int Flaw>
__global__ void histogram(int* out) {
  int* const bin = out + (threadIdx.x * 7 + blockIdx.x) % 10;
  Flaw == 1 ? atomicAdd_block(bin, 1) : atomicAdd(bin, 1);
}

template <int Flaw>
__global__ void ticket_lock(int* out) {
  const int mine = atomicAdd(out, 1);
  while (simt::load_relaxed(out + 1) != mine) continue;
  acquires<Flaw>();
  out[3 + out[2]] = static_cast<int>(blockIdx.x);
  ++out[2];
  releases<Flaw>();
  simt::store_relaxed(out + 1, mine + 1);
}

template <int Flaw>
__global__ void last_block(int* out) {
  const unsigned n = gridDim.x;
  out[10 + blockIdx.x] = static_cast<int>(blockIdx.x) + 1;
  releases<Flaw>();
  if (atomicAdd(out, 1) != static_cast<int>(n) - 1) return;
  acquires<Flaw>();
  for (unsigned b = 0; b < n; ++b) out[1] += out[10 + b];
}

template <int Flaw>
__global__ void grid_barrier(int* out) {
  const unsigned n = gridDim.x;
  out[10 + blockIdx.x] = static_cast<int>(blockIdx.x) + 1;
  releases<Flaw>();
  atomicAdd(out, 1);
  while (simt::load_relaxed(out) < static_cast<int>(n)) continue;
  acquires<Flaw>();
  out[20 + blockIdx.x] = out[10 + (blockIdx.x + 1) % n];
}

// A scan of one number a tile: a tile publishes its own, looks back for the sum of those before it, and publishes that.
template <int Flaw>
__global__ void look_back(int* out) {
  const int tile = static_cast<int>(blockIdx.x), own = 1 << tile;
  int *const status = out, *const sums = out + 10, *const prefixes = out + 20;
  sums[tile] = own;
  if (tile > 0) {
    releases<Flaw>();
    simt::store_relaxed(status + tile, 1);
  }
  int before = 0;
  for (int p = tile - 1; p >= 0; --p) {
    int seen = 0;
    while ((seen = simt::load_relaxed(status + p)) == 0) continue;
    acquires<Flaw>();
    before += seen == 2 ? prefixes[p] : sums[p];
    if (seen == 2) break;
  }
  prefixes[tile] = before + own;
  releases<Flaw>();
  simt::store_relaxed(status + tile, 2);
}

// Warps of two blocks look at one flag, and wait for each other in between.
__global__ void warps_that_wait(int* out) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) simt::store_relaxed(out, 1);
    return;
  }
  const int* const asked = out + (threadIdx.x == 0 ? 0 : 1);
  while (!__any_sync(~0u, simt::load_relaxed(asked) != 0)) continue;
  out[10 + threadIdx.x] = 1;
}

// Both readers may ask before each of the values 1 and 2, and see either.
__global__ void readers_that_wait(int* out) {
  if (blockIdx.x == 0) {
    simt::store_relaxed(out, 1);
    simt::store_relaxed(out, 2);
    return;
  }
  int value = 0, has_waited = 0;
  while ((value = simt::load_relaxed(out)) == 0) has_waited = 1;
  out[10 + blockIdx.x] = 2 * has_waited + value;
}

// One block counts to 8, the other one reads four times. The flaw, a race, needs the values 2, 3, 5 and 8.
__global__ void one_order_of_many(int* out) {
  if (blockIdx.x == 0) {
    out[10] = 1;
    for (int i = 1; i <= 8; ++i) simt::store_relaxed(out, i);
    return;
  }
  bool is_right = true;
  for (const int value : {2, 3, 5, 8}) is_right = (simt::load_relaxed(out) == value) && is_right;
  if (is_right) out[11] = out[10];
}

// A barrier orders the choices of its own block only.
__global__ void barriers_of_blocks(int* out) {
  const unsigned b = blockIdx.x;
  if (threadIdx.x == 0) out[10 + b] = simt::load_relaxed(out + 1 - b);
  __syncthreads();
  if (threadIdx.x == 40) simt::store_relaxed(out + b, 1);
}

// Barriers of a warp and of the block leave one order of the choices of all threads.
__global__ void one_order(int* out) {
  if (threadIdx.x == 0) simt::store_relaxed(out, 1);
  simt::store_relaxed(out + 2 + threadIdx.x, 1);
  __syncwarp();
  if (threadIdx.x == 1) simt::store_relaxed(out, 2 * simt::load_relaxed(out));
  simt::store_relaxed(out + 2 + (threadIdx.x ^ 1), 2);
  __syncthreads();
  simt::store_relaxed(out + 2 + (threadIdx.x ^ 32), 3);
  if (threadIdx.x == 40) simt::store_relaxed(out, 3 + simt::load_relaxed(out));
  __syncthreads();
  if (threadIdx.x == 0) out[1] = simt::load_relaxed(out);
}

__global__ void many_choices(int* out) {
  for (int i = 0; i <= 20000; ++i) atomicAdd(out + i % 256, 1);
}

__global__ void waits_for_nobody(int* out) {
  while (simt::load_relaxed(out) == 0) continue;
}

// Steps of a thread of a small program on two words.
enum step_kind : int { step_load, step_store, step_add, step_add_unused, step_swap, step_compare_and_swap };
struct program_step {
  int kind, word, value;
};
constexpr int k_program_threads = 3, k_program_steps = 3;

__device__ int execute(const program_step& s, int* words) {
  int* const p = words + s.word;
  switch (s.kind) {
    case step_load: return simt::load_relaxed(p);
    case step_store: simt::store_relaxed(p, s.value); return 0;
    case step_add: return atomicAdd(p, s.value);
    case step_add_unused: atomicAdd(p, s.value); return 0;
    case step_swap: return atomicExch(p, s.value);
    default: return atomicCAS(p, 0, s.value);
  }
}

// A block of one thread for each thread of the program. out[0] and out[1] are the words; what step s of thread t has
// seen goes to out[2 + t * k_program_steps + s].
__global__ void small_program(const program_step* steps, int* out) {
  const int t = static_cast<int>(blockIdx.x);
  for (int s = 0; s < k_program_steps; ++s)
    out[2 + t * k_program_steps + s] = execute(steps[t * k_program_steps + s], out);
}

constexpr int k_words = 256;

// What the schedule finds out about a kernel over zeroed words.
simt::emulation explored(const std::string& schedule, dim3 grid, unsigned threads, void (*kernel)(int*),
                         std::vector<int>* out = nullptr) {
  simt::emulation stream;
  stream.schedule = simt::schedule::parse(schedule);
  device_array<int> memory(k_words);
  try {
    simt::launch({grid, threads, 0, &stream}, kernel, memory.data());
  } catch (const simt::device_error&) {  // the stream has the finding
  }
  if (out != nullptr) out->assign(memory.data(), memory.data() + memory.size());
  return stream;
}

struct explore_trial {
  const char* name;
  unsigned blocks, threads;
  // Without a flaw, and with each that it can have: 1 nothing acquires; 2 nothing is released; 3 fences of the block's
  // scope.
  std::vector<void (*)(int*)> kernels;
  unsigned long long least;  // classes
  unsigned long long outcomes;

  simt::emulation explored(const std::string& schedule, size_t flaw = 0, std::vector<int>* out = nullptr) const {
    return warpcheck::self::explored(schedule, blocks, threads, kernels[flaw], out);
  }
};

#define WITH_FLAWS(kernel) \
  { kernel<0>, kernel<1>, kernel<2>, kernel<3> }
const explore_trial k_trials[] = {
    {"tickets", 4, 1, {tickets}, 24, 24},
    {"histogram", 3, 32, {histogram<0>, histogram<1>}, 1, 1},
    {"ticket_lock", 3, 1, WITH_FLAWS(ticket_lock), 6, 6},
    {"last_block", 4, 1, WITH_FLAWS(last_block), 24, 1},
    {"grid_barrier", 3, 1, WITH_FLAWS(grid_barrier), 2, 1},
    {"look_back", 4, 1, WITH_FLAWS(look_back), 2, 1},
    {"readers_that_wait", 3, 1, {readers_that_wait}, 16, 16},
    {"barriers_of_blocks", 2, 64, {barriers_of_blocks}, 3, 3},
    {"warps_that_wait", 2, 32, {warps_that_wait}, 2, 1},
};

class explorations : public testing::TestWithParam<explore_trial> {};

TEST_P(explorations, run_every_class_of_a_correct_kernel) {
  const explore_trial& trial = GetParam();
  std::vector<int> fair, after;
  trial.explored("fair", 0, &fair);
  const simt::emulation stream = trial.explored("explore:100000", 0, &after);
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
  for (size_t flaw = 1; flaw < trial.kernels.size(); ++flaw) {
    const simt::emulation stream = trial.explored("explore:100000", flaw);
    ASSERT_FALSE(stream.ok()) << "flaw " << flaw;
    EXPECT_EQ(stream.findings.front().kind, "race") << "flaw " << flaw << ": " << stream.findings.front().text;
  }
}

TEST_P(explorations, stop_at_the_classes_that_the_schedule_allows) {
  const explore_trial& trial = GetParam();
  if (trial.least == 1) return;
  const simt::emulation stream = trial.explored("explore:1");
  EXPECT_EQ(stream.explored.classes, 1u);
  EXPECT_GE(stream.explored.left, 1u);
  EXPECT_EQ(stream.explored.launches, 0u);
}

INSTANTIATE_TEST_SUITE_P(kernels, explorations, testing::ValuesIn(k_trials),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(exploration, finds_a_race_that_a_thousand_random_schedules_miss) {
  const char* const strategies[] = {"random:", "pct_warp:", "preempt:", "pct:"};
  for (unsigned seed = 0; seed < 1000; ++seed) {
    const std::string schedule = strategies[seed % 4] + std::to_string(seed);
    ASSERT_TRUE(explored(schedule, 2, 1, one_order_of_many).ok()) << schedule;
  }
  const simt::emulation stream = explored("explore:2000", 2, 1, one_order_of_many);
  ASSERT_FALSE(stream.ok());
  EXPECT_EQ(stream.findings.front().kind, "race");
  EXPECT_GT(stream.explored.classes, 1u);
}

TEST(exploration, keeps_the_order_of_barriers) {
  std::vector<int> out;
  const simt::emulation stream = explored("explore:1", 1, 64, one_order, &out);
  ASSERT_TRUE(stream.ok()) << stream.findings.front().text;
  EXPECT_EQ(stream.explored.classes, 1u);
  EXPECT_EQ(stream.explored.left, 0u);
  EXPECT_EQ(out[1], 5);
}

TEST(exploration, reports_a_loop_that_waits_for_ever) {
  const simt::emulation stream = explored("explore:10", 1, 1, waits_for_nobody);
  ASSERT_FALSE(stream.ok());
  EXPECT_EQ(stream.findings.front().kind, "livelock");
}

TEST(exploration, needs_a_small_grid) {
  const simt::emulation stream = explored("explore:10", {13, 5}, 1, tickets);
  EXPECT_EQ(stream.explored.launches, 0u);
  ASSERT_EQ(stream.explored.obstacles.size(), 1u);
  EXPECT_NE(stream.explored.obstacles[0].find("64 blocks"), std::string::npos);
}

TEST(exploration, ends_at_a_run_with_too_many_choices) {
  const simt::emulation stream = explored("explore:10", 1, 1, many_choices);
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
    device_array<int> out(k_words);
    simt::emulation stream;
    stream.schedule = simt::schedule::parse("explore:100000");
    simt::launch({k_program_threads, 1, 0, &stream}, small_program, steps.data(), out.data());
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
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck::self
