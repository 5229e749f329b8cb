// The least that calls of a turn move between the memory of a device and its L2 cache.
#pragma once

#include <algorithm>
#include <cstddef>

#include "bench/device_timing.hpp"

namespace warpcheck::bench {

// Returns the bytes of a call, in the mean of `calls` calls in a row that use slots of `slot_bytes` together in turn,
// whatever the cache holds. A byte that a round of the slots finds in the cache has been there for the whole round, so
// of the slots' bytes at most `cache` are found in each round. Besides, the first calls can find a cache full of bytes
// from before them, and the last ones can leave one full of results. Inputs that all slots share are not counted.
inline double least_bytes(const traffic& t, size_t slot_bytes, size_t cache, int calls) {
  const auto touched = static_cast<double>(t.in - t.picked + t.out), held = static_cast<double>(cache);
  const double left = std::min(held / calls, static_cast<double>(t.out));
  return std::max(0.0, touched * (1 - held / static_cast<double>(slot_bytes)) - held / calls - left);
}

}  // namespace warpcheck::bench
