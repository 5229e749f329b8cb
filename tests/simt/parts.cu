// A launch in parts has the results of the same launch in one process, or its finding.
#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

#include "simt/emulated/parts.hpp"
#include "simt/emulation.hpp"
#include "simt/simt.hpp"
#include "tests/simt/device_array.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {

constexpr unsigned k_blocks = 96;
// What a late block of a launch does beside the work of all.
enum class extra : int {
  nothing,
  reads_first,    // the output of the first block
  writes_first,   // the same
  leaves_bounds,  // by a write far behind the buffers
  diverges,       // at barriers
  asks,           // one warp for a word of the other, again and again
  counts,         // by an atomic on device memory
  swaps,          // by another one, whose result depends on the order
  prints,
  writes_host,
};

constexpr int k_part_threads = 64;

// Each block exchanges its part of `in` through shared memory, and writes 64 words.
__device__ void exchange_and_store(const int* in, int* out) {
  SIMT_SHARED(slots, int[k_part_threads]);
  const int t = static_cast<int>(threadIdx.x), first = static_cast<int>(blockIdx.x) * k_part_threads;
  int sum = 0;
  for (int round = 0; round < 4; ++round) {
    slots[t] = in[first + t] + round;
    __syncthreads();
    sum += slots[k_part_threads - 1 - t];
    __syncthreads();
  }
  out[first + t] = sum;
}

// The second warp asks until the first has answered.
__device__ void ask_other_warp() {
  SIMT_SHARED(answer, int[1]);
  volatile int* const word = answer;
  if (threadIdx.x == 0) *word = 0;
  __syncthreads();
  if (threadIdx.x == 0) *word = 1;
  while (threadIdx.x >= 32 && *word == 0) __syncwarp();
}

__global__ void exchange(const int* in, int* out, extra what, int* host) {
  exchange_and_store(in, out);
  if (blockIdx.x + 2 != gridDim.x) return;
  if (what == extra::diverges) {
    if (threadIdx.x < 32)
      __syncthreads();
    else
      __syncwarp(~0u << (threadIdx.x % 2));
  }
  if (what == extra::asks) ask_other_warp();
  if (threadIdx.x != 0) return;
  const int own = static_cast<int>(blockIdx.x) * k_part_threads;
  if (what == extra::reads_first) out[own] = out[5];
  if (what == extra::writes_first) out[5] = 7;
  if (what == extra::leaves_bounds) out[own + 100 * k_part_threads] = 1;
  if (what == extra::counts) atomicAdd(&out[own], 1);
  if (what == extra::swaps) atomicExch(&out[own], 1);
  if (what == extra::prints) std::printf("block %u\n", blockIdx.x);
  if (what == extra::writes_host) *host = 1;
}

// Byte i of `out` becomes the block i % blocks, which writes it.
__global__ void scatter(unsigned char* out) {
  out[threadIdx.x * gridDim.x + blockIdx.x] = static_cast<unsigned char>(blockIdx.x);
}

// Each of the two blocks of a cluster exchanges with the other.
__global__ void exchange_in_cluster(const int* in, int* out) {
  SIMT_SHARED(slots, int[k_part_threads]);
  const auto t = threadIdx.x, first = blockIdx.x * k_part_threads;
  slots[t] = in[first + t];
  simt::cluster_sync();
  out[first + t] = *simt::map_shared_rank(&slots[t], simt::cluster_rank() ^ 1);
  simt::cluster_sync();
}

