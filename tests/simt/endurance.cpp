// simt_endurance LAUNCHES SWITCHES: memory stays constant over that many launches, and one launch of 64 resident blocks
// of 1024 threads survives that many switches. Exit code 0, or 1 with a sentence.
#include <cstdint>
#include <cstdio>
#include <fstream>

#include "simt/emulation.hpp"
#include "tests/simt/device_array.hpp"
#include "tests/simt/host_kernels.hpp"

namespace {

size_t resident_bytes() {
  size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * 4096;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const long launches = std::atol(argv[1]), switches = std::atol(argv[2]);
  const char* const schedules[] = {"fair", "greedy", "reverse", "random:1", "preempt:1", "pct:1", "pct_warp:1"};
  size_t settled = 0;
  for (long i = 0; i < launches; ++i) {
    simt::emulation stream;
    stream.schedule = simt::schedule::parse(schedules[i % 7]);
    warpcheck::self::device_array<int> in(64), out(1);
    for (size_t k = 0; k < 64; ++k) in[k] = 1;
    warpcheck::self::run_sum_and_share(in.data(), out.data(), &stream);
    if (out[0] != 2 * 64 * 5) {
      std::printf("launch %ld computed %d\n", i, out[0]);
      return 1;
    }
    if (i == launches / 10) settled = resident_bytes();
  }
  const size_t grown = resident_bytes() > settled ? resident_bytes() - settled : 0;
  std::printf("%ld launches: %zu KiB more at the end than after a tenth of them\n", launches, grown / 1024);
  if (grown > size_t{1} << 20) return 1;

  simt::emulation stream;
  stream.resident_blocks = 64;
  warpcheck::self::run_barriers(64, 1024, static_cast<int>(switches / (64 * 1024)), &stream);
  std::printf("%llu switches among 64 x 1024 threads\n", static_cast<unsigned long long>(stream.switches));
  if (stream.switches + 64 * 1024 < static_cast<uint64_t>(switches)) return 1;

  const auto blocks = static_cast<unsigned>(std::atol(argv[3]));
  warpcheck::self::device_array<int> counter(1);
  simt::emulation many;
  warpcheck::self::run_count(counter.data(), blocks, 1, 1, 2, 1, 1, &many);
  std::printf("%d threads of %u blocks\n", counter[0], blocks);
  return static_cast<unsigned>(counter[0]) == 2 * blocks ? 0 : 1;
}
