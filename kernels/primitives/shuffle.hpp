// Shuffles of values of whole words among the lanes of a warp, all of which take part.
#pragma once

#include <cstring>

#include "kernels/primitives/reduce.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// `shuffle` moves one word.
template <class V, class Shuffle>
__device__ inline V shuffle_words(V value, Shuffle&& shuffle) {
  constexpr int k_words = static_cast<int>(sizeof(V) / sizeof(unsigned));
  static_assert(k_words * sizeof(unsigned) == sizeof(V), "whole words");
  unsigned words[k_words];
  memcpy(words, &value, sizeof value);
#pragma unroll
  for (int i = 0; i < k_words; ++i) words[i] = shuffle(words[i]);
  memcpy(&value, words, sizeof value);
  return value;
}

// The value of the lane `offset` below; the lane's own value if there is none.
template <class V>
__device__ inline V shuffle_up(const V& value, int offset) {
  return shuffle_words(value, [&](unsigned word) { return __shfl_up_sync(k_all_lanes, word, offset); });
}

template <class V>
__device__ inline V shuffle_from(const V& value, int lane, int width = k_warp_size) {
  return shuffle_words(value, [&](unsigned word) { return __shfl_sync(k_all_lanes, word, lane, width); });
}

template <class V>
__device__ inline V shuffle_xor(const V& value, int offset) {
  return shuffle_words(value, [&](unsigned word) { return __shfl_xor_sync(k_all_lanes, word, offset); });
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