// Each block updates 4 words by each operation that commutes, and both words of `sums`. `of_block`: the first block and
// a late one also update words[32], one of them in the scope of its block.
__global__ void update(unsigned* words, unsigned long long* sums, bool of_block) {
  const unsigned t = threadIdx.x % 4, value = blockIdx.x * 2654435761u + threadIdx.x;
  atomicAdd(&words[t], value);
  atomicSub(&words[t], value / 2);
  atomicMin(&words[4 + t], value);
  atomicMin(reinterpret_cast<int*>(&words[8 + t]), static_cast<int>(value));
  atomicMax(&words[12 + t], value);
  atomicMax(reinterpret_cast<int*>(&words[16 + t]), static_cast<int>(value));
  atomicAnd(&words[20 + t], value | 0xff);
  atomicOr(&words[24 + t], value & 0x0f0f0f0f);
  atomicXor(&words[28 + t], value);
  atomicAdd(&sums[0], static_cast<unsigned long long>(value) << 16);
  atomicMax(&sums[1], static_cast<unsigned long long>(value) << 30);
  if (!of_block || threadIdx.x != 0) return;
  if (blockIdx.x == 0) atomicAdd(&words[32], 1);
  if (blockIdx.x + 2 == gridDim.x) atomicAdd_block(&words[32], 1);
}

__global__ void increment(const int* in, int* out) {
  simt::grid_dependency_wait();
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] + 1;
}

namespace {

#ifdef SIMT_FLAVOUR_RACE
constexpr bool k_race = true;
#else
constexpr bool k_race = false;
#endif

simt::emulation stream_of(unsigned processes) {
  simt::set_least_time_for_parts(0);
  simt::emulation stream;
  stream.processes = processes;
  return stream;
}

simt::launch_config all_blocks(simt::emulation& stream) { return {k_blocks, k_part_threads, 0, &stream}; }

struct outcome {
  simt::emulation stream;
  std::vector<int> out;
  int host = 0;
};

outcome exchange_with(extra what, unsigned processes) {
  outcome o = {stream_of(processes), {}, 0};
  device_array<int> in(k_blocks * k_part_threads), out(in.size());
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i * i % 1009);
  simt::mark_uninitialized(out.data(), out.size() * sizeof(int));
  try {
    simt::launch(all_blocks(o.stream), exchange, in.data(), out.data(), what, &o.host);
  } catch (const simt::device_error&) {  // the stream has the finding
  }
  EXPECT_EQ(simt::device_check(out.data()), INT64_MIN);
  EXPECT_TRUE(!o.stream.ok() || simt::count_unwritten(out.data(), out.size() * sizeof(int)).count == 0);
  for (size_t i = 0; i < out.size(); ++i) o.out.push_back(out[i]);
  return o;
}

TEST(parts, leave_the_results_of_one_process) {
  const outcome alone = exchange_with(extra::nothing, 1);
  for (unsigned processes : {2u, 3u, 7u}) {
    const outcome together = exchange_with(extra::nothing, processes);
    ASSERT_TRUE(together.stream.ok()) << together.stream.findings.front().text;
    EXPECT_EQ(together.stream.launches_in_parts, 1u);
    EXPECT_EQ(together.out, alone.out);
    EXPECT_EQ(together.stream.accesses, alone.stream.accesses);
    EXPECT_EQ(together.stream.certified, alone.stream.certified);
  }
  EXPECT_EQ(alone.stream.launches_in_parts, 0u);
  EXPECT_EQ(alone.stream.certified, k_race ? 1u : 0u);
}

#ifndef SIMT_FLAVOUR_RACE

TEST(parts, let_a_warp_ask_for_what_another_writes) {
  const outcome together = exchange_with(extra::asks, 2);
  ASSERT_TRUE(together.stream.ok()) << together.stream.findings.front().text;
  EXPECT_EQ(together.stream.launches_in_parts, 1u);
  EXPECT_LT(together.stream.steps, 100'000u);
}

#endif

TEST(parts, do_not_lose_the_neighbours_of_a_byte) {
  device_array<unsigned char> out(size_t{k_blocks} * k_part_threads);
  simt::emulation stream = stream_of(3);
  simt::launch(all_blocks(stream), scatter, out.data());
  EXPECT_EQ(stream.launches_in_parts, 1u);
  for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i % k_blocks) << i;
}

