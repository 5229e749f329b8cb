// Rows that lanes of a warp keep in registers: how many at a time, and how many warps beside each other.
#pragma once

#include "kernels/primitives/reduce.hpp"
#include "kernels/rows/row_access.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// Vectors of a lane of short aligned rows: with one, 16-bit rows spend more on reductions.
template <class T>
constexpr int few_vectors = sizeof(T) == 2 ? 2 : 1;

// Rows in flight of lanes that hold `values` of a row each: enough to cover the latency of memory, without giving up
// occupancy. 16-bit values need more, had for aligned rows alone: the others' code would grow, too.
template <class T, row_access Access>
constexpr int lanes_rows(int values) {
  return values == 1 ? 4 : values <= (sizeof(T) == 2 && Access == row_access::aligned ? 16 : 4) ? 2 : 1;
}

// Threads of a block of lanes that hold `values` each, all rows together: the more they hold, the smaller the block,
// for as the last warp of a block ends, all its places become free at once.
constexpr int lanes_threads(int values) { return values <= 9 ? 128 : values <= 17 ? 64 : 32; }

// Blocks that should fit a multiprocessor, in whole rounds of its four schedulers: 64 Ki registers over a thread's
// values and some 32 for everything else, but no more than 96 KB of values, beyond which reads and writes hinder each
// other.
template <class T>
constexpr int lanes_resident_blocks(int values) {
  const int by_registers = 65536 / (k_warp_size * ((values + 32 + 7) / 8 * 8));
  const int by_values = 3072 / (values * static_cast<int>(sizeof(T)));
  const int warps = (by_registers < by_values ? by_registers : by_values) / 4 * 4;
  const int fit = warps * k_warp_size / lanes_threads(values);
  return fit < 32 ? fit : 32;
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
