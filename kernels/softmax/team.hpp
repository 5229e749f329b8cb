// A row lies in the registers of a team of blocks: one block (softmax_block) or a cluster (softmax_cluster).
//
// Cost per row: the row once in and out; two barriers of the block; one exchange of (maximum, sum) if the team has more
// than one block. The loads of a row are all in flight at once; blocks of few bytes keep what a multiprocessor has in
// flight near the 48-64 KB that saturate memory (more only mixes reads and writes).
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/primitives/quotient.hpp"
#include "kernels/primitives/reduce.hpp"
#include "kernels/primitives/row_access.hpp"
#include "kernels/primitives/winner.hpp"
#include "kernels/softmax/arguments.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// What a block knows of its part of a row: the maximum (NaN ignored), the sum of exp(x - maximum) and the winner's
// claim.
struct row_partial {
  float maximum;
  float sum;
  int claim;
};

// exp is taken relative to this, so that a part without any finite element sums to 0.
__device__ inline float finite_reference(float maximum) { return maximum == -INFINITY ? 0.0f : maximum; }

// A block by itself.
struct solo_team {
  static constexpr int k_slots = 1;
  __device__ int64_t index() const { return blockIdx.x; }
  __device__ int64_t teams() const { return gridDim.x; }
  __device__ int rank() const { return 0; }
  __device__ void open() const {}
};

// Combines the partials of a team, in the same order in every warp. One rescale per term.
template <class Team>
__device__ inline row_partial combine(const row_partial* partials, int count) {
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
  row_partial all{-INFINITY, 0.0f, k_no_claim<int>};
  for (int i = lane; i < count; i += k_warp_size) all.maximum = fmaxf(all.maximum, Team::read(&partials[i].maximum));
  all.maximum = lane_reduce<k_warp_size>(all.maximum, max_of());
  for (int i = lane; i < count; i += k_warp_size) {
    const float maximum = Team::read(&partials[i].maximum);
    const int claim = Team::read(&partials[i].claim);
    all.sum += Team::read(&partials[i].sum) * expf(maximum - all.maximum);
    if (maximum == all.maximum || claim < 0) all.claim = min_of<int>()(all.claim, claim);
  }
  all.sum = lane_reduce<k_warp_size>(all.sum, sum_of());
  all.claim = lane_reduce<k_warp_size>(all.claim, min_of<int>());
  return all;
}

template <class T, row_access Access, int Vectors, class Team, int MaxThreads, int MinBlocks>
__global__ void __launch_bounds__(MaxThreads, MinBlocks) softmax_team(softmax_arguments<T> a, Team team) {
  using slice_type = row_slice<T, Access, Vectors>;
  constexpr bool k_solo = std::is_same_v<Team, solo_team>;
  SIMT_SHARED(maximum_scratch, float[k_max_warps]);
  SIMT_SHARED(sum_scratch, float[k_max_warps]);
  SIMT_SHARED(claim_scratch, int[k_max_warps]);
  SIMT_SHARED(slots, row_partial[2 * Team::k_slots]);
  team.open();
  int turn = 0;
  for (int64_t r = team.index(); r < a.rows; r += team.teams(), turn ^= 1) {
    const slice_type slice(a.x + r * a.ldx, static_cast<int>(a.cols), static_cast<int>(threadIdx.x),
                           static_cast<int>(blockDim.x), team.rank());
    float value[slice_type::k_values];
    slice.load(value);

    row_partial row{value[0], 0.0f, k_no_claim<int>};
#pragma unroll
    for (int i = 1; i < slice_type::k_values; ++i) row.maximum = fmaxf(row.maximum, value[i]);
    row.maximum = block_reduce(row.maximum, max_of(), maximum_scratch);

    if (a.argmax != nullptr) block_post(claim_of_slice(slice, value, row.maximum), min_of<int>(), claim_scratch);
    const float reference = finite_reference(row.maximum);
    row.sum = chained_sum<slice_type::k_values>([&](int i) {
      const float term = expf(value[i] - (k_solo ? row.maximum : reference));
      if constexpr (k_solo) value[i] = term;
      return term;
    });
    block_post(row.sum, sum_of(), sum_scratch);
    __syncthreads();
    row.sum = block_fetch(sum_of(), sum_scratch);
    if (a.argmax != nullptr) row.claim = block_fetch(min_of<int>(), claim_scratch);

    if constexpr (!k_solo) {
      if (r == team.index()) team.settle();
      row = combine<Team>(team.exchange(row, slots, turn), team.size());
    }
    if (a.argmax != nullptr && team.rank() == 0 && threadIdx.x == 0) a.argmax[r] = claimed_index(row.claim);

    const row_quotient over_sum(row.sum);
#pragma unroll
    for (int i = 0; i < slice_type::k_values; ++i)
      value[i] = over_sum(k_solo ? value[i] : expf(value[i] - row.maximum));
    slice.store(value, a.y + r * a.ldy);
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