TEST(parts, keep_clusters_together) {
  device_array<int> in(k_blocks * k_part_threads), out(in.size());
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i);
  simt::emulation stream = stream_of(2);
  simt::launch({k_blocks, k_part_threads, 0, &stream, 2}, exchange_in_cluster, in.data(), out.data());
  EXPECT_EQ(stream.launches_in_parts, 1u);
  for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], static_cast<int>(i ^ k_part_threads)) << i;
}

TEST(parts, end_with_the_finding_of_one_process) {
  for (const extra what : {extra::reads_first, extra::writes_first, extra::leaves_bounds, extra::diverges}) {
    const outcome alone = exchange_with(what, 1), together = exchange_with(what, 3);
    if (!k_race && alone.stream.ok()) continue;  // it sees no race
    ASSERT_FALSE(alone.stream.ok());
    ASSERT_FALSE(together.stream.ok());
    EXPECT_EQ(together.stream.findings.front().text, alone.stream.findings.front().text);
    EXPECT_EQ(together.stream.launches_in_parts, 0u);
    EXPECT_EQ(together.out, alone.out);
  }
}

TEST(parts, leave_atomics_to_one_process_unless_they_commute) {
  for (const extra what : {extra::counts, extra::swaps}) {
    const outcome alone = exchange_with(what, 1), together = exchange_with(what, 2);
    const bool commutes = k_race && what == extra::counts;  // plain does not see whether their results are used
    ASSERT_TRUE(together.stream.ok());
    EXPECT_EQ(together.stream.launches_in_parts, commutes ? 1u : 0u);
    EXPECT_EQ(together.stream.parts_in_vain, commutes ? 0u : 1u);
    EXPECT_EQ(together.out, alone.out);
  }
}

TEST(parts, print_once) {
  testing::internal::CaptureStdout();
  std::printf("before, ");
  const outcome together = exchange_with(extra::prints, 3);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "before, block 94\n");
  EXPECT_EQ(together.stream.launches_in_parts, 0u);
}

TEST(parts, do_not_pay_off_in_short_launches_or_under_other_orders) {
  device_array<unsigned char> out(size_t{k_blocks} * k_part_threads);
  simt::emulation stream = stream_of(3);
  simt::set_least_time_for_parts(100);
  simt::launch(all_blocks(stream), scatter, out.data());
  simt::set_least_time_for_parts(0);
  for (const char* schedule : {"greedy", "reverse", "random:1"}) {
    stream.schedule = simt::schedule::parse(schedule);
    simt::launch(all_blocks(stream), scatter, out.data());
  }
  EXPECT_EQ(stream.launches_in_parts + stream.parts_in_vain, 0u);
}

#ifdef SIMT_FLAVOUR_RACE

TEST(parts, do_not_lose_what_a_kernel_writes_to_the_host) {
  const outcome together = exchange_with(extra::writes_host, 3);
  ASSERT_TRUE(together.stream.ok());
  EXPECT_EQ(together.host, 1);
  EXPECT_EQ(together.stream.launches_in_parts, 0u);
}

struct updates {
  device_array<unsigned> words{33};
  device_array<unsigned long long> sums{2};
  simt::emulation stream;

  updates(unsigned processes, bool of_block) : stream(stream_of(processes)) {
    for (unsigned i = 0; i < words.size(); ++i) words[i] = 0x12345678u * (i + 1);
    sums[0] = sums[1] = 1234567;
    try {
      simt::launch(all_blocks(stream), update, words.data(), sums.data(), of_block);
    } catch (const simt::device_error&) {  // the stream has the finding
    }
  }
};

