// Counts of launches: barriers, and in the race flavour wavefronts of shared memory.
#include <gtest/gtest.h>

#include "simt/emulated_counts.hpp"
#include "tests/simt/counts_kernels.hpp"
#include "tests/simt/device_array.hpp"

namespace warpcheck::self {
namespace {

TEST(Counts, AreThoseOfAllBlocksAndWarps) {
  for (const counted_kernel& k : k_counted_kernels)
    for (const char* schedule : {"fair", "greedy", "random:1"}) {
      simt::emulation stream;
      stream.schedule = simt::schedule::parse(schedule);
      device_array<int> out(128);
      simt::count_launches(&stream);
      k.run(out.data(), &stream);
      const simt::launch_counts counts = simt::take_launch_counts();
      EXPECT_EQ(counts.barriers, 2 * k.barriers) << k.name << ", " << schedule;
#ifdef SIMT_TEST_RACE
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
  k_counted_kernels[0].run(out.data(), &other);
  EXPECT_EQ(simt::take_launch_counts().barriers, 0u);
  simt::count_launches(nullptr);
  k_counted_kernels[0].run(out.data(), &counted);
  EXPECT_EQ(simt::take_launch_counts().barriers, 0u);
}

}  // namespace
}  // namespace warpcheck::self
