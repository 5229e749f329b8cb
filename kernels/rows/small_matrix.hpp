// small_matrix: rows of a small matrix, at most k_small_matrix_elements. What counts there is latency, of the launch
// and of one read: every thread has one vector of one row (of a row that several blocks share, a few), there are as
// many threads as that takes, and none does anything twice, so that the machine code is short and read once. Reads
// carry no hint for the L2 cache: to make one takes longer than it gains here.
//
// SmallRowOp defines the computation:
//   arguments, partial                types; a partial has 4 or 8 bytes
//   k_one_result                      whether a row has one result, and not one for each element
//   none()                            the partial of no element
//   of_lanes<Lanes>(slice, value)     that of the values of `Lanes` neighbouring lanes, in each of them
//   merge<Lanes>(partial[Each])       that of the partials of `Lanes` neighbouring lanes, of which a warp has several
//                                     times the same, in each of them
//   write<Aligned>(a, r, slice, value, partial, share)
//                                     those of the thread's results of row r that are in the small_matrix_share, which
//                                     begin on a 16-byte boundary if Aligned; by one thread if the row has one result
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/primitives/grid.hpp"
#include "kernels/primitives/reduce.hpp"
#include "kernels/rows/row_access.hpp"
#include "kernels/rows/row_cluster.hpp"
#include "kernels/rows/row_reduction.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

constexpr int64_t k_small_matrix_elements = int64_t{1} << 18;
constexpr int64_t k_small_matrix_rows = int64_t{1} << 26;  // at most, for any caller of these kernels
constexpr int k_small_matrix_vectors = 4;                  // of a thread, if a cluster of blocks shares the row
constexpr int k_pair_vectors = 2;                          // of a thread, if a pair of launches shares it
constexpr int k_small_matrix_warp_threads = 256;           // of a block, which takes as many rows as fit
constexpr int k_small_matrix_block_threads = 1024;         // at most, of a block that has a row
// at most, of one that shares it; of all in a pair of launches
constexpr int k_small_matrix_shared_threads = 512;
constexpr unsigned k_small_matrix_blocks = 128;  // as large a device has multiprocessors
constexpr int64_t k_small_matrix_cluster_cols =
    k_max_cluster * k_small_matrix_shared_threads * k_small_matrix_vectors * int64_t{4};
constexpr int64_t k_pair_chunk = k_small_matrix_shared_threads * k_pair_vectors * int64_t{4};  // elements of a block
constexpr int64_t k_small_matrix_cols = k_small_matrix_elements;
constexpr int k_pair_blocks = static_cast<int>(k_small_matrix_cols / k_pair_chunk);

// The vectors that a thread writes: every step-th from the first. Known at compile time, because a test at each vector
// takes longer than a choice between the shares.
template <int First, int Step>
struct small_matrix_share {
  static constexpr int k_first = First, k_step = Step;
};
using all_of_row = small_matrix_share<0, 1>;

// Calls visit with the share `first` of `Shares`.
template <int Shares, int First = 0, class Visit>
__device__ inline void with_share(int first, Visit&& visit) {
  if constexpr (First + 1 < Shares)
    if (first != First) return with_share<Shares, First + 1>(first, visit);
  visit(small_matrix_share<First, Shares>());
}

// The SmallRowOp of a RowOp (row_tile_pair.hpp) that has of_small_row<Lanes>(value) and
// merge_small_row<Lanes>(partial).
template <class RowOp>
struct small_op_of_row_op {
  using arguments = typename RowOp::template arguments<float>;
  using partial = typename RowOp::partial;
  static constexpr bool k_one_result = false;

