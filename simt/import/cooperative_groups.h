// Stands in for CUDA's header of this name: blocks, tiles of a warp and other parts of it, clusters, and the grid of a
// cooperative launch. Operations on whole groups are in cooperative_groups/.
#pragma once

#include "cuda/atomic"  // programs rely on CUDA's header to include it
#include "cuda_runtime.h"

namespace cooperative_groups {

// Shuffles of more than 8 bytes move one word at a time.
template <class T, class Shuffle>
SIMT_INLINE T shuffled(T v, Shuffle shuffle) {
  if constexpr (sizeof(T) <= 8) {
    return shuffle(v);
  } else {
    static_assert(sizeof(T) <= 32 && std::is_trivially_copyable_v<T>, "a value of at most 32 bytes");
    uint64_t words[4] = {};
    __builtin_memcpy(words, &v, sizeof v);
    for (size_t i = 0; i < (sizeof(T) + 7) / 8; ++i) words[i] = shuffle(words[i]);
    __builtin_memcpy(&v, words, sizeof v);
    return v;
  }
}

struct thread_block {
  static void sync(SIMT_SITE) { __syncthreads(site); }
  // As in CUDA's header, the arrival does nothing and the wait is the whole barrier.
  struct arrival_token {};
  static arrival_token barrier_arrive() { return {}; }
  static void barrier_wait(arrival_token&&, SIMT_SITE) { __syncthreads(site); }
  static unsigned thread_rank() {
    const uint3 t = ::simt::emu::thread_index();
    const dim3 b = ::simt::emu::block_dimensions();
    return (t.z * b.y + t.y) * b.x + t.x;
  }
  static unsigned size() {
    const dim3 b = ::simt::emu::block_dimensions();
    return b.x * b.y * b.z;
  }
  static unsigned num_threads() { return size(); }
  static dim3 group_index() { return ::simt::emu::block_index(); }
  static dim3 thread_index() { return ::simt::emu::thread_index(); }
  static dim3 group_dim() { return ::simt::emu::block_dimensions(); }
  static dim3 dim_threads() { return ::simt::emu::block_dimensions(); }
};
inline thread_block this_thread_block() { return {}; }

// `Size` neighbouring lanes of a warp, a power of two up to 32; the tile of the calling thread.
template <unsigned Size>
class tile_of_warp {
 public:
  static unsigned thread_rank() { return thread_block::thread_rank() % Size; }
  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  static void sync(SIMT_SITE) { __syncwarp(mask(), site); }
  template <class T>
  T shfl(T v, int lane, SIMT_SITE) const {
    return shuffled(v, [&](auto word) { return __shfl_sync(mask(), word, lane, Size, site); });
  }
  template <class T>
  T shfl_down(T v, unsigned delta, SIMT_SITE) const {
    return shuffled(v, [&](auto word) { return __shfl_down_sync(mask(), word, delta, Size, site); });
  }
  template <class T>
  T shfl_up(T v, unsigned delta, SIMT_SITE) const {
    return shuffled(v, [&](auto word) { return __shfl_up_sync(mask(), word, delta, Size, site); });
  }
  template <class T>
  T shfl_xor(T v, unsigned lanes, SIMT_SITE) const {
    return shuffled(v, [&](auto word) { return __shfl_xor_sync(mask(), word, static_cast<int>(lanes), Size, site); });
  }
  unsigned ballot(int predicate, SIMT_SITE) const {
    return (__ballot_sync(mask(), predicate, site) & mask()) >> first_lane();
  }
  int any(int predicate, SIMT_SITE) const { return __any_sync(mask(), predicate, site); }
  int all(int predicate, SIMT_SITE) const { return __all_sync(mask(), predicate, site); }
  template <class T>
  unsigned match_any(T v, SIMT_SITE) const {
    return (__match_any_sync(mask(), v, site) & mask()) >> first_lane();
  }
  template <class T>
  unsigned match_all(T v, int& all_equal, SIMT_SITE) const {
    return (__match_all_sync(mask(), v, &all_equal, site) & mask()) >> first_lane();
  }
  static unsigned mask() { return (Size == 32 ? 0xffffffffu : (1u << (Size % 32)) - 1) << first_lane(); }

 private:
  static unsigned first_lane() { return thread_block::thread_rank() % 32 / Size * Size; }
};

}  // namespace cooperative_groups

