// What the blocks of a team tell each other of the row that they keep together.
//
// Each block publishes one word for each row, and whoever needs the row waits for the words of all. A word carries its
// value and that it is there, so that nothing else needs to be ordered. The blocks of a team must run at the same time:
// a launch of teams of several blocks is cooperative.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/primitives/grid.hpp"
#include "kernels/primitives/reduce.hpp"
#include "kernels/primitives/winner.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

using team_word = unsigned long long;
constexpr team_word k_no_word = ~team_word{0};  // what the words start as

constexpr int k_max_team = 160;  // blocks

struct team_plan {
  int blocks;  // of a team; at most k_max_team
  int teams;
  team_word* words;   // of each row and block
  team_word* claims;  // likewise (winner.hpp), if an argmax is asked for
};

// A partial as a word. NaN, which may have any bits, gets those that no k_no_word has.
template <class Partial>
__device__ inline team_word word_of(Partial partial) {
  static_assert(sizeof(Partial) == sizeof(team_word), "a partial is a word");
  if (partial.maximum != partial.maximum) partial.maximum = NAN;
  team_word word;
  memcpy(&word, &partial, sizeof word);
  return word;
}
template <class Partial>
__device__ inline Partial partial_of(team_word word) {
  Partial partial;
  memcpy(&partial, &word, sizeof partial);
  return partial;
}

// Waits for the words of a team, and leaves them where its warp sees them. It asks again only for those that were not
// there, and after a while: the blocks of a team all read the same few lines, which are written meanwhile.
template <class Visit>
__device__ inline void gather_words(const team_word* words, int blocks, Visit&& visit) {
  constexpr int k_each = k_max_team / k_warp_size;
  constexpr unsigned k_pause = 200;  // nanoseconds
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
  team_word word[k_each];
#pragma unroll
  for (int i = 0; i < k_each; ++i) word[i] = lane + i * k_warp_size < blocks ? k_no_word : 0;
  while (true) {
#pragma unroll
    for (int i = 0; i < k_each; ++i)
      if (word[i] == k_no_word) word[i] = simt::load_relaxed(words + lane + i * k_warp_size);
    bool complete = true;
#pragma unroll
    for (int i = 0; i < k_each; ++i) complete = complete && word[i] != k_no_word;
    if (complete) break;
    __nanosleep(k_pause);
  }
#pragma unroll
  for (int i = 0; i < k_each; ++i)
    if (lane + i * k_warp_size < blocks) visit(lane + i * k_warp_size, word[i]);
  __syncwarp();
}

// The best claim to the index of the maximum of a part of a row, of which more and more is seen.
struct part_claim {
  float maximum;  // NaN passed on
  int64_t claim;

  __device__ static part_claim none() { return {-INFINITY, k_no_claim<int64_t>}; }

  // `claim` is the best one of a piece to its maximum.
  __device__ void offer(const part_claim& piece) {
    const bool nan = maximum != maximum, piece_nan = piece.maximum != piece.maximum;
    const bool better = piece.maximum > maximum || (piece_nan && !nan);
    const bool equal = piece.maximum == maximum || (piece_nan && nan);
    if (better || (equal && piece.claim < claim)) claim = piece.claim;
    if (better) maximum = piece.maximum;
  }
  // To be the maximum of more, of which this is a part.
  __device__ int64_t against(float of_all) const { return may_win(maximum, of_all) ? claim : k_no_claim<int64_t>; }
};

// Over a warp: the best of the claims of 0, 1, ... k_warp_size - 1.
template <class Claim>
__device__ inline int64_t best_claim(Claim&& claim) {
  return lane_reduce<k_warp_size>(claim(static_cast<int>(threadIdx.x) % k_warp_size), min_of<int64_t>());
}

// By a warp of the team's first block: waits for the claims to row r of all and writes the index of its `maximum`.
template <class Partial>
__device__ inline void write_row_argmax(const team_plan& plan, int64_t r, const Partial* of_blocks, float maximum,
                                        int64_t* argmax) {
  int64_t mine = k_no_claim<int64_t>;
  gather_words(plan.claims + r * plan.blocks, plan.blocks, [&](int block, team_word w) {
    const part_claim of_block{of_blocks[block].maximum, static_cast<int64_t>(w)};
    mine = min_of<int64_t>()(mine, of_block.against(maximum));
  });
  const int64_t best = best_claim([&](int) { return mine; });
  if (threadIdx.x % k_warp_size == 0) argmax[r] = claimed_index(best);
}

template <class Word>
__global__ void __launch_bounds__(256) clear_words(Word* words, int64_t count) {
  simt::let_next_start();
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x)
    words[i] = k_no_word;
}

// Words that nobody has written, for the next launch, which may overlap with their clearing.
class team_words {
 public:
  team_words(int64_t count, bool with_claims, simt::stream_t stream)
      : count_(count), words_(static_cast<size_t>(with_claims ? 2 * count : count), stream) {
    const auto total = static_cast<int64_t>(words_.size());
    simt::launch({grid_size(ceil_div(total, 256), stream), 256, 0, stream}, clear_words<team_word>, words_.data(),
                 total);
  }
  team_word* words() const { return words_.data(); }
  // If there are any.
  team_word* claims() const { return words_.data() + count_; }

 private:
  int64_t count_;
  simt::buffer<team_word> words_;
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