TEST(parts, join_updates_that_commute) {
  updates alone(1, false), together(3, false);
  ASSERT_TRUE(together.stream.ok());
  EXPECT_EQ(together.stream.launches_in_parts, 1u);
  EXPECT_EQ(together.stream.certified, 1u);
  for (size_t i = 0; i < alone.words.size(); ++i) EXPECT_EQ(together.words[i], alone.words[i]) << i;
  for (size_t i = 0; i < alone.sums.size(); ++i) EXPECT_EQ(together.sums[i], alone.sums[i]) << i;
}

TEST(parts, find_the_race_of_updates_in_the_scope_of_a_block) {
  updates alone(1, true), together(3, true);
  ASSERT_FALSE(alone.stream.ok());
  ASSERT_FALSE(together.stream.ok());
  EXPECT_EQ(together.stream.findings.front().text, alone.stream.findings.front().text);
}

// Standard output is a file, so that the position in it shows what a launch prints.
struct repeats : testing::Test {
  void SetUp() override { testing::internal::CaptureStdout(); }
  void TearDown() override { testing::internal::GetCapturedStdout(); }
};

TEST_F(repeats, are_left_out_until_memory_changes) {
  device_array<int> in(k_blocks * k_part_threads), out(in.size());
  simt::emulation stream;
  stream.skips_repeats = true;
  const auto expect_left_out = [&](uint64_t launches) {
    simt::launch(all_blocks(stream), exchange, in.data(), out.data(), extra::nothing, nullptr);
    EXPECT_EQ(stream.launches_left_out, launches);
    EXPECT_EQ(stream.certified, stream.launches);
    for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], 4 * in[i ^ (k_part_threads - 1)] + 6) << i;
  };
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i);
  for (const uint64_t launches : {0, 0, 1, 2}) expect_left_out(launches);
  in[7] = 1000;
  for (const uint64_t launches : {2, 2, 3}) expect_left_out(launches);
  out[5] = 1000;
  for (const uint64_t launches : {3, 3, 4}) expect_left_out(launches);
  const device_array<int> another(4);
  for (const uint64_t launches : {4, 4, 5}) expect_left_out(launches);
  stream.schedule = simt::schedule::parse("replay:fair.12-29");
  expect_left_out(5);
  EXPECT_EQ(stream.launches, 14u);
}

TEST_F(repeats, are_none_of_what_a_launch_changes) {
  updates once(1, false);
  once.stream.skips_repeats = true;
  const unsigned before = once.words[28];
  for (int i = 0; i < 5; ++i) simt::launch(all_blocks(once.stream), update, once.words.data(), once.sums.data(), false);
  EXPECT_EQ(once.stream.launches_left_out, 0u);
  EXPECT_NE(once.words[28], before);
}

TEST_F(repeats, print_and_write_to_the_host_every_time) {
  for (const extra what : {extra::prints, extra::writes_host, extra::swaps}) {
    device_array<int> in(k_blocks * k_part_threads), out(in.size());
    for (size_t i = 0; i < in.size(); ++i) in[i] = 0;
    simt::emulation stream;
    stream.skips_repeats = true;
    int host = 0;
    for (int i = 0; i < 5; ++i) simt::launch(all_blocks(stream), exchange, in.data(), out.data(), what, &host);
    EXPECT_TRUE(stream.ok());
    EXPECT_EQ(stream.launches_left_out, 0u);
  }
}

// The accesses of parts are not known one by one, and a race with them may go unseen.
TEST(parts, deny_a_certificate_to_a_launch_that_may_overlap_them) {
  device_array<int> in(k_blocks * k_part_threads), out(in.size());
  for (unsigned processes : {1u, 2u}) {
    simt::emulation stream = stream_of(processes);
    simt::launch(all_blocks(stream), exchange, in.data(), out.data(), extra::nothing, nullptr);
    simt::launch({k_blocks, k_part_threads, 0, &stream, 1, false, true}, increment, out.data(), in.data());
    EXPECT_TRUE(stream.ok());
    EXPECT_EQ(stream.certified, processes == 1 ? 2u : 1u);
  }
}

#endif

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck::self