#include "cooperative_groups/wide_tiles.h"

namespace cooperative_groups {

template <unsigned Size>
using tile_of_block = std::conditional_t<(Size > 32), wide_tile<Size>, tile_of_warp<Size>>;

// A part of a group of type Parent. Only its place among the parts depends on that group.
template <unsigned Size, class Parent = void>
class thread_block_tile : public tile_of_block<Size> {
  static_assert(Size > 0 && Size <= 1024 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4, ... or 1024 threads");

 public:
  static unsigned meta_group_rank() { return static_cast<unsigned>(Parent::thread_rank()) / Size; }
  static unsigned meta_group_size() { return (static_cast<unsigned>(Parent::size()) + Size - 1) / Size; }
};
template <unsigned Size>
class thread_block_tile<Size, void> : public tile_of_block<Size> {
 public:
  thread_block_tile() = default;
  template <class Parent>
  thread_block_tile(const thread_block_tile<Size, Parent>&)
      : rank_(thread_block_tile<Size, Parent>::meta_group_rank()),
        count_(thread_block_tile<Size, Parent>::meta_group_size()) {}
  unsigned meta_group_rank() const { return rank_; }
  unsigned meta_group_size() const { return count_; }

 private:
  unsigned rank_ = 0, count_ = 1;
};
template <unsigned Size, class Parent>
thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
  return {};
}

// All blocks of a cooperative launch (cudaLaunchCooperativeKernel); in another launch, sync is a finding.
struct grid_group {
  struct arrival_token {};
  static bool is_valid() { return ::simt::emu::is_cooperative(); }
  static void sync(SIMT_SITE) { ::simt::grid_sync(site); }
  static arrival_token barrier_arrive(SIMT_SITE) {
    ::simt::grid_arrive(site);
    return {};
  }
  static void barrier_wait(arrival_token&&, SIMT_SITE) { ::simt::grid_wait(site); }
  static unsigned long long block_rank() {
    const uint3 b = ::simt::emu::block_index();
    const dim3 g = ::simt::emu::grid_dimensions();
    return (static_cast<unsigned long long>(b.z) * g.y + b.y) * g.x + b.x;
  }
  static unsigned long long num_blocks() {
    const dim3 g = ::simt::emu::grid_dimensions();
    return static_cast<unsigned long long>(g.x) * g.y * g.z;
  }
  static unsigned long long thread_rank() { return block_rank() * thread_block::size() + thread_block::thread_rank(); }
  static unsigned long long size() { return num_blocks() * thread_block::size(); }
  static unsigned long long num_threads() { return size(); }
  static dim3 group_dim() { return ::simt::emu::grid_dimensions(); }
  static dim3 dim_blocks() { return ::simt::emu::grid_dimensions(); }
  static dim3 block_index() { return ::simt::emu::block_index(); }
  static dim3 dim_threads() { return product(::simt::emu::grid_dimensions(), ::simt::emu::block_dimensions()); }
  static dim3 thread_index() {
    const dim3 first = product(::simt::emu::block_index(), ::simt::emu::block_dimensions());
    const uint3 t = ::simt::emu::thread_index();
    return {first.x + t.x, first.y + t.y, first.z + t.z};
  }
  static dim3 dim_clusters() { return quotient(::simt::emu::grid_dimensions()); }
  static unsigned long long num_clusters() { return num_blocks() / ::simt::cluster_size(); }
  static dim3 cluster_index() { return quotient(::simt::emu::block_index()); }
  static unsigned long long cluster_rank() {
    const dim3 c = cluster_index(), all = dim_clusters();
    return (static_cast<unsigned long long>(c.z) * all.y + c.y) * all.x + c.x;
  }

