// Stands in for CUDA's header of this name: blocks, tiles of a warp, clusters, and the grid of a cooperative launch.
#pragma once

#include "cuda_runtime.h"

namespace cooperative_groups {

struct thread_block {
  static void sync(SIMT_SITE) { __syncthreads(site); }
  static unsigned thread_rank() {
    const uint3 t = threadIdx;
    const dim3 b = blockDim;
    return (t.z * b.y + t.y) * b.x + t.x;
  }
  static unsigned size() {
    const dim3 b = blockDim;
    return b.x * b.y * b.z;
  }
  static unsigned num_threads() { return size(); }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static dim3 group_dim() { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

// `Size` lanes of a warp that lie together; a power of two up to 32.
template <unsigned Size>
class thread_block_tile {
  static_assert(Size > 0 && Size <= 32 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");

 public:
  static unsigned thread_rank() { return thread_block::thread_rank() % Size; }
  static unsigned meta_group_rank() { return thread_block::thread_rank() / Size; }
  static unsigned meta_group_size() { return (thread_block::size() + Size - 1) / Size; }
  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  static void sync(SIMT_SITE) { __syncwarp(mask(), site); }
  template <class T>
  T shfl(T v, int lane, SIMT_SITE) const {
    return __shfl_sync(mask(), v, lane, Size, site);
  }
  template <class T>
  T shfl_down(T v, unsigned delta, SIMT_SITE) const {
    return __shfl_down_sync(mask(), v, delta, Size, site);
  }
  template <class T>
  T shfl_up(T v, unsigned delta, SIMT_SITE) const {
    return __shfl_up_sync(mask(), v, delta, Size, site);
  }
  template <class T>
  T shfl_xor(T v, unsigned lanes, SIMT_SITE) const {
    return __shfl_xor_sync(mask(), v, static_cast<int>(lanes), Size, site);
  }
  unsigned ballot(int predicate, SIMT_SITE) const {
    return (__ballot_sync(mask(), predicate, site) & mask()) >> first_lane();
  }
  int any(int predicate, SIMT_SITE) const { return __any_sync(mask(), predicate, site); }
  int all(int predicate, SIMT_SITE) const { return __all_sync(mask(), predicate, site); }

 private:
  static unsigned first_lane() { return thread_block::thread_rank() % 32 / Size * Size; }
  static unsigned mask() { return (Size == 32 ? 0xffffffffu : (1u << (Size % 32)) - 1) << first_lane(); }
};
template <unsigned Size, class Parent>
thread_block_tile<Size> tiled_partition(const Parent&) {
  return {};
}

// All blocks of a cooperative launch (cudaLaunchCooperativeKernel); in any other, sync is a finding.
struct grid_group {
  static void sync(SIMT_SITE) { ::simt::grid_sync(site); }
  static unsigned long long block_rank() {
    const uint3 b = blockIdx;
    const dim3 g = gridDim;
    return (static_cast<unsigned long long>(b.z) * g.y + b.y) * g.x + b.x;
  }
  static unsigned long long num_blocks() {
    const dim3 g = gridDim;
    return static_cast<unsigned long long>(g.x) * g.y * g.z;
  }
  static unsigned long long thread_rank() { return block_rank() * thread_block::size() + thread_block::thread_rank(); }
  static unsigned long long size() { return num_blocks() * thread_block::size(); }
  static unsigned long long num_threads() { return size(); }
  static dim3 group_dim() { return gridDim; }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 block_index() { return blockIdx; }
};
inline grid_group this_grid() { return {}; }

// The blocks of a cluster (cudaLaunchKernelEx); of one block where the launch has no clusters.
struct cluster_group {
  struct arrival_token {};
  static void sync(SIMT_SITE) { ::simt::cluster_sync(site); }
  static arrival_token barrier_arrive(SIMT_SITE) {
    ::simt::cluster_arrive(site);
    return {};
  }
  static void barrier_wait(SIMT_SITE) { ::simt::cluster_wait(site); }
  static void barrier_wait(arrival_token&&, SIMT_SITE) { ::simt::cluster_wait(site); }
  static unsigned block_rank() { return ::simt::cluster_rank(); }
  static unsigned num_blocks() { return ::simt::cluster_size(); }
  static dim3 dim_blocks() { return {num_blocks(), 1, 1}; }
  static dim3 block_index() { return {block_rank(), 0, 0}; }
  static unsigned thread_rank() { return block_rank() * thread_block::size() + thread_block::thread_rank(); }
  static unsigned size() { return num_blocks() * thread_block::size(); }
  static unsigned num_threads() { return size(); }
  template <class T>
  static T* map_shared_rank(T* p, unsigned rank, SIMT_SITE) {
    return ::simt::map_shared_rank(p, rank, site);
  }
};
inline cluster_group this_cluster() { return {}; }

// The active threads at this point: the caller alone, the least that CUDA allows.
struct coalesced_group {
  static unsigned thread_rank() { return 0; }
  static unsigned size() { return 1; }
  static unsigned num_threads() { return 1; }
  static void sync() {}
  template <class T>
  static T shfl(T v, int) {
    return v;
  }
  static unsigned ballot(int predicate) { return predicate != 0; }
  static int any(int predicate) { return predicate != 0; }
  static int all(int predicate) { return predicate != 0; }
};
inline coalesced_group coalesced_threads() { return {}; }

inline void sync(const thread_block&, SIMT_SITE) { __syncthreads(site); }
inline void sync(const grid_group&, SIMT_SITE) { ::simt::grid_sync(site); }
inline void sync(const cluster_group&, SIMT_SITE) { ::simt::cluster_sync(site); }
template <unsigned Size>
void sync(const thread_block_tile<Size>& tile, SIMT_SITE) {
  tile.sync(site);
}

template <class T>
struct plus {
  T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct greater {
  T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T>
struct less {
  T operator()(T a, T b) const { return b < a ? b : a; }
};
template <unsigned Size, class T, class Op>
T reduce(const thread_block_tile<Size>& tile, T value, Op op, SIMT_SITE) {
  for (unsigned lanes = Size / 2; lanes > 0; lanes /= 2) value = op(value, tile.shfl_xor(value, lanes, site));
  return value;
}

}  // namespace cooperative_groups
