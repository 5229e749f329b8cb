// Rows that lanes of a warp keep in registers: how many at a time, and how many warps in a block.
#pragma once

#include "kernels/primitives/reduce.hpp"
#include "kernels/rows/row_access.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// Vectors of a lane of short aligned rows: with one, 16-bit rows spend more on reductions.
template <class T>
constexpr int few_vectors = sizeof(T) == 2 ? 2 : 1;

// Rows in flight for lanes that hold `values` of each row: enough to cover the latency of memory without reducing
// occupancy. 16-bit values need more rows, which only aligned rows have; for others the code would grow, too.
template <class T, row_access Access>
constexpr int lanes_rows(int values) {
  return values == 1 ? 4 : values <= (sizeof(T) == 2 && Access == row_access::aligned ? 16 : 4) ? 2 : 1;
}

// Threads of a block whose lanes hold `values` each, in all rows together. The more values, the smaller the block: all
// places of a block become free at once, when its last warp ends.
constexpr int lanes_threads(int values) { return values <= 9 ? 128 : values <= 17 ? 64 : 32; }

// Blocks that should fit on a multiprocessor, in whole rounds of its four schedulers: 64 Ki registers, divided by a
// thread's values and about 32 registers for everything else, but no more than 96 KB of values, because beyond that
// reads and writes hinder each other.
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
