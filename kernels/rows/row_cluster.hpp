// row_cluster: a thread block cluster keeps a row (row_tile_pair.hpp).
//
//   each block   load half to shared memory, half to registers | maximum, terms | send | wait | store both halves
//                <------- a warp sums up what it has as soon as it is there ----------->
//
// Cost per row: the row once in and out, each exponential twice; one exchange between all warps of the cluster. Before
// it the warps are independent, so some compute while others still load. Three blocks a multiprocessor, of 64 KB in
// f32; four, or two of 512 threads, are slower (docs/notes/softmax.md). RowOp: see row_tile_pair.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/primitives/grid.hpp"
#include "kernels/primitives/reduce.hpp"
#include "kernels/rows/argmax_key.hpp"
#include "kernels/rows/row_access.hpp"
#include "kernels/rows/row_tile_pair.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int k_max_cluster = 16;
constexpr int k_cluster_threads = 256;
// Blocks of k_cluster_threads that should fit on a multiprocessor; with more, reads and writes hinder each other.
constexpr int k_cluster_residents = 3;

// Writes the index of the row's maximum: by the only warp that has it, or, if several have it, by the block of rank 0
// after an exchange of the argmax keys. `argmax_key_of_lane()` is the lane's best argmax key.
template <class Partial, class ArgmaxKey>
__device__ inline void write_argmax(const Partial& mine, const Partial* partials, int count, float maximum,
                                    ArgmaxKey&& argmax_key_of_lane, int64_t* argmax) {
  SIMT_SHARED(argmax_key, int);
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
  const auto has_maximum = [maximum](float of_part) { return is_maximal(of_part, maximum); };
  int maximal_warps = 0;
  for (int i = 0; i < count; i += k_warp_size)
    maximal_warps += __popc(__ballot_sync(k_all_lanes, i + lane < count && has_maximum(partials[i + lane].maximum)));
  const bool of_warp = has_maximum(mine.maximum);
  int best = k_no_argmax_key<int>;
  if (of_warp) best = lane_reduce<k_warp_size>(argmax_key_of_lane(), min_of<int>());
  if (maximal_warps == 1) {
    if (of_warp && lane == 0) *argmax = index_of_argmax_key(best);
    return;
  }
  const bool first = simt::cluster_rank() == 0 && threadIdx.x == 0;
  if (first) argmax_key = k_no_argmax_key<int>;
  simt::cluster_sync();
  if (of_warp && lane == 0) atomicMin(simt::map_shared_rank(&argmax_key, 0), best);
  simt::cluster_sync();
  if (first) *argmax = index_of_argmax_key(argmax_key);
}

// Threads: k_cluster_threads, or fewer if a row keeps fewer busy.
template <class RowOp, class T, row_access Access, int Threads>
__global__ void __launch_bounds__(Threads, k_cluster_residents* k_cluster_threads / Threads)
    row_cluster(typename RowOp::template arguments<T> a) {
  if (!simt::is_sm_90()) return;
  using partial = typename RowOp::partial;
  using storage = stored_tile<T, Threads>;
  constexpr int k_warps = Threads / k_warp_size;
  SIMT_DYN_SHARED(storage, stored);
  // Written by the peers: the partials of all warps of the cluster, and the barrier that counts their bytes. There are
  // two of each, so that a warp writes to one again only after the exchange in between, when its readers have finished
  // with it. A block does not exit before it has received everything, so no block writes to one that has exited.
  SIMT_SHARED(partials, partial[2][k_max_cluster * k_warps]);
  SIMT_SHARED(received, simt::mbarrier[2]);
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size;
  const int warp = static_cast<int>(threadIdx.x) / k_warp_size;
  const int size = static_cast<int>(simt::cluster_size());
  const int rank = static_cast<int>(simt::cluster_rank());
  const int count = size * k_warps;
  const tile_pair<RowOp, T, Access, Threads> thread(a, rank, *stored);
  if (threadIdx.x == 0) {
    received[0].init(1);
    received[1].init(1);
  }
  simt::cluster_arrive_relaxed();
  const int64_t first = blockIdx.x / simt::cluster_size();
  unsigned round = 0;
  for (int64_t r = first; r < a.rows; r += gridDim.x / simt::cluster_size(), ++round) {
    register_tile<T> tile;
    thread.load_stored(r);
    thread.load_registers(r, tile);
    const unsigned turn = round % 2;
    if (threadIdx.x == 0) received[turn].arrive_expect_tx(static_cast<unsigned>(count * sizeof(partial)));
    simt::cp_async_wait<0>();
    const partial mine = thread.sum_up(r, tile);
    if (r == first) simt::cluster_wait();  // every block has started and set its barriers up
    if (lane < size) {
      const auto to = static_cast<unsigned>(lane);
      simt::store_remote(simt::map_shared_rank(&received[turn], to),
                         simt::map_shared_rank(&partials[turn][rank * k_warps + warp], to), mine);
    }
    received[turn].wait(round / 2 % 2);
    const partial row = RowOp::combine(partials[turn], count);
    if (RowOp::argmax(a) != nullptr)
      write_argmax(
          mine, partials[turn], count, row.maximum, [&] { return thread.argmax_key(r, tile, row.maximum); },
          RowOp::argmax(a) + r);
    const typename RowOp::template result<T> result(row);
    thread.write_stored(r, result);
    thread.write_registers(r, result, tile);
  }
}

template <class RowOp, class T, row_access Access>
void launch_row_cluster(const typename RowOp::template arguments<T>& a, simt::stream_t stream) {
  const int64_t vectors = a.cols / row_vector<T>::k_width;
  const auto run = [&](auto threads) {
    constexpr int k_threads = decltype(threads)::value;
    const int64_t wanted = ceil_div(vectors, 2 * tile_pair_vectors<T> * k_threads);
    const auto blocks = static_cast<unsigned>(std::max<int64_t>(2, wanted));
    const simt::launch_config config{grid_size(a.rows, stream) * blocks, k_threads, sizeof(stored_tile<T, k_threads>),
                                     stream, blocks};
    simt::launch(config, row_cluster<RowOp, T, Access, k_threads>, a);
  };
  constexpr int64_t k_of_two_threads = 2 * 2 * tile_pair_vectors<T>;  // one in each of two blocks
  if (vectors <= k_of_two_threads * k_warp_size)
    run(std::integral_constant<int, k_warp_size>());
  else if (vectors <= k_of_two_threads * k_cluster_threads / 2)
    run(std::integral_constant<int, k_cluster_threads / 2>());
  else
    run(std::integral_constant<int, k_cluster_threads>());
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
