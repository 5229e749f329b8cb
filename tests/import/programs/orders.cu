// What orders less than it seems to: each mode is right, and with -D BUG one qualifier, fence or copy weaker.
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "on_device.cuh"

namespace cg = cooperative_groups;
#ifdef BUG
#define RIGHT_OR_BUG(right, bug) bug
#else
#define RIGHT_OR_BUG(right, bug) right
#endif

struct pair {
  int a, b;
};
struct big {
  int a[8];
};
struct five {
  char c[5];
};

// ---- copies

template <class T>
__global__ void copies_struct(T* o, const T* i) {
  o[RIGHT_OR_BUG(threadIdx.x, 0)] = i[threadIdx.x];  // struct-copy
}
template <class T>
__global__ void copies_to_shared(T* o, const T* i) {
  __shared__ T s[4];
  s[RIGHT_OR_BUG(threadIdx.x, 0)] = i[threadIdx.x];  // shared-struct-copy
  __syncthreads();
  o[threadIdx.x] = s[0];
}
__global__ void copies_bytes(char* o, const char* i) {
  __builtin_memcpy(o + RIGHT_OR_BUG(5, 4) * threadIdx.x, i + 8 * threadIdx.x, 5);  // memcpy
}
__global__ void moves_bytes(char* o, const char* i) {
  __builtin_memmove(o + RIGHT_OR_BUG(6, 4) * threadIdx.x, i + 8 * threadIdx.x, 6);  // memmove
}
__global__ void sets_bytes(char* o, const char*) {
  __builtin_memset(o + RIGHT_OR_BUG(5, 4) * threadIdx.x, static_cast<int>(threadIdx.x), 5);  // memset
}
__global__ void sets_four_bytes(char* o, const char*) {
  __builtin_memset(o + RIGHT_OR_BUG(4, 2) * threadIdx.x, static_cast<int>(threadIdx.x), 4);  // memset-of-a-word
}
__global__ void clears_struct(char* o, const char* i) {
  if (threadIdx.x == 0) *reinterpret_cast<five*>(o) = five{};  // clear
  if (threadIdx.x == 1) o[RIGHT_OR_BUG(5, 4)] = i[1];
}

// ---- clusters and mbarriers

__device__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ void init_barrier(uint64_t* b, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(count) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
#define SPIN(wait)                                                                                      \
  asm volatile("{\n.reg .pred done;\nAGAIN:\n" wait                                                     \
               " done, [%0], 0;\n@done bra THROUGH;\nbra AGAIN;\nTHROUGH:\n}" ::"r"(shared_address(&b)) \
               : "memory")

__global__ void arrives_at_cluster(int* out) {
  __shared__ int box[32];
  auto cluster = cg::this_cluster();
  box[threadIdx.x] = static_cast<int>(threadIdx.x);  // cluster-arrive
#ifdef BUG
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#else
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  out[blockIdx.x * 32 + threadIdx.x] = cluster.map_shared_rank(box, cluster.block_rank() ^ 1)[threadIdx.x ^ 1];
  cluster.sync();
}
// A fence before it makes a relaxed arrival publish.
__global__ void fences_and_arrives(int* out) {
  __shared__ int box[32];
  auto cluster = cg::this_cluster();
  box[threadIdx.x] = static_cast<int>(threadIdx.x);  // fenced-arrive
#ifdef BUG
  asm volatile("fence.acq_rel.cta;" ::: "memory");
#else
  asm volatile("fence.acq_rel.cluster;" ::: "memory");
#endif
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  out[blockIdx.x * 32 + threadIdx.x] = cluster.map_shared_rank(box, cluster.block_rank() ^ 1)[threadIdx.x ^ 1];
  cluster.sync();
}
// The initialisation of mbarriers has a fence of its own.
__global__ void initialises_and_arrives(int* out) {
  __shared__ __align__(8) uint64_t b;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&b)) : "memory");  // init-fence
#ifndef BUG
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
  }
  asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
  asm volatile("barrier.cluster.wait;" ::: "memory");
  if (threadIdx.x == 0) {
    uint32_t theirs;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                 : "=r"(theirs)
                 : "r"(shared_address(&b)), "r"(cluster.block_rank() ^ 1));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(theirs) : "memory");
  }
  SPIN("mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64");
  out[blockIdx.x * 32 + threadIdx.x] = 1;
  cluster.sync();
}
// By the address of the own shared memory in a 64-bit register.
__global__ void stores_shared(int* out) {
  __shared__ int s[32];
  int* own = s + threadIdx.x;
  const uint64_t to = RIGHT_OR_BUG(shared_address(own), reinterpret_cast<uint64_t>(own));
  asm volatile("st.shared.u32 [%0], %1;" ::"l"(to), "r"(7) : "memory");  // generic-address
  out[threadIdx.x] = *own;
}
// Data that another block's arrival brings.
template <int Mode>
__global__ void arrives_remotely(int* out) {
  __shared__ __align__(8) uint64_t b;
  __shared__ int box[2];
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) init_barrier(&b, 1);
  cluster.sync();
  const unsigned peer = cluster.block_rank() ^ 1;
  if (threadIdx.x == 0) {
    uint32_t theirs;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(theirs) : "r"(shared_address(&b)), "r"(peer));
    // Written here, read by the other block.
    box[0] = static_cast<int>(peer);  // remote-relaxed remote-cta remote-wait remote-relaxed-wait
