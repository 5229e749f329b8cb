// Counts of launches on the emulated device, for benchmarks. Each flavour's module has its own.
#pragma once

#include <cstdint>

#include "simt/emulation.hpp"

namespace simt {
inline namespace emu {

struct launch_counts {
  uint64_t barriers = 0;  // completed phases of the barriers of blocks, clusters and grids
  // Race flavour: wavefronts in which warps load and store shared memory (bank_counts.hpp), and as many as there would
  // be without bank conflicts.
  uint64_t wavefronts = 0, least_wavefronts = 0;
};

// Counts the launches on this stream, and on no other, from now on; nullptr: on none.
void count_launches(const emulation* stream);
bool counts_launches(const emulation& stream);
// Returns the counts since the last call and begins again.
launch_counts take_launch_counts();

}  // namespace emu
}  // namespace simt