 private:
  static dim3 product(dim3 a, dim3 b) { return {a.x * b.x, a.y * b.y, a.z * b.z}; }
  static dim3 quotient(dim3 blocks) {
    const dim3 shape = ::simt::cluster_shape();
    return {blocks.x / shape.x, blocks.y / shape.y, blocks.z / shape.z};
  }
};
inline grid_group this_grid() { return {}; }

// The blocks of a cluster (cudaLaunchKernelEx); one block if the launch has no clusters.
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
  static dim3 dim_blocks() { return ::simt::cluster_shape(); }
  static dim3 block_index() {
    const dim3 b = ::simt::emu::block_index(), shape = ::simt::cluster_shape();
    return {b.x % shape.x, b.y % shape.y, b.z % shape.z};
  }
  static unsigned thread_rank() { return block_rank() * thread_block::size() + thread_block::thread_rank(); }
  static unsigned size() { return num_blocks() * thread_block::size(); }
  static unsigned num_threads() { return size(); }
  static dim3 dim_threads() {
    const dim3 blocks = dim_blocks(), b = ::simt::emu::block_dimensions();
    return {blocks.x * b.x, blocks.y * b.y, blocks.z * b.z};
  }
  static dim3 thread_index() {
    const dim3 block = block_index(), b = ::simt::emu::block_dimensions();
    const uint3 t = ::simt::emu::thread_index();
    return {block.x * b.x + t.x, block.y * b.y + t.y, block.z * b.z + t.z};
  }
  template <class T>
  static T* map_shared_rank(T* p, unsigned rank, SIMT_SITE) {
    return ::simt::map_shared_rank(p, rank, site);
  }
  static unsigned query_shared_rank(const void* p) {
    unsigned rank = 0;
    (void)::simt::emu::own_shared(p, rank);
    return rank;
  }
};
inline cluster_group this_cluster() { return {}; }

// Some lanes of a warp; their ranks ascend with the lane.
class coalesced_group {
 public:
  // The place is that among the parts of the group that was divided.
  explicit coalesced_group(unsigned mask, unsigned place = 0, unsigned parts = 1)
      : mask_(mask), place_(place), parts_(parts) {}
  unsigned mask() const { return mask_; }
  unsigned meta_group_rank() const { return place_; }
  unsigned meta_group_size() const { return parts_; }
  unsigned size() const { return static_cast<unsigned>(__popc(mask_)); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const { return rank_of(::simt::emu::lane_index()); }
  void sync(SIMT_SITE) const { __syncwarp(mask_, site); }
  template <class T>
  T shfl(T v, int rank, SIMT_SITE) const {
    return shuffled(v, [&](auto word) {
      return __shfl_sync(mask_, word, lane_of(static_cast<unsigned>(rank) % size()), 32, site);
    });
  }
  // A rank beyond the group's returns the caller's own value.
  template <class T>
  T shfl_down(T v, unsigned delta, SIMT_SITE) const {
    const unsigned rank = thread_rank();
    return shfl(v, static_cast<int>(rank + delta < size() ? rank + delta : rank), site);
  }
  template <class T>
  T shfl_up(T v, unsigned delta, SIMT_SITE) const {
    const unsigned rank = thread_rank();
    return shfl(v, static_cast<int>(rank >= delta ? rank - delta : rank), site);
  }
  unsigned ballot(int predicate, SIMT_SITE) const { return by_rank(__ballot_sync(mask_, predicate, site)); }
  int any(int predicate, SIMT_SITE) const { return __any_sync(mask_, predicate, site); }
  int all(int predicate, SIMT_SITE) const { return __all_sync(mask_, predicate, site); }
  template <class T>
  unsigned match_any(T v, SIMT_SITE) const {
    return by_rank(__match_any_sync(mask_, v, site));
  }
  template <class T>
  unsigned match_all(T v, int& all_equal, SIMT_SITE) const {
    return by_rank(__match_all_sync(mask_, v, &all_equal, site));
  }

 private:
  unsigned rank_of(unsigned lane) const { return static_cast<unsigned>(__popc(mask_ & ((1u << lane) - 1))); }
  int lane_of(unsigned rank) const {
    unsigned lanes = mask_;
    while (rank-- > 0) lanes &= lanes - 1;
    return __ffs(static_cast<int>(lanes)) - 1;
  }
  unsigned by_rank(unsigned lanes) const {
    unsigned ranks = 0;
    for (unsigned lane = 0; lane < 32; ++lane) ranks |= (lanes & mask_ & (1u << lane)) == 0 ? 0 : 1u << rank_of(lane);
    return ranks;
  }
  unsigned mask_, place_, parts_;
};
// Returns the active threads at this point: the caller alone, the least that CUDA allows.
SIMT_INLINE coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }
// Returns the lanes of a tile or a coalesced group whose predicate, or label, equals the caller's. The part where the
// predicate is false comes first; parts with labels are in the order of their first lanes.
template <class Group>
coalesced_group binary_partition(const Group& g, bool predicate, SIMT_SITE) {
  const unsigned chosen = __ballot_sync(g.mask(), predicate, site) & g.mask();
  if (chosen == 0 || chosen == g.mask()) return coalesced_group(g.mask());
  return coalesced_group(predicate ? chosen : g.mask() & ~chosen, predicate, 2);
}
template <class Group, class Label>
coalesced_group labeled_partition(const Group& g, Label label, SIMT_SITE) {
  if constexpr (std::is_same_v<Label, bool>) {
    return binary_partition(g, label, site);
  } else {
    const unsigned same = __match_any_sync(g.mask(), label, site) & g.mask(), first = same & (0u - same);
    const unsigned firsts = __ballot_sync(g.mask(), first == 1u << ::simt::emu::lane_index(), site) & g.mask();
    return coalesced_group(same, static_cast<unsigned>(__popc(firsts & (first - 1))),
                           static_cast<unsigned>(__popc(firsts)));
  }
}

