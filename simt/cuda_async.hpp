// The GPU's asynchronous copies, mbarriers, clusters and grid barrier (PTX ISA 8.x). Inline PTX of sm_90 is guarded, so
// that a kernel file compiles for sm_80 too; there such a call traps.
#pragma once

#include <cooperative_groups.h>

#include <cstdint>

namespace simt {
inline namespace gpu {

namespace detail {

__device__ __forceinline__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ void need_sm_90() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  __trap();
#endif
}

}  // namespace detail

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define SIMT_SM_90(...) __VA_ARGS__
#else
#define SIMT_SM_90(...) ::simt::gpu::detail::need_sm_90()
#endif

// True if the code is for GPUs of compute capability 9.0 with clusters, mbarriers and bulk copies. A kernel that needs
// them should return at once on other GPUs; then it takes no space in their code.
__device__ __forceinline__ constexpr bool is_sm_90() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  return false;
#else
  return true;
#endif
}

// Copies Bytes (4, 8 or 16; both sides so aligned) from global to the block's own shared memory, in the caller's open
// group.
template <int Bytes>
__device__ __forceinline__ void cp_async(void* destination, const void* source) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp_async copies 4, 8 or 16 bytes");
  const uint32_t to = detail::shared_address(destination);
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(source) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(source), "n"(Bytes) : "memory");
}
namespace detail {
__device__ __forceinline__ void cp_async_16(void* destination, const void* source, uint64_t policy) {
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(shared_address(destination)),
               "l"(source), "l"(policy)
               : "memory");
}
}  // namespace detail
// The same for 16 bytes that are not read again: L2 may evict them first.
__device__ __forceinline__ void cp_async_evict_first(void* destination, const void* source) {
  uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  detail::cp_async_16(destination, source, policy);
}
// The same for 16 bytes that are read again: L2 should evict them last.
__device__ __forceinline__ void cp_async_keep_in_l2(void* destination, const void* source) {
  detail::cp_async_16(destination, source, detail::evict_last());
}
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most the Groups youngest groups of the caller are in flight. Others see the data after a barrier.
template <int Groups>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
}

// An mbarrier object in shared memory.
class mbarrier {
 public:
  // One thread, before a barrier that orders all users. `count` arrivals complete a phase; phases start at 0.
  __device__ __forceinline__ void init(unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(detail::shared_address(this)), "r"(count) : "memory");
    SIMT_SM_90(asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"));
  }
  // The same without fence_mbarrier_init, which must follow.
  __device__ __forceinline__ void init_unfenced(unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(detail::shared_address(this)), "r"(count) : "memory");
  }
  __device__ __forceinline__ void arrive() {
    SIMT_SM_90(asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(detail::shared_address(this))
                            : "memory"));
  }
  // Arrives at the same mbarrier of block `rank` of the cluster.
  __device__ __forceinline__ void arrive_remote(unsigned rank) {
    SIMT_SM_90(asm volatile(
        "{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1;"
        " mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote]; }" ::"r"(detail::shared_address(this)),
        "r"(rank)
        : "memory"));
  }
  // Arrives, and makes the phase wait for `bytes` of asynchronous copies besides.
  __device__ __forceinline__ void arrive_expect_tx(unsigned bytes) {
    SIMT_SM_90(asm volatile(
        "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(detail::shared_address(this)),
        "r"(bytes)
        : "memory"));
  }
  // True if the phase of this parity (0 for the first, 1 for the second, ...) is complete.
  __device__ __forceinline__ bool try_wait(unsigned parity) {
    unsigned done = 0;
    SIMT_SM_90(
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;"
                     " selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(detail::shared_address(this)), "r"(parity)
                     : "memory"));
    return done != 0;
  }
  __device__ __forceinline__ void wait(unsigned parity) {
    while (!try_wait(parity)) {
    }
  }

 private:
  uint64_t state_;
};