  __device__ static partial none() { return {-INFINITY, 0.0f}; }
  template <int Lanes, class Slice>
  __device__ static partial of_lanes(const Slice&, const float (&value)[Slice::k_values]) {
    return RowOp::template of_small_row<Lanes>(value);
  }
  template <int Lanes, int Each>
  __device__ static partial merge(const partial (&mine)[Each]) {
    return RowOp::template merge_small_row<Lanes>(mine);
  }
  template <bool Aligned, class Slice, class Share>
  __device__ static void write(const arguments& a, int64_t r, const Slice& slice, float (&value)[Slice::k_values],
                               const partial& of_row, Share) {
    constexpr int k_width = Slice::k_width;
    const typename RowOp::template result<float> result(of_row);
#pragma unroll
    for (int k = Share::k_first; k < Slice::k_values / k_width; k += Share::k_step) {
      if (!slice.has(k)) continue;
#pragma unroll
      for (int c = 0; c < k_width; ++c) value[k * k_width + c] = result(value[k * k_width + c]);
      slice.template store_vector_at<Aligned>(k, value, a.y + r * a.ldy);
    }
  }
};

// The SmallRowOp of a RowReduction (row_reduction.hpp) with such a partial.
template <class RowReduction>
struct small_op_of_reduction {
  using arguments = reduction_arguments<RowReduction>;
  using partial = typename RowReduction::partial;
  static constexpr bool k_one_result = true;

  __device__ static partial none() { return RowReduction::none(); }
  template <int Lanes, class Slice>
  __device__ static partial of_lanes(const Slice& slice, const float (&value)[Slice::k_values]) {
    partial mine = none();
    RowReduction::absorb(mine, slice, value, 0);
    return RowReduction::template over_lanes<Lanes>(mine);
  }
  template <int Lanes, int Each>
  __device__ static partial merge(const partial (&mine)[Each]) {
    partial all = mine[0];
#pragma unroll
    for (int i = 1; i < Each; ++i) all = RowReduction::merge(all, mine[i]);
    return RowReduction::template over_lanes<Lanes>(all);
  }
  template <bool, class Slice>
  __device__ static void write(const arguments& a, int64_t r, const Slice&, const float (&)[Slice::k_values],
                               const partial& of_row, all_of_row) {
    store_element(a.y + r, RowReduction::finish(of_row));
  }
};

// Rows by `Lanes` lanes each. No barrier.
template <class SmallRowOp, int Lanes>
__global__ void __launch_bounds__(k_small_matrix_warp_threads) small_matrix_warp(typename SmallRowOp::arguments a) {
  const int64_t r = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / Lanes;
  // A row after the last is empty: its lanes stay active for the shuffles and access nothing.
  const bool exists = r < a.rows;
  const row_slice<float, row_access::aligned, 1> slice(a.x + (exists ? r * a.ldx : 0),
                                                       exists ? static_cast<int>(a.cols) : 0,
                                                       static_cast<int>(threadIdx.x) % Lanes, Lanes);
  float value[slice.k_values];
  slice.load(value);
  const auto of_row = SmallRowOp::template of_lanes<Lanes>(slice, value);
  if (exists && (!SmallRowOp::k_one_result || threadIdx.x % Lanes == 0))
    SmallRowOp::template write<false>(a, r, slice, value, of_row, all_of_row());
}

// Merges at most `Most` partials in memory, by a warp.
template <class SmallRowOp, int Most>
__device__ inline typename SmallRowOp::partial merge_partials(const typename SmallRowOp::partial* partials, int count) {
  constexpr int k_each = ceil_div(Most, k_warp_size), k_lanes = Most / k_each;
  const int lane = static_cast<int>(threadIdx.x) % k_lanes;
  typename SmallRowOp::partial mine[k_each];
#pragma unroll
  for (int i = 0; i < k_each; ++i) {
    mine[i] = SmallRowOp::none();
    if (i * k_lanes + lane < count) mine[i] = partials[i * k_lanes + lane];
  }
  return SmallRowOp::template merge<k_lanes>(mine);
}