// A block, or lanes of a warp; the kind is known only at run time.
class thread_group {
 public:
  thread_group(const thread_block&) : is_block_(true) {}
  thread_group(const coalesced_group& g) : lanes_(g) {}
  template <unsigned Size, class Parent>
  thread_group(const thread_block_tile<Size, Parent>& tile) : lanes_(tile.mask()) {}

  unsigned size() const { return is_block_ ? thread_block::size() : lanes_.size(); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const { return is_block_ ? thread_block::thread_rank() : lanes_.thread_rank(); }
  void sync(SIMT_SITE) const { is_block_ ? __syncthreads(site) : lanes_.sync(site); }

 private:
  friend thread_group tiled_partition(const thread_group& parent, unsigned size);
  bool is_block_ = false;
  coalesced_group lanes_{0};
};
// Divides the group into parts of `size` neighbouring threads, a power of two up to 32; the last may be smaller.
inline coalesced_group tiled_partition(const coalesced_group& parent, unsigned size) {
  const unsigned rank = parent.thread_rank(), part = rank / size;
  unsigned lanes = parent.mask(), mine = 0;
  for (unsigned i = 0; lanes != 0; ++i, lanes &= lanes - 1) mine |= i / size == part ? lanes & (0u - lanes) : 0;
  return coalesced_group(mine, part, (parent.size() + size - 1) / size);
}
inline thread_group tiled_partition(const thread_group& parent, unsigned size) {
  if (!parent.is_block_) return tiled_partition(parent.lanes_, size);
  const unsigned of_warp = thread_block::size() - thread_block::thread_rank() / 32 * 32;
  return tiled_partition(coalesced_group(of_warp < 32 ? (1u << of_warp) - 1 : 0xffffffffu), size);
}
inline void sync(const thread_block&, SIMT_SITE) { __syncthreads(site); }
inline void sync(const grid_group&, SIMT_SITE) { ::simt::grid_sync(site); }
inline void sync(const cluster_group&, SIMT_SITE) { ::simt::cluster_sync(site); }
inline void sync(const thread_group& g, SIMT_SITE) { g.sync(site); }
template <unsigned Size, class Parent>
void sync(const thread_block_tile<Size, Parent>& tile, SIMT_SITE) {
  tile.sync(site);
}
// One thread of the group, the first, calls the function; without a barrier.
template <class Group, class Function, class... Arguments>
void invoke_one(const Group& g, Function&& function, Arguments&&... arguments) {
  if (g.thread_rank() == 0) static_cast<Function&&>(function)(static_cast<Arguments&&>(arguments)...);
}
// All threads of a tile or a coalesced group get its result.
template <class Group, class Function, class... Arguments>
auto invoke_one_broadcast(const Group& g, Function&& function, Arguments&&... arguments)
    -> decltype(function(arguments...)) {
  decltype(function(arguments...)) result{};
  if (g.thread_rank() == 0) result = static_cast<Function&&>(function)(static_cast<Arguments&&>(arguments)...);
  return g.shfl(result, 0);
}
template <class Group>
SIMT_INLINE auto thread_rank(const Group& g) -> decltype(g.thread_rank()) {
  return g.thread_rank();
}
template <class Group>
SIMT_INLINE auto group_size(const Group& g) -> decltype(g.size()) {
  return g.size();
}

}  // namespace cooperative_groups

#include "cooperative_groups/reduce.h"