#ifdef BUG
    if (Mode == 0)
      asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(theirs) : "memory");
    if (Mode == 1) asm volatile("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0];" ::"r"(theirs) : "memory");
    if (Mode == 2) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(theirs) : "memory");  // local-arrive
    if (Mode > 2)
#endif
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(theirs) : "memory");
  }
#ifdef BUG
  if (Mode == 3) SPIN("mbarrier.try_wait.parity.acquire.cta.shared::cta.b64");
  if (Mode == 4) SPIN("mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64");
  if (Mode < 3)
#endif
    SPIN("mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64");
  out[blockIdx.x * 32 + threadIdx.x] = cluster.map_shared_rank(box, peer)[0];
  cluster.sync();
}

// ---- scopes of loads, stores and atomics between blocks

__global__ void publishes(int* data, unsigned* flag, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *data = 42;  // store-scope
#ifdef BUG
    asm volatile("st.release.cta.global.u32 [%0], 1;" ::"l"(flag) : "memory");
#else
    asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
#endif
  } else {
    unsigned seen;
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    while (seen == 0);
    *out = *data;
  }
}
// A release is no acquire.
__global__ void unlocks(int* data, unsigned* flag, int* out) {
  if (threadIdx.x != 0) return;
  unsigned seen;
  if (blockIdx.x == 0) {
    *data = 42;  // atomic-order
#ifdef BUG
    asm volatile("atom.acquire.gpu.global.exch.b32 %0, [%1], 1;" : "=r"(seen) : "l"(flag) : "memory");
#else
    asm volatile("atom.release.gpu.global.exch.b32 %0, [%1], 1;" : "=r"(seen) : "l"(flag) : "memory");
#endif
  } else {
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    while (seen == 0);
    *out = *data;
  }
}

// ---- the read-only cache

__global__ void loads_read_only(int* x, int* out) {
  x[threadIdx.x] = static_cast<int>(threadIdx.x);  // ldg
  __syncthreads();
  out[threadIdx.x] = RIGHT_OR_BUG(x[threadIdx.x ^ 1], __ldg(&x[threadIdx.x ^ 1]));
}
__global__ void loads_non_coherent(int* x, int* out) {
  x[threadIdx.x] = static_cast<int>(threadIdx.x);  // nc
  __syncthreads();
  int v;
#ifdef BUG
  asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(v) : "l"(x + (threadIdx.x ^ 1)));
#else
  asm volatile("ld.global.b32 %0, [%1];" : "=r"(v) : "l"(x + (threadIdx.x ^ 1)));
#endif
  out[threadIdx.x] = v;
}

// ---- volatile

// Between warps. The fence before the write is what makes it publish.
__global__ void hands_over(int* out) {
  __shared__ volatile int flag;
  __shared__ int data;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 32) {
    data = 42;
    RIGHT_OR_BUG(__threadfence_block(), (void)0);
    flag = 1;  // shared-volatile
  }
  if (threadIdx.x == 0) {
    while (flag == 0) {
    }
    __threadfence_block();
    *out = data;
  }
}
// Without a fence, yet no race by the letter: each access is a relaxed one.
__global__ void counts_by_volatile(volatile int* n) { *n = *n + 1; }  // volatile-count

// ---- lanes that run together

__global__ void takes_places(int* n, int* places) {
  if (threadIdx.x % 3 == 0) return;
  const unsigned first_mask = __activemask();
  const unsigned group = RIGHT_OR_BUG(first_mask, __activemask());
  const int leader = __ffs(first_mask) - 1;
  int first = 0;
  if (static_cast<int>(threadIdx.x % 32) == leader) first = atomicAdd(n, __popc(RIGHT_OR_BUG(group, __activemask())));
  first = __shfl_sync(group, first, leader);
  atomicAdd(&places[first + __popc(group & ((1u << (threadIdx.x % 32)) - 1))], 1);
}

// ---- blocks that wait for others

__global__ void takes_turns(int* turn, int* ticket) {
  if (threadIdx.x != 0) return;
  const int mine = RIGHT_OR_BUG(atomicAdd(ticket, 1), static_cast<int>(gridDim.x - 1 - blockIdx.x));
  while (atomicAdd(turn, 0) != mine) {
  }
  atomicAdd(turn, 1);
}

// ---- places that nobody wrote, or where nothing is