// A block of at most `Warps` warps takes a row. One barrier.
template <class SmallRowOp, int Warps>
__global__ void __launch_bounds__(Warps* k_warp_size) small_matrix_block(typename SmallRowOp::arguments a) {
  SIMT_SHARED(partials, typename SmallRowOp::partial[Warps]);
  const int64_t r = blockIdx.x;
  const row_slice<float, row_access::aligned, 1> slice(a.x + r * a.ldx, static_cast<int>(a.cols),
                                                       static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x));
  float value[slice.k_values];
  slice.load(value);
  const auto of_warp = SmallRowOp::template of_lanes<k_warp_size>(slice, value);
  if (threadIdx.x % k_warp_size == 0) partials[threadIdx.x / k_warp_size] = of_warp;
  __syncthreads();
  if (SmallRowOp::k_one_result && threadIdx.x >= k_warp_size) return;
  const auto of_row = merge_partials<SmallRowOp, Warps>(partials, static_cast<int>(blockDim.x) / k_warp_size);
  if (!SmallRowOp::k_one_result || threadIdx.x == 0)
    SmallRowOp::template write<false>(a, r, slice, value, of_row, all_of_row());
}

// A cluster takes a row, or several clusters compute the same and write a share each. The blocks of a cluster exchange
// once: the partials of all warps if one warp can merge them, otherwise those of the blocks, after a barrier. No block
// exits while another one may write to it. Reading starts before everything else, because it takes longest, and the
// code before it is short: clusters have a power of two blocks.
template <class SmallRowOp, bool ByWarps, bool Aligned>
__global__ void __launch_bounds__(k_small_matrix_shared_threads)
    small_matrix_cluster(typename SmallRowOp::arguments a, int log2_size, int log2_clusters) {
  if (!simt::is_sm_90()) return;
  using partial = typename SmallRowOp::partial;
  constexpr int k_warps = k_small_matrix_shared_threads / k_warp_size;
  constexpr int k_exchanged = ByWarps ? k_warp_size : k_max_cluster;
  SIMT_SHARED(of_warps, partial[k_warps]);
  SIMT_SHARED(exchanged, partial[k_exchanged]);
  SIMT_SHARED(received, simt::mbarrier);
  const int lane = static_cast<int>(threadIdx.x) % k_warp_size, warp = static_cast<int>(threadIdx.x) / k_warp_size;
  const int threads = static_cast<int>(blockDim.x);
  const int warps = threads / k_warp_size, size = 1 << log2_size;
  const int rank = static_cast<int>(blockIdx.x) & (size - 1), cluster = static_cast<int>(blockIdx.x) >> log2_size;
  const int64_t r = cluster >> log2_clusters;
  const row_slice<float, row_access::aligned, k_small_matrix_vectors> slice(
      a.x + r * a.ldx, static_cast<int>(a.cols), static_cast<int>(threadIdx.x), threads, rank);
  float value[slice.k_values];
  slice.load(value);
  const int count = ByWarps ? size * warps : size;
  const bool receives = !SmallRowOp::k_one_result || rank == 0;
  if (threadIdx.x == 0) {
    received.init(1);
    if (receives) received.arrive_expect_tx(static_cast<unsigned>(count * sizeof(partial)));
  }
  simt::cluster_arrive_relaxed();
  partial mine = SmallRowOp::template of_lanes<k_warp_size>(slice, value);
  if (!ByWarps && lane == 0) of_warps[warp] = mine;
  simt::cluster_wait();  // every block has started and set its barrier up
  if constexpr (!ByWarps) {
    __syncthreads();
    if (warp == 0) mine = merge_partials<SmallRowOp, k_warps>(of_warps, warps);
  }
  if ((ByWarps || warp == 0) && lane < (SmallRowOp::k_one_result ? 1 : size)) {
    const auto to = static_cast<unsigned>(lane);
    const int place = ByWarps ? rank * warps + warp : rank;
    simt::store_remote(simt::map_shared_rank(&received, to), simt::map_shared_rank(&exchanged[place], to), mine);
  }
  if (!receives || (SmallRowOp::k_one_result && warp > 0)) return;
  received.wait(0);
  const partial of_row = merge_partials<SmallRowOp, k_exchanged>(exchanged, count);
  const auto write = [&](auto share) { SmallRowOp::template write<Aligned>(a, r, slice, value, of_row, share); };
  if constexpr (SmallRowOp::k_one_result) {
    if (threadIdx.x == 0) write(all_of_row());
  } else {
    const int first = cluster & ((1 << log2_clusters) - 1);
    if (log2_clusters == 0) return write(all_of_row());
    if (log2_clusters == 1) return with_share<2>(first, write);
    with_share<k_small_matrix_vectors>(first, write);
  }
}

