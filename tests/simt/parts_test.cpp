// A launch in parts has the results of the same launch in one process, or its finding.
#include <gtest/gtest.h>

#include <vector>

#include "simt/emulated/parts.hpp"
#include "simt/emulation.hpp"
#include "simt/error.hpp"
#include "tests/simt/device_array.hpp"
#include "tests/simt/parts_kernels.hpp"

namespace warpcheck::self {
namespace {

#ifdef SIMT_TEST_RACE
constexpr bool k_race = true;
#else
constexpr bool k_race = false;
#endif
constexpr unsigned k_blocks = 96;

simt::emulation stream_of(unsigned processes) {
  simt::set_least_time_for_parts(0);
  simt::emulation stream;
  stream.processes = processes;
  return stream;
}

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
    run_exchange(in.data(), out.data(), k_blocks, what, &o.host, &o.stream);
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

#ifndef SIMT_TEST_RACE

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
  run_scatter(out.data(), k_blocks, &stream);
  EXPECT_EQ(stream.launches_in_parts, 1u);
  for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i % k_blocks) << i;
}

TEST(parts, keep_clusters_together) {
  device_array<int> in(k_blocks * k_part_threads), out(in.size());
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i);
  simt::emulation stream = stream_of(2);
  run_clusters(in.data(), out.data(), k_blocks, &stream);
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
  run_scatter(out.data(), k_blocks, &stream);
  simt::set_least_time_for_parts(0);
  for (const char* schedule : {"greedy", "reverse", "random:1"}) {
    stream.schedule = simt::schedule::parse(schedule);
    run_scatter(out.data(), k_blocks, &stream);
  }
  EXPECT_EQ(stream.launches_in_parts + stream.parts_in_vain, 0u);
}

#ifdef SIMT_TEST_RACE

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
      run_updates(words.data(), sums.data(), k_blocks, of_block, &stream);
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
    run_exchange(in.data(), out.data(), k_blocks, extra::nothing, nullptr, &stream);
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
  for (int i = 0; i < 5; ++i) run_updates(once.words.data(), once.sums.data(), k_blocks, false, &once.stream);
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
    for (int i = 0; i < 5; ++i) run_exchange(in.data(), out.data(), k_blocks, what, &host, &stream);
    EXPECT_TRUE(stream.ok());
    EXPECT_EQ(stream.launches_left_out, 0u);
  }
}

// The accesses of parts are not known one by one, and a race with them may go unseen.
TEST(parts, deny_a_certificate_to_a_launch_that_may_overlap_them) {
  device_array<int> in(k_blocks * k_part_threads), out(in.size());
  for (unsigned processes : {1u, 2u}) {
    simt::emulation stream = stream_of(processes);
    run_exchange(in.data(), out.data(), k_blocks, extra::nothing, nullptr, &stream);
    run_overlapping(out.data(), in.data(), k_blocks, &stream);
    EXPECT_TRUE(stream.ok());
    EXPECT_EQ(stream.certified, processes == 1 ? 2u : 1u);
  }
}

#endif

}  // namespace
}  // namespace warpcheck::self