// Copies `bytes` (a multiple of 16; both sides 16-byte aligned) from global to own shared memory; completes on
// `barrier`, whose phase must expect the bytes.
__device__ __forceinline__ void bulk_copy(void* destination, const void* source, unsigned bytes, mbarrier* barrier) {
  SIMT_SM_90(
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                       detail::shared_address(destination)),
                   "l"(source), "r"(bytes), "r"(detail::shared_address(barrier))
                   : "memory"));
}
// A hint to bring `bytes` (a multiple of 16, 16-byte aligned) into L2.
__device__ __forceinline__ void bulk_prefetch(const void* source, unsigned bytes) {
  SIMT_SM_90(asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(source), "r"(bytes) : "memory"));
}

namespace detail {
// In builds with SIMT_RANDOM_DELAYS, for tests: every warp comes to barriers of clusters and grids, and leaves them, up
// to 8 us late.
__device__ __forceinline__ void random_delay() {
#if defined(SIMT_RANDOM_DELAYS)
  const unsigned bits =
      (static_cast<unsigned>(clock64()) ^ (blockIdx.x * 32 + threadIdx.x / 32) * 2654435761u) * 2246822519u >> 16;
  if (bits % 3 == 0) __nanosleep(bits % 8192);
  __syncwarp();
#endif
}
}  // namespace detail

// Barrier of all threads of the cluster; the parts order what came before arrive with what follows wait.
__device__ __forceinline__ void cluster_arrive() {
  detail::random_delay();
  SIMT_SM_90(asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"));
}
// Arrives without ordering anything but mbarrier::init.
__device__ __forceinline__ void cluster_arrive_relaxed() {
  SIMT_SM_90(asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"));
}
__device__ __forceinline__ void cluster_wait() {
  SIMT_SM_90(asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"));
  detail::random_delay();
}
__device__ __forceinline__ void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}
__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank = 0;
  SIMT_SM_90(asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank)));
  return rank;
}
__device__ __forceinline__ unsigned cluster_size() {
  unsigned size = 1;
  SIMT_SM_90(asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size)));
  return size;
}
// The number of the cluster in its grid, without the division of a block's number.
__device__ __forceinline__ unsigned cluster_id() {
  unsigned id = 0;
  SIMT_SM_90(asm("mov.u32 %0, %%clusterid.x;" : "=r"(id)));
  return id;
}
// The address of p, in the caller's shared memory, as block `rank` of the cluster has it.
template <class T>
__device__ __forceinline__ T* map_shared_rank(T* p, unsigned rank) {
  uint64_t mapped = reinterpret_cast<uint64_t>(p);
  SIMT_SM_90(asm volatile("mapa.u64 %0, %1, %2;" : "=l"(mapped) : "l"(mapped), "r"(rank)));
  return reinterpret_cast<T*>(mapped);
}
// Stores value at p of the block that map_shared_rank named, and completes sizeof(T) bytes on that block's `barrier`
// (both mapped addresses): st.async.
template <class T>
__device__ __forceinline__ void store_remote(mbarrier* barrier, T* p, T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "store_remote stores 4 or 8 bytes");
  if constexpr (sizeof(T) == 4) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    SIMT_SM_90(asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(
                                detail::shared_address(p)),
                            "r"(bits), "r"(detail::shared_address(barrier))
                            : "memory"));
    (void)bits;
  } else {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    SIMT_SM_90(asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(
                                detail::shared_address(p)),
                            "l"(bits), "r"(detail::shared_address(barrier))
                            : "memory"));
    (void)bits;
  }
}

// Lets the next launch of the stream start, if it overlaps; called by any thread of each block.
__device__ __forceinline__ void trigger_dependents() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
// In a launch that overlaps: returns when the launch before it is complete and what it wrote can be read.
__device__ __forceinline__ void grid_dependency_wait() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Barrier of all threads of a cooperative launch.
__device__ __forceinline__ void grid_sync() {
  detail::random_delay();
  cooperative_groups::this_grid().sync();
  detail::random_delay();
}

#undef SIMT_SM_90

}  // namespace gpu
}  // namespace simt
