// Schedules: tokens, determinism, replay, shrinking, and what stops a launch that would not end.
#include "bench/sample_kernels.hpp"
#include "simt/simt.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {

// A lost update between two atomics: only a switch inside the pair shows it.
__global__ void read_then_exchange(int* counter) {
  const int seen = atomicAdd(counter, 0);
  atomicExch(counter, seen + 1);
}

// The order in which threads pass the atomic, as text for comparing runs.
__global__ void arrival_order(int* next, int* order) {
  for (int round = 0; round < 3; ++round) {
    order[atomicAdd(next, 1)] = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    __syncthreads();
  }
}

// In each round it asks all flags.
__device__ bool is_set(const int* flags, int count) {
  bool all = true;
  for (int i = 0; i < count; ++i) all &= simt::load_relaxed(flags + i) != 0;
  return all;
}

__global__ void spin_for_ever(const int* flags, int count, int* out) {
  while (!is_set(flags, count)) {
  }
  *out = 1;
}

// Two blocks hand a token to and fro without end: memory changes, yet nothing is achieved.
__global__ void ping_pong(int* token) {
  for (;;) atomicExch(token, static_cast<int>(blockIdx.x));
}

__global__ void wait_for_other_block(int* flags, int count, int* out) {
  if (blockIdx.x == 0) {
    while (!is_set(flags, count)) {
    }
    out[threadIdx.x] = simt::load_acquire(flags);
  } else {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < count) simt::store_release(flags + threadIdx.x, 1);
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck::self

#ifndef __CUDACC__

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "simt/emulated/executor.hpp"
#include "simt/emulation.hpp"
#include "tests/simt/device_array.hpp"

namespace warpcheck::self {
namespace {

// The published generator, whose first numbers from state 0 are widely quoted: a seed means the same schedule
// everywhere.
TEST(random_stream, is_splitmix64) {
  simt::emu::random_stream stream;
  for (const uint64_t expected : {0xe220a8397b1dcdafull, 0x6e789e6aa1b965f4ull, 0x06c45d188009454full})
    EXPECT_EQ(stream.next(), expected);
}

TEST(schedule_token, round_trips) {
  for (const char* token :
       {"fair", "greedy", "reverse", "random:42", "preempt:0", "pct:18446744073709551615", "pct_warp:7", "replay:fair",
        "replay:greedy.12-29.140-3", "replay:fair@0012abcd.1-0.99999999999-4294967295"})
    EXPECT_EQ(simt::schedule::parse(token).to_string(), token);
}

TEST(schedule_token, rejects_what_it_does_not_understand) {
  for (const char* token : {"",
                            "fast",
                            "fair:1",
                            "random",
                            "random:",
                            "random:x",
                            "random:-1",
                            "random:1x",
                            "random:18446744073709551616",
                            "replay:",
                            "replay:pct",
                            "replay:fair@12",
                            "replay:fair@0012abcg",
                            "replay:fair.",
                            "replay:fair.1",
                            "replay:fair.1-",
                            "replay:fair.1-2-3",
                            "replay:fair.2-1.1-1",
                            "replay:fair.1-1.1-2",
                            "replay:fair.1-4294967296",
                            "replay:fair.1-1."})
    EXPECT_THROW(simt::schedule::parse(token), std::invalid_argument) << token;
}

std::vector<int> arrivals(simt::emulation& stream) {
  device_array<int> next(1), order(6 * 40 * 3);
  simt::launch({6, 40, 0, &stream}, arrival_order, next.data(), order.data());
  std::vector<int> result;
  for (size_t i = 0; i < order.size(); ++i) result.push_back(order[i]);
  return result;
}

class every_seeded : public testing::TestWithParam<const char*> {};

TEST_P(every_seeded, same_seed_same_order_and_replay_repeats_it) {
  simt::emulation stream;
  stream.schedule = simt::schedule::parse(std::string(GetParam()) + ":5");
  stream.resident_blocks = 3;
  stream.record = true;
  const std::vector<int> first = arrivals(stream);
  const simt::schedule recorded = stream.recorded_schedule();
  const uint64_t steps = stream.steps;

  stream.clear();
  EXPECT_EQ(arrivals(stream), first);
  EXPECT_EQ(stream.recorded_schedule(), recorded);
  EXPECT_FALSE(recorded.deviations.empty());

  simt::emulation replay;
  replay.schedule = simt::schedule::parse(recorded.to_string());
  replay.resident_blocks = 3;
  replay.record = true;
  EXPECT_EQ(arrivals(replay), first);
  EXPECT_EQ(replay.steps, steps);
  EXPECT_FALSE(replay.applied_deviations.empty());

  simt::emulation other;
  other.schedule = simt::schedule::parse(std::string(GetParam()) + ":6");
  other.resident_blocks = 3;
  EXPECT_NE(arrivals(other), first);
}

TEST_P(every_seeded, a_second_launch_differs_from_the_first) {
  simt::emulation stream;
  stream.schedule = simt::schedule::parse(std::string(GetParam()) + ":5");
  const std::vector<int> first = arrivals(stream);
  EXPECT_NE(arrivals(stream), first);
}

INSTANTIATE_TEST_SUITE_P(strategies, every_seeded, testing::Values("random", "preempt", "pct", "pct_warp"),
                         [](const auto& info) { return std::string(info.param); });

TEST(fixed_orders, differ_from_each_other) {
  simt::emulation fair, reverse;
  reverse.schedule.strategy = simt::strategy::reverse;
  const std::vector<int> forward = arrivals(fair), backward = arrivals(reverse);
  EXPECT_EQ(forward.front(), 0);
  EXPECT_EQ(backward.front(), 6 * 40 - 1);
}

// The softmax of two rows of 300; true if every element is right.
class softmax_case {
 public:
  explicit softmax_case(bool trailing_barrier) : trailing_barrier_(trailing_barrier), in_(600), out_(600) {
    for (size_t i = 0; i < 600; ++i) in_[i] = static_cast<float>(std::sin(static_cast<double>(i)) * 3);
  }
  bool passes(simt::emulation& stream) {
    simt::launch({2, 128, 0, &stream}, trailing_barrier_ ? softmax_rows<true> : softmax_rows<false>, in_.data(),
                 out_.data(), 300);
    for (size_t row = 0; row < 2; ++row) {
      double sum = 0;
      for (size_t c = 0; c < 300; ++c) sum += std::exp(static_cast<double>(in_[row * 300 + c]));
      for (size_t c = 0; c < 300; ++c) {
        const double expected = std::exp(static_cast<double>(in_[row * 300 + c])) / sum;
        // Two exponentials, a division and a sum in 10 levels stay below 32 units of roundoff: 2^-19.
        if (!(std::fabs(static_cast<double>(out_[row * 300 + c]) - expected) <= 0x1p-19 * expected)) return false;
      }
    }
    return true;
  }

 private:
  bool trailing_barrier_;
  device_array<float> in_, out_;
};

TEST(trailing_barrier_softmax, is_found_by_value_and_replayed) {
  softmax_case buggy(false), correct(true);
  simt::emulation greedy;
  greedy.schedule.strategy = simt::strategy::greedy;
  greedy.detect = false;
  EXPECT_FALSE(buggy.passes(greedy));
  EXPECT_TRUE(correct.passes(greedy));

  int found = 0;
  simt::schedule failing;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    simt::emulation stream;
    stream.schedule = simt::schedule::parse("pct_warp:" + std::to_string(seed));
    stream.record = true;
    stream.detect = false;
    const bool passes = buggy.passes(stream);
    found += !passes;
    if (!passes && failing.deviations.empty()) failing = stream.recorded_schedule();
    stream.clear();
    EXPECT_TRUE(correct.passes(stream));
  }
  EXPECT_GE(found, 45);

  simt::emulation replayed;
  replayed.schedule = failing;
  replayed.record = true;
  replayed.detect = false;
  EXPECT_FALSE(buggy.passes(replayed));
  const std::vector<std::string>& applied = replayed.applied_deviations;
  EXPECT_TRUE(std::any_of(applied.begin(), applied.end(), [](const std::string& text) {
    return text.find("sample_kernels.hpp:") != std::string::npos;
  }));
}

TEST(preemption, shows_a_lost_update_that_sync_points_do_not) {
  const auto loses = [](const simt::schedule& s, simt::schedule* recorded) {
    simt::emulation stream;
    stream.schedule = s;
    stream.record = true;
    device_array<int> counter(1);
    simt::launch({1, 64, 0, &stream}, read_then_exchange, counter.data());
    if (recorded != nullptr) *recorded = stream.recorded_schedule();
    return counter[0] != 64;
  };
  for (const char* token : {"fair", "greedy", "reverse", "random:1", "random:2"})
    EXPECT_FALSE(loses(simt::schedule::parse(token), nullptr)) << token;
  simt::schedule recorded;
  ASSERT_TRUE(loses(simt::schedule::parse("preempt:1"), &recorded));
  EXPECT_TRUE(recorded.counts_accesses);
  EXPECT_TRUE(loses(recorded, nullptr));

  simt::schedule foreign = recorded;
  ++foreign.build;
  EXPECT_THROW(loses(foreign, nullptr), simt::device_error);
  foreign.build = 0;
  EXPECT_TRUE(loses(foreign, nullptr));
}

template <class... Parameters, class... Arguments>
std::string stops_with(simt::emulation& stream, unsigned threads, void (*kernel)(Parameters...),
                       Arguments... arguments) {
  EXPECT_THROW(simt::launch({2, threads, 0, &stream}, kernel, arguments...), simt::device_error);
  EXPECT_EQ(stream.findings.size(), 1u);
  return stream.findings.empty() ? "" : stream.findings.front().kind;
}

TEST(endless, spins_and_exchanges_are_livelocks_under_every_strategy) {
  for (const char* token : {"fair", "greedy", "reverse", "random:1", "preempt:1", "pct:1", "pct_warp:1"}) {
    simt::emulation stream;
    stream.schedule = simt::schedule::parse(token);
    device_array<int> flags(5), out(1), counter(1), token_word(1);
    EXPECT_EQ(stops_with(stream, 64, spin_for_ever, flags.data(), 1, out.data()), "livelock");
    // Until it is cleared, the stream refuses work.
    EXPECT_THROW(simt::launch({1, 64, 0, &stream}, read_then_exchange, counter.data()), simt::device_error);
    EXPECT_EQ(stream.findings.size(), 1u);
    stream.clear();
    EXPECT_NO_THROW(simt::launch({1, 64, 0, &stream}, read_then_exchange, counter.data()));

    EXPECT_EQ(stops_with(stream, 64, spin_for_ever, flags.data(), 5, out.data()), "livelock");

    simt::emulation busy;
    busy.schedule = simt::schedule::parse(token);
    busy.step_limit = 100000;
    EXPECT_EQ(stops_with(busy, 1, ping_pong, token_word.data()), "livelock");
  }
}

TEST(endless, waiting_for_a_block_that_is_resident_ends) {
  for (const char* token :
       {"fair", "greedy", "reverse", "random:1", "preempt:1", "pct:1", "pct:2", "pct_warp:1", "pct_warp:2"}) {
    simt::emulation stream;
    stream.schedule = simt::schedule::parse(token);
    for (const int flags_asked : {1, 2, 5}) {
      device_array<int> flags(flags_asked), out(64);
      simt::launch({2, 64, 0, &stream}, wait_for_other_block, flags.data(), flags_asked, out.data());
      EXPECT_EQ(out[63], 1) << flags_asked << " flags under " << token;
    }
  }
}

}  // namespace
}  // namespace warpcheck::self

#endif
