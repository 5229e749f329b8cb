// The exchange between the blocks of a team that keep a row together.
//
// Each block publishes one word for each row, and a reader waits for the words of all blocks. A word contains its value
// and the fact that it was published, so no other memory needs an order. The blocks of a team must run at the same
// time: a launch of teams of several blocks is cooperative.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/primitives/grid.hpp"
#include "kernels/primitives/reduce.hpp"
#include "kernels/rows/argmax_key.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

using partial_slot = unsigned long long;
constexpr partial_slot k_no_partial = ~partial_slot{0};  // the initial value of the words

constexpr int k_max_team = 160;  // blocks

struct team_plan {
  int blocks;  // of a team; at most k_max_team
  int teams;
  partial_slot* words;        // of each row and block
  partial_slot* argmax_keys;  // likewise (argmax_key.hpp), if an argmax is asked for
};

// A partial as a word. A NaN, which may have any bits, gets bits other than those of k_no_partial.
template <class Partial>
__device__ inline partial_slot pack_partial(Partial partial) {
  static_assert(sizeof(Partial) == sizeof(partial_slot), "a partial is a word");
  if (partial.maximum != partial.maximum) partial.maximum = NAN;
  partial_slot word;
  memcpy(&word, &partial, sizeof word);
  return word;
}
template <class Partial>
__device__ inline Partial unpack_partial(partial_slot word) {
  Partial partial;
  memcpy(&partial, &word, sizeof partial);
  return partial;
}

// Waits for the words of a team, and stores them for its warp. After a pause it reads only the missing words again,
// because all blocks of a team read the same few cache lines while they are written.
template <class Visit>
__device__ inline void wait_for_partials(const partial_slot* words, int blocks, Visit&& visit) {
  constexpr int k_each = k_max_team / k_warp_size;
  constexpr unsigned k_pause = 200;  // nanoseconds
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
  partial_slot word[k_each];
#pragma unroll
  for (int i = 0; i < k_each; ++i) word[i] = lane + i * k_warp_size < blocks ? k_no_partial : 0;
  while (true) {
#pragma unroll
    for (int i = 0; i < k_each; ++i)
      if (word[i] == k_no_partial) word[i] = simt::load_relaxed(words + lane + i * k_warp_size);
    bool complete = true;
#pragma unroll
    for (int i = 0; i < k_each; ++i) complete = complete && word[i] != k_no_partial;
    if (complete) break;
    __nanosleep(k_pause);
  }
#pragma unroll
  for (int i = 0; i < k_each; ++i)
    if (lane + i * k_warp_size < blocks) visit(lane + i * k_warp_size, word[i]);
  __syncwarp();
}

// The best argmax key of the part of a row that was visited so far.
struct tile_argmax_key {
  float maximum;  // NaN passed on
  int64_t argmax_key;

  __device__ static tile_argmax_key none() { return {-INFINITY, k_no_argmax_key<int64_t>}; }

  // `argmax_key` is the best one of a tile to its maximum.
  __device__ void offer(const tile_argmax_key& tile) {
    const bool nan = maximum != maximum, tile_nan = tile.maximum != tile.maximum;
    const bool better = tile.maximum > maximum || (tile_nan && !nan);
    const bool equal = tile.maximum == maximum || (tile_nan && nan);
    if (better || (equal && tile.argmax_key < argmax_key)) argmax_key = tile.argmax_key;
    if (better) maximum = tile.maximum;
  }
  // Returns the key if this part has the maximum of a larger part.
  __device__ int64_t against(float of_all) const {
    return is_maximal(maximum, of_all) ? argmax_key : k_no_argmax_key<int64_t>;
  }
};

// Over a warp: the best of the argmax keys of 0, 1, ... k_warp_size - 1.
template <class ArgmaxKey>
__device__ inline int64_t best_argmax_key(ArgmaxKey&& argmax_key) {
  return lane_reduce<k_warp_size>(argmax_key(static_cast<int>(threadIdx.x) % k_warp_size), min_of<int64_t>());
}

// By a warp of the team's first block: waits for all argmax keys of row r and writes the index of its `maximum`.
template <class Partial>
__device__ inline void write_row_argmax(const team_plan& plan, int64_t r, const Partial* of_blocks, float maximum,
                                        int64_t* argmax) {
  int64_t mine = k_no_argmax_key<int64_t>;
  wait_for_partials(plan.argmax_keys + r * plan.blocks, plan.blocks, [&](int block, partial_slot w) {
    const tile_argmax_key of_block{of_blocks[block].maximum, static_cast<int64_t>(w)};
    mine = min_of<int64_t>()(mine, of_block.against(maximum));
  });
  const int64_t best = best_argmax_key([&](int) { return mine; });
  if (threadIdx.x % k_warp_size == 0) argmax[r] = index_of_argmax_key(best);
}

template <class Word>
__global__ void __launch_bounds__(256) clear_partials(Word* words, int64_t count) {
  simt::trigger_dependents();
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x)
    words[i] = k_no_partial;
}

// Words for the next launch, which may start while they are cleared.
class partial_slots {
 public:
  partial_slots(int64_t count, bool with_argmax_keys, simt::stream_t stream)
      : count_(count), words_(static_cast<size_t>(with_argmax_keys ? 2 * count : count), stream) {
    const auto total = static_cast<int64_t>(words_.size());
    simt::launch({grid_size(ceil_div(total, 256), stream), 256, 0, stream}, clear_partials<partial_slot>, words_.data(),
                 total);
  }
  partial_slot* words() const { return words_.data(); }
  // Null if there are none.
  partial_slot* argmax_keys() const { return words_.data() + count_; }

 private:
  int64_t count_;
  simt::buffer<partial_slot> words_;
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
