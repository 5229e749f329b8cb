// Clusters, the grid barrier, asynchronous copies and mbarriers, as kernels see them.
#pragma once

#include "simt/emulated/kernel_api.hpp"

namespace simt {
inline namespace emu {

// Barrier of all threads of the cluster; the parts order what came before arrive with what follows wait.
constexpr bool is_sm_90() { return true; }
void cluster_arrive(SIMT_SITE);
void cluster_wait(SIMT_SITE);
inline void cluster_sync(SIMT_SITE) {
  cluster_arrive(site);
  cluster_wait(site);
}
// Arrives without ordering anything but mbarrier::init and what a fence of the caller orders.
void cluster_arrive_relaxed(SIMT_SITE);
// The first statement of a kernel with __cluster_dims__: its launch has such clusters, whatever it was asked for.
void cluster_dims(unsigned x, unsigned y, unsigned z, call_site site);
unsigned cluster_rank() noexcept;
unsigned cluster_size() noexcept;
dim3 cluster_shape() noexcept;
unsigned cluster_id() noexcept;  // in its grid, along x
void* map_shared(void* p, unsigned rank, const call_site& site);
// The address of p, in the caller's shared memory, as block `rank` of the cluster has it.
template <class T>
SIMT_INLINE T* map_shared_rank(T* p, unsigned rank, SIMT_SITE) {
  return static_cast<T*>(map_shared(const_cast<void*>(static_cast<const void*>(p)), rank, site));
}

// The inverse: the address in the caller's shared memory, and the rank of the block of its cluster that has p; nullptr
// if none has.
const void* own_shared(const void* p, unsigned& rank);
// Ends the launch: an access to the block's own shared memory has an address of block `rank`.
[[noreturn]] void refuse_remote(unsigned rank, const call_site& site);

bool is_cooperative() noexcept;  // the launch
// Barrier of all threads of a cooperative launch.
void grid_arrive(SIMT_SITE);
void grid_wait(SIMT_SITE);
inline void grid_sync(SIMT_SITE) {
  grid_arrive(site);
  grid_wait(site);
}

// Between launches that may overlap. Here each is complete before the next starts; but in the race flavour, what a
// launch that overlaps does before its threads wait is not ordered after the launch before.
inline void trigger_dependents() {}
void grid_dependency_wait();

void async_copy(void* destination, const void* source, unsigned bytes);
// Copies Bytes (4, 8 or 16; both sides so aligned) from global to the block's own shared memory, in the caller's open
// group. The data arrives at a moment of the schedule's choice, at the latest in the wait for the group.
template <int Bytes>
SIMT_INLINE void cp_async(void* destination, const void* source) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp_async copies 4, 8 or 16 bytes");
  async_copy(destination, source, Bytes);
}
SIMT_INLINE void cp_async_evict_first(void* destination, const void* source) { async_copy(destination, source, 16); }
SIMT_INLINE void cp_async_keep_in_l2(void* destination, const void* source) { async_copy(destination, source, 16); }
void cp_async_commit();
void async_wait(unsigned groups);
// Waits until at most the Groups youngest groups of the caller are in flight. Others see the data after a barrier.
template <int Groups>
SIMT_INLINE void cp_async_wait() {
  async_wait(Groups);
}

// The memory order of an arrival at an mbarrier, or of a wait for it (PTX: .sem and .scope).
struct barrier_order {
  bool is_relaxed = false;       // what a fence beside it orders
  bool is_of_own_block = false;  // scope .cta: nothing between blocks
};

// An mbarrier object in shared memory.
class mbarrier {
 public:
  // One thread, before a barrier that orders all users. `count` arrivals complete a phase; phases start at 0.
  void init(unsigned count, SIMT_SITE);
  // The same without fence_mbarrier_init, which must follow.
  void init_unfenced(unsigned count, SIMT_SITE);
  void arrive(SIMT_SITE);
  // Arrives, making the phase wait for `bytes` of asynchronous copies besides.
  void arrive(unsigned bytes, barrier_order order, SIMT_SITE);
  // Arrives at the same mbarrier of block `rank` of the cluster.
  void arrive_remote(unsigned rank, SIMT_SITE);
  // Arrives, and makes the phase wait for `bytes` of asynchronous copies besides.
  void arrive_expect_tx(unsigned bytes, SIMT_SITE);
  // True if the phase of this parity (0 for the first, 1 for the second, ...) is complete.
  bool try_wait(unsigned parity, SIMT_SITE);
  bool try_wait(unsigned parity, barrier_order order, SIMT_SITE);
  void wait(unsigned parity, SIMT_SITE);
  // One arrival fewer completes the phases after this one.
  void arrive_and_drop(barrier_order order, SIMT_SITE);
  // Makes the phase wait for `bytes` (if negative: for fewer) of asynchronous copies.
  void expect(int64_t bytes, SIMT_SITE);
  // Arrives when the caller's copies by cp_async so far are complete. `counts`: the arrival is one of those expected.
  void arrive_when_copied(bool counts, SIMT_SITE);
  // Returns the parity of the phase that is not complete and, above this bit, the arrivals that it waits for. Orders
  // nothing.
  uint64_t state(SIMT_SITE);

 private:
  void initialise(unsigned count, bool is_visible, const call_site& site, const void* pc);
  uint64_t state_;
};

// Copies `bytes` (a multiple of 16; both sides 16-byte aligned) from global to own shared memory; completes on
// `barrier`, whose phase must expect the bytes.
void bulk_copy(void* destination, const void* source, unsigned bytes, mbarrier* barrier, SIMT_SITE);
// A hint to bring `bytes` (a multiple of 16, 16-byte aligned) into L2.
void bulk_prefetch(const void* source, unsigned bytes, SIMT_SITE);

void async_store(mbarrier* barrier, void* p, uint64_t bits, unsigned bytes, const call_site& site);
// Stores value at p of the block that map_shared_rank named, and completes sizeof(T) bytes on that block's `barrier`
// (both mapped addresses).
template <class T>
SIMT_INLINE void store_remote(mbarrier* barrier, T* p, T value, SIMT_SITE) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "store_remote stores 4 or 8 bytes");
  async_store(barrier, p, to_bits(value), sizeof(T), site);
}

}  // namespace emu
}  // namespace simt
