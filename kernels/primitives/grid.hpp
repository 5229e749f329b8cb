// Sizes of grids.
#pragma once

#include <algorithm>
#include <cstdint>

#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

__device__ __host__ constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The grid grows with the work up to this many blocks per multiprocessor, which loop over the rest.
constexpr int64_t k_blocks_per_sm = 2048;

inline unsigned grid_size(int64_t blocks_wanted, simt::stream_t stream) {
  if (blocks_wanted <= k_blocks_per_sm) return static_cast<unsigned>(blocks_wanted);
  return static_cast<unsigned>(std::min(blocks_wanted, k_blocks_per_sm * simt::device_properties(stream).sm_count));
}

// The same for blocks that use much of a multiprocessor, of which more than are resident gain nothing.
constexpr int64_t k_resident_blocks_per_sm = 32;

inline unsigned resident_grid_size(int64_t blocks_wanted, simt::stream_t stream) {
  return static_cast<unsigned>(
      std::min(blocks_wanted, k_resident_blocks_per_sm * simt::device_properties(stream).sm_count));
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