__global__ void exchanges(int* x, int* old) { *old = atomicExch(x, 1); }  // exchange
__global__ void opens_gates(int* x, int* out) {
  __shared__ int gate;
  if (threadIdx.x == 0) atomicExch(&gate, 1);
  if (threadIdx.x == 0) {
    atomicExch(x, 1);
    *out = gate + *x;
  }
}
__global__ void goes_far(int* x, long distance) { x[RIGHT_OR_BUG(0, distance)] = 1; }  // far

template <class Kernel, class... Arguments>
void in_cluster(Kernel kernel, Arguments... arguments) {
  cudaLaunchAttribute a[1];
  a[0].id = cudaLaunchAttributeClusterDimension;
  a[0].val.clusterDim.x = 2;
  a[0].val.clusterDim.y = a[0].val.clusterDim.z = 1;
  cudaLaunchConfig_t c = {};
  c.gridDim = dim3(2);
  c.blockDim = dim3(32);
  c.attrs = a;
  c.numAttrs = 1;
  cudaLaunchKernelEx(&c, kernel, arguments...);
}
// Each of the 85 lanes of each block has a place of its own.
int place_all() {
  int h[256], *n = device_array<int>(1), *places = device_array<int>(256);
  takes_places<<<2, 128>>>(n, places);
  cudaMemcpy(h, places, sizeof h, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 170; ++i)
    if (h[i] != 1) return 1;
  return 0;
}

int main(int, char** argv) {
  const auto is = [&](const char* mode) { return std::strcmp(argv[1], mode) == 0; };
  char bytes[256];
  for (int i = 0; i < 256; ++i) bytes[i] = static_cast<char>(i);
  char *o = device_array<char>(256), *x = device_array<char>(256);
  int* out = device_array<int>(64);
  unsigned* flag = device_array<unsigned>(1);
  cudaMemcpy(x, bytes, 256, cudaMemcpyHostToDevice);
  if (is("struct-copy")) copies_struct<<<1, 4>>>(reinterpret_cast<float4*>(o), reinterpret_cast<const float4*>(x));
  if (is("pair-copy")) copies_struct<<<1, 4>>>(reinterpret_cast<pair*>(o), reinterpret_cast<const pair*>(x));
  if (is("big-copy")) copies_struct<<<1, 4>>>(reinterpret_cast<big*>(o), reinterpret_cast<const big*>(x));
  if (is("shared-struct-copy"))
    copies_to_shared<<<1, 4>>>(reinterpret_cast<int2*>(o), reinterpret_cast<const int2*>(x));
  if (is("memcpy")) copies_bytes<<<1, 2>>>(o, x);
  if (is("memmove")) moves_bytes<<<1, 2>>>(o, x);
  if (is("memset")) sets_bytes<<<1, 2>>>(o, x);
  if (is("memset-of-a-word")) sets_four_bytes<<<1, 2>>>(o, x);
  if (is("clear")) clears_struct<<<1, 2>>>(o, x);
  if (is("cluster-arrive")) in_cluster(arrives_at_cluster, out);
  if (is("fenced-arrive")) in_cluster(fences_and_arrives, out);
  if (is("init-fence")) in_cluster(initialises_and_arrives, out);
  if (is("remote-relaxed")) in_cluster(arrives_remotely<0>, out);
  if (is("remote-cta")) in_cluster(arrives_remotely<1>, out);
  if (is("local-arrive")) in_cluster(arrives_remotely<2>, out);
  if (is("remote-wait")) in_cluster(arrives_remotely<3>, out);
  if (is("remote-relaxed-wait")) in_cluster(arrives_remotely<4>, out);
  if (is("generic-address")) stores_shared<<<1, 32>>>(out);
  if (is("store-scope")) publishes<<<2, 32>>>(out, flag, out + 1);
  if (is("atomic-order")) unlocks<<<2, 32>>>(out, flag, out + 1);
  if (is("ldg")) loads_read_only<<<1, 32>>>(out, out + 32);
  if (is("nc")) loads_non_coherent<<<1, 32>>>(out, out + 32);
  if (is("shared-volatile")) hands_over<<<1, 64>>>(out);
  if (is("volatile-count")) counts_by_volatile<<<2, 1>>>(out);
  if (is("active-masks")) return place_all();
  if (is("turns")) takes_turns<<<64, 32>>>(out, out + 1);
  if (is("exchange")) {
    int* fresh;
    cudaMalloc(&fresh, 4);
    exchanges<<<1, 1>>>(fresh, out);
  }
  if (is("exchange-unused")) {
    int* fresh;
    cudaMalloc(&fresh, 4);
    opens_gates<<<1, 1>>>(fresh, out);
  }
  if (is("far")) goes_far<<<1, 1>>>(out, 1l << 58);
  return cudaDeviceSynchronize() != cudaSuccess;
}
