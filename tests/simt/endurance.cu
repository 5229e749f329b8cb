// LAUNCHES SWITCHES BLOCKS: memory stays constant over that many launches; one launch of 64 resident blocks of 1024
// threads survives that many switches, and one of so many blocks has as many threads.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "simt/emulation.hpp"
#include "simt/simt.hpp"
#include "tests/simt/arguments.hpp"
#include "tests/simt/device_array.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {
namespace {

__global__ void count(int* counter) { atomicAdd(counter, 1); }

__global__ void barriers(int n) {
  for (int i = 0; i < n; ++i) __syncthreads();
}

__global__ void sum_and_share(const int* in, int* out) {
  SIMT_SHARED(s, int[64]);
  const int t = static_cast<int>(threadIdx.x);
  s[t] = in[t];
  __syncthreads();
  int total = 0;
  for (int d = 16; d > 0; d >>= 1) total += __shfl_xor_sync(0xffffffffu, s[63 - t], d);
  __threadfence();
  atomicAdd(out, total);
}

size_t resident_bytes() {
  size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * 4096;
}

TEST(Endurance, OfManyLaunches) {
  const long launches = std::stol(arguments.at(0));
  const char* const schedules[] = {"fair", "greedy", "reverse", "random:1", "preempt:1", "pct:1", "pct_warp:1"};
  size_t settled = 0;
  for (long i = 0; i < launches; ++i) {
    simt::emulation stream;
    stream.schedule = simt::schedule::parse(schedules[i % 7]);
    device_array<int> in(64), out(1);
    for (size_t k = 0; k < 64; ++k) in[k] = 1;
    simt::launch({2, 64, 0, &stream}, sum_and_share, in.data(), out.data());
    ASSERT_EQ(out[0], 2 * 64 * 5) << "launch " << i;
    if (i == launches / 10) settled = resident_bytes();
  }
  const size_t grown = resident_bytes() > settled ? resident_bytes() - settled : 0;
  std::printf("%ld launches: %zu KiB more at the end than after a tenth of them\n", launches, grown / 1024);
  EXPECT_LE(grown, size_t{1} << 20);
}

TEST(Endurance, OfManySwitches) {
  const long switches = std::stol(arguments.at(1));
  simt::emulation stream;
  stream.resident_blocks = 64;
  simt::launch({64, 1024, 0, &stream}, barriers, switches / (64 * 1024));
  std::printf("%llu switches among 64 x 1024 threads\n", static_cast<unsigned long long>(stream.switches));
  EXPECT_GE(stream.switches + 64 * 1024, static_cast<uint64_t>(switches));
}

TEST(Endurance, OfManyBlocks) {
  const auto blocks = static_cast<unsigned>(std::stol(arguments.at(2)));
  device_array<int> counter(1);
  simt::launch({blocks, 2, 0, nullptr}, count, counter.data());
  EXPECT_EQ(static_cast<unsigned>(counter[0]), 2 * blocks);
}

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck::self
