// softmax_cluster: a row lies in the registers of a thread block cluster.
//
// Cost per row: the row once in and out, each exponential twice; one exchange between all warps of the cluster, before
// which they know nothing of each other, so that some compute while others still load. Two blocks of 64 KB a
// multiprocessor.
#pragma once

#include <cstdint>

#include "kernels/primitives/quotient.hpp"
#include "kernels/primitives/reduce.hpp"
#include "kernels/primitives/row_access.hpp"
#include "kernels/primitives/winner.hpp"
#include "kernels/softmax/arguments.hpp"
#include "kernels/softmax/partial.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_max_cluster = 16;
constexpr int k_cluster_threads = 256;
constexpr int k_cluster_values = 64;  // of a thread

// The index of the row's maximum, written by the only warp that has it, or, where several have it, by the block of rank
// 0 after another exchange, of the claims.
template <class Slice>
__device__ inline void write_argmax(const Slice& slice, const float (&value)[Slice::k_values], float own,
                                    const softmax_partial* partials, int count, float maximum, int64_t* argmax) {
  SIMT_SHARED(claim, int);
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
  const auto wins = [maximum](float of_part) { return of_part == maximum || of_part != of_part; };
  int winners = 0;
  for (int i = 0; i < count; i += k_warp_size)
    winners += __popc(__ballot_sync(k_all_lanes, i + lane < count && wins(partials[i + lane].maximum)));
  const bool of_warp = __any_sync(k_all_lanes, wins(own));
  int mine = k_no_claim<int>;
  if (of_warp) mine = lane_reduce<k_warp_size>(winner_of_slice(slice, value, maximum), min_of<int>());
  if (winners == 1) {
    if (of_warp && lane == 0) *argmax = claimed_index(mine);
    return;
  }
  const bool first = simt::cluster_rank() == 0 && threadIdx.x == 0;
  if (first) claim = k_no_claim<int>;
  simt::cluster_sync();
  if (of_warp && lane == 0) atomicMin(simt::map_shared_rank(&claim, 0), mine);
  simt::cluster_sync();
  if (first) *argmax = claimed_index(claim);
}

// Threads: k_cluster_threads, or a warp where a row keeps no more busy.
template <class T, row_access Access, int Threads>
__global__ void __launch_bounds__(Threads, 2) softmax_cluster(softmax_arguments<T> a) {
  using slice_type = row_slice<T, Access, k_cluster_values / row_vector<T>::k_width>;
  constexpr int k_warps = Threads / k_warp_size;
  // Written to by the peers: the partials of all warps of the cluster, and the barrier that counts their bytes. Two of
  // them, so that a warp writes to one again only after the exchange in between, when its readers are done with it. No
  // block leaves before it has received everything, so none writes to one that has left.
  SIMT_SHARED(partials, softmax_partial[2][k_max_cluster * k_warps]);
  SIMT_SHARED(received, simt::mbarrier[2]);
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
  const int warp = static_cast<int>(threadIdx.x) / k_warp_size;
  const int size = static_cast<int>(simt::cluster_size());
  const int rank = static_cast<int>(simt::cluster_rank());
  const int count = size * k_warps;
  if (threadIdx.x == 0) {
    received[0].init(1);
    received[1].init(1);
  }
  simt::cluster_arrive_relaxed();
  const int64_t first = blockIdx.x / simt::cluster_size();
  unsigned round = 0;
  for (int64_t r = first; r < a.rows; r += gridDim.x / simt::cluster_size(), ++round) {
    const slice_type slice(a.x + r * a.ldx, static_cast<int>(a.cols), static_cast<int>(threadIdx.x), Threads, rank);
    float value[slice_type::k_values];
    slice.load(value);
    const unsigned turn = round % 2;
    if (threadIdx.x == 0) received[turn].arrive_expect_tx(static_cast<unsigned>(count * sizeof(softmax_partial)));
    const float own = max_of_values(value);
    const softmax_partial mine = warp_partial(value, own);
    if (r == first) simt::cluster_wait();  // every block has started and set its barriers up
    if (lane < size) {
      const auto to = static_cast<unsigned>(lane);
      simt::store_remote(simt::map_shared_rank(&received[turn], to),
                         simt::map_shared_rank(&partials[turn][rank * k_warps + warp], to), mine);
    }
    received[turn].wait(round / 2 % 2);
    const softmax_partial row = combine(partials[turn], count);
    if (a.argmax != nullptr) write_argmax(slice, value, own, partials[turn], count, row.maximum, a.argmax + r);

    const row_quotient over_sum(row.sum);
#pragma unroll
    for (int i = 0; i < slice_type::k_values; ++i) value[i] = over_sum(expf(value[i] - row.maximum));
    slice.store(value, a.y + r * a.ldy);
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