using pair_slice = row_slice<float, row_access::aligned, k_pair_vectors>;

// A row with more elements than a cluster's blocks can hold: by as many blocks as needed, in two launches. In the
// first, each block writes its partial. One barrier.
template <class SmallRowOp>
__global__ void __launch_bounds__(k_small_matrix_shared_threads)
    small_matrix_partial(typename SmallRowOp::arguments a, typename SmallRowOp::partial* partials) {
  simt::trigger_dependents();
  constexpr int k_warps = k_small_matrix_shared_threads / k_warp_size;
  SIMT_SHARED(of_warps, typename SmallRowOp::partial[k_warps]);
  const pair_slice slice(a.x, static_cast<int>(a.cols), static_cast<int>(threadIdx.x), k_small_matrix_shared_threads,
                         static_cast<int>(blockIdx.x));
  float value[slice.k_values];
  slice.load(value);
  const auto of_warp = SmallRowOp::template of_lanes<k_warp_size>(slice, value);
  if (threadIdx.x % k_warp_size == 0) of_warps[threadIdx.x / k_warp_size] = of_warp;
  __syncthreads();
  if (threadIdx.x >= k_warp_size) return;
  const auto of_block = merge_partials<SmallRowOp, k_warps>(of_warps, k_warps);
  if (threadIdx.x == 0) partials[blockIdx.x] = of_block;
}

// In the second launch, which reads the row while the first runs, each warp merges all partials. In place, nothing is
// written before the first launch has read it.
template <class SmallRowOp>
__global__ void __launch_bounds__(k_small_matrix_shared_threads)
    small_matrix_apply(typename SmallRowOp::arguments a, const typename SmallRowOp::partial* partials) {
  const pair_slice slice(a.x, static_cast<int>(a.cols), static_cast<int>(threadIdx.x), k_small_matrix_shared_threads,
                         static_cast<int>(blockIdx.x));
  float value[slice.k_values];
  if constexpr (!SmallRowOp::k_one_result) slice.load(value);
  simt::grid_dependency_wait();
  const auto of_row =
      merge_partials<SmallRowOp, k_pair_blocks>(partials, static_cast<int>(ceil_div(a.cols, k_pair_chunk)));
  if (!SmallRowOp::k_one_result || threadIdx.x == 0)
    SmallRowOp::template write<false>(a, 0, slice, value, of_row, all_of_row());
}

template <class SmallRowOp>
void launch_small_matrix_pair(const typename SmallRowOp::arguments& a, simt::stream_t stream) {
  const auto blocks = static_cast<unsigned>(ceil_div(a.cols, k_pair_chunk));
  const simt::stream_workspace<typename SmallRowOp::partial> partials(blocks, stream);
  const simt::launch_config leave{blocks, k_small_matrix_shared_threads, 0, stream};
  simt::launch_config take = leave;
  if (SmallRowOp::k_one_result) take = {1, k_warp_size, 0, stream};
  take.programmatic_launch = true;
  simt::launch(leave, small_matrix_partial<SmallRowOp>, a, partials.data());
  simt::launch(take, small_matrix_apply<SmallRowOp>, a,
               static_cast<const typename SmallRowOp::partial*>(partials.data()));
}

