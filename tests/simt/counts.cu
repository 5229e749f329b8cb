// Counts of launches: barriers, and in the race flavour wavefronts of shared memory.
#include <gtest/gtest.h>

#include "simt/emulated_counts.hpp"
#include "simt/emulation.hpp"
#include "simt/simt.hpp"
#include "tests/simt/device_array.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {
namespace {

// A store in a row of words, and a load `Stride` words apart: Stride lanes share a bank where it divides 32.
template <int Stride>
__global__ void strided(int* out) {
  SIMT_SHARED(words, int[64 * Stride]);
  for (int i = 0; i < Stride; ++i) words[i * 64 + threadIdx.x] = 1;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = words[threadIdx.x * Stride];
}

// All lanes of a warp load one word.
__global__ void same_word(int* out) {
  SIMT_SHARED(words, int[64]);
  words[threadIdx.x] = 1;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = words[threadIdx.x / 32];
  __syncthreads();
}

// 8 bytes of a lane are neighbours: two parts of 16 lanes, each in one wavefront.
__global__ void doubles(int* out) {
  SIMT_SHARED(pairs, double[64]);
  pairs[threadIdx.x] = 1;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = static_cast<int>(pairs[63 - threadIdx.x]);
}

// ---- what they are

struct counted_kernel {
  const char* name;
  void (*kernel)(int* out);        // 2 blocks of 64 threads; `out`: 128 words
  unsigned barriers;               // of a block
  unsigned wavefronts, conflicts;  // of a warp
};

const counted_kernel k_counted_kernels[] = {
    {"neighbours", strided<1>, 1, 2, 0},       {"two in a bank", strided<2>, 1, 4, 1},
    {"all in a bank", strided<32>, 1, 64, 31}, {"one word", same_word, 2, 2, 0},
    {"two words of a lane", doubles, 1, 4, 0},
};

TEST(Counts, AreThoseOfAllBlocksAndWarps) {
  for (const counted_kernel& k : k_counted_kernels)
    for (const char* schedule : {"fair", "greedy", "random:1"}) {
      simt::emulation stream;
      stream.schedule = simt::schedule::parse(schedule);
      device_array<int> out(128);
      simt::count_launches(&stream);
      simt::launch({2, 64, 0, &stream}, k.kernel, out.data());
      const simt::launch_counts counts = simt::take_launch_counts();
      EXPECT_EQ(counts.barriers, 2 * k.barriers) << k.name << ", " << schedule;
#ifdef SIMT_FLAVOUR_RACE
      EXPECT_EQ(counts.wavefronts, 4 * k.wavefronts) << k.name << ", " << schedule;
      EXPECT_EQ(counts.wavefronts - counts.least_wavefronts, 4 * k.conflicts) << k.name << ", " << schedule;
#endif
    }
  simt::count_launches(nullptr);
}

TEST(Counts, AreOfTheStreamThatIsCounted) {
  simt::emulation counted, other;
  device_array<int> out(128);
  simt::count_launches(&counted);
  simt::launch({2, 64, 0, &other}, same_word, out.data());
  EXPECT_EQ(simt::take_launch_counts().barriers, 0u);
  simt::count_launches(nullptr);
  simt::launch({2, 64, 0, &counted}, same_word, out.data());
  EXPECT_EQ(simt::take_launch_counts().barriers, 0u);
}

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck::self