// True if the kernels can take a matrix: its rows are aligned, its blocks fit a grid, and a row that exceeds a cluster
// is the only one.
template <class Arguments>
bool takes_small_matrix(const Arguments& a, simt::stream_t stream) {
  if (!std::is_same_v<std::decay_t<decltype(*a.x)>, float> || !has_aligned_rows(a) || a.rows > k_small_matrix_rows)
    return false;
  if (a.cols > k_small_matrix_cluster_cols) return a.cols <= k_small_matrix_cols && a.rows == 1;
  return a.cols <= k_small_matrix_block_threads * 4 || simt::device_properties(stream).max_cluster >= k_max_cluster;
}

// True if the matrix is small enough that these kernels are the fastest.
template <class Arguments>
bool is_small_matrix(const Arguments& a, simt::stream_t stream) {
  return a.rows * a.cols <= k_small_matrix_elements && takes_small_matrix(a, stream);
}

template <class SmallRowOp>
void launch_small_matrix(const typename SmallRowOp::arguments& a, simt::stream_t stream) {
  const int64_t vectors = a.cols / 4;
  const auto by_lanes = [&](auto lanes) {
    constexpr int k_lanes = decltype(lanes)::value;
    const auto blocks = static_cast<unsigned>(ceil_div(a.rows, k_small_matrix_warp_threads / k_lanes));
    simt::launch({blocks, k_small_matrix_warp_threads, 0, stream}, small_matrix_warp<SmallRowOp, k_lanes>, a);
  };
  if (vectors <= 2) return by_lanes(std::integral_constant<int, 2>());
  if (vectors <= 8) return by_lanes(std::integral_constant<int, 8>());
  if (vectors <= k_warp_size) return by_lanes(std::integral_constant<int, k_warp_size>());
  const auto threads_of = [](int64_t n) { return static_cast<unsigned>(ceil_div(n, k_warp_size) * k_warp_size); };
  const auto rows = static_cast<unsigned>(a.rows);
  constexpr int k_small_block = 8;  // warps
  if (vectors <= k_small_block * k_warp_size)
    return simt::launch({rows, threads_of(vectors), 0, stream}, small_matrix_block<SmallRowOp, k_small_block>, a);
  if (vectors <= k_small_matrix_block_threads)
    return simt::launch({rows, threads_of(vectors), 0, stream}, small_matrix_block<SmallRowOp, k_max_warps>, a);
  if (a.cols > k_small_matrix_cluster_cols) return launch_small_matrix_pair<SmallRowOp>(a, stream);
  // The fewest threads a block that give each multiprocessor of a large device one block, for a matrix of
  // k_small_matrix_elements.
  constexpr int64_t k_least_of_block = 128 * k_small_matrix_vectors;
  int log2_size = 0;
  while (1 << log2_size < k_max_cluster && k_least_of_block << log2_size < vectors) ++log2_size;
  const unsigned of_row = 1u << log2_size;
  const unsigned threads = threads_of(ceil_div(vectors, of_row * k_small_matrix_vectors));
  // Multiprocessors that would be idle take a share of the results. Not in place, where one cluster would overwrite
  // elements that another one has yet to read.
  int log2_clusters = 0;
  bool aligned = true;
  if constexpr (!SmallRowOp::k_one_result) {
    if (a.x != a.y)
      while (2 << log2_clusters <= k_small_matrix_vectors &&
             rows * of_row << (log2_clusters + 1) <= k_small_matrix_blocks)
        ++log2_clusters;
    aligned = misalignment_of(a.y) == 0 && (a.ldy % 4 == 0 || rows == 1);
  }
  const simt::launch_config config{rows * of_row << log2_clusters, threads, 0, stream, of_row};
  const auto run = [&](auto aligned_results) {
    constexpr bool k_aligned = decltype(aligned_results)::value;
    const bool by_warps = of_row * threads <= k_warp_size * k_warp_size;
    simt::launch(config,
                 by_warps ? small_matrix_cluster<SmallRowOp, true, k_aligned>
                          : small_matrix_cluster<SmallRowOp, false, k_aligned>,
                 a, log2_size, log2_clusters);
  };
  if constexpr (!SmallRowOp::k_one_result)
    if (!aligned) return run(std::false_type());
  run(std::true_type());
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
