// Clusters by attribute, and products of a warpgroup that one thread waits for.
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "on_device.cuh"

__device__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

// Each block takes a number from the next one of its cluster.
template <int Blocks>
__global__ void __cluster_dims__(Blocks, 1, 1) pass_on(int* out) {
  __shared__ int mine;
  uint32_t rank, count, theirs;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
  if (threadIdx.x == 0) mine = 10 * blockIdx.x;
#ifndef NO_SYNC
  asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
#endif
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(theirs)
               : "r"(shared_address(&mine)), "r"((rank + 1) % count));
  int value;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(theirs) : "memory");
  if (threadIdx.x == 0) out[blockIdx.x] = value + static_cast<int>(count);
  asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
}

bool clusters() {
  const on_device<int> out(8);
  bool right = true;
  for (int turn = 0; turn < 2; ++turn) {
    pass_on<4><<<8, 32>>>(out.p);
    const std::vector<int> got = out.host();
    for (int i = 0; i < 8; ++i) right &= got[i] == 10 * (i / 4 * 4 + (i + 1) % 4) + 4;
  }
  pass_on<2><<<8, 32>>>(out.p);
  const std::vector<int> got = out.host();
  for (int i = 0; i < 8; ++i) right &= got[i] == 10 * (i / 2 * 2 + (i + 1) % 2) + 2;
  return right;
}

#define REGISTER_OF(name)                     \
  ([] {                                       \
    uint32_t v;                               \
    asm("mov.u32 %0, %%" name ";" : "=r"(v)); \
    return v;                                 \
  }())
#define REGISTERS_OF(name) \
  uint3 { REGISTER_OF(name ".x"), REGISTER_OF(name ".y"), REGISTER_OF(name ".z") }

// Where a block is in its cluster, as registers and cooperative groups say, and the number of the next block's.
struct place {
  uint3 in_cluster, cluster, clusters, size;
  dim3 group_index, group_size;
  uint32_t rank;
  int next;
};
__device__ void find_place(place* out) {
  __shared__ int mine;
  const cooperative_groups::cluster_group group = cooperative_groups::this_cluster();
  const unsigned number = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  if (threadIdx.x == 0) mine = static_cast<int>(number);
#ifndef NO_SYNC
  group.sync();
#endif
  const int next = *group.map_shared_rank(&mine, (group.block_rank() + 1) % group.num_blocks());
  if (threadIdx.x == 0)
    out[number] = {REGISTERS_OF("cluster_ctaid"),
                   REGISTERS_OF("clusterid"),
                   REGISTERS_OF("nclusterid"),
                   REGISTERS_OF("cluster_nctaid"),
                   group.block_index(),
                   group.dim_blocks(),
                   group.block_rank(),
                   next};
  group.sync();
}
__global__ void __cluster_dims__(2, 2, 2) box(place* out) { find_place(out); }
__global__ void plate(place* out) { find_place(out); }

// Whether each block of the grid is where clusters of this size put it.
bool are_right(const std::vector<place>& of, dim3 grid, uint3 size) {
  bool right = true;
  const auto same = [](auto a, uint3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; };
  for (unsigned i = 0; i < grid.x * grid.y * grid.z; ++i) {
    const uint3 at = {i % grid.x, i / grid.x % grid.y, i / grid.x / grid.y};
    const uint3 in = {at.x % size.x, at.y % size.y, at.z % size.z};
    const unsigned rank = in.x + size.x * (in.y + size.y * in.z), next = (rank + 1) % (size.x * size.y * size.z);
    const uint3 other = {at.x - in.x + next % size.x, at.y - in.y + next / size.x % size.y,
                         at.z - in.z + next / size.x / size.y};
    const place& p = of[i];
    right &= same(p.in_cluster, in) && same(p.group_index, in) && same(p.size, size) && same(p.group_size, size);
    right &= same(p.cluster, {at.x / size.x, at.y / size.y, at.z / size.z}) && p.rank == rank;
    right &= same(p.clusters, {grid.x / size.x, grid.y / size.y, grid.z / size.z});
    right &= p.next == static_cast<int>(other.x + grid.x * (other.y + grid.y * other.z));
  }
  return right;
}

bool boxes() {
  const on_device<place> out(6 * 4 * 2);
  box<<<dim3(6, 4, 2), 32>>>(out.p);
  bool right = are_right(out.host(), dim3(6, 4, 2), {2, 2, 2});
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeClusterDimension;
  attribute[0].val.clusterDim.x = attribute[0].val.clusterDim.z = 1;
  attribute[0].val.clusterDim.y = 4;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(6, 4, 2);
  config.blockDim = 32;
  config.attrs = attribute;
  config.numAttrs = 1;
  right &= cudaLaunchKernelEx(&config, plate, out.p) == cudaSuccess;
  right &= are_right(out.host(), dim3(6, 4, 2), {1, 4, 1});
  return right;
}

// The attribute and the launch disagree.
bool other_cluster() {
  int* out;
  cudaMalloc(&out, 32);
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeClusterDimension;
  attribute[0].val.clusterDim.x = 8;
  attribute[0].val.clusterDim.y = attribute[0].val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = 8;
  config.blockDim = 32;
  config.attrs = attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, pass_on<4>, out) != cudaSuccess;
}

// Stores with a cache hint convert what they store.
__global__ void store_hinted(__nv_bfloat16* out) { __stwt(out + threadIdx.x, 0.5f * threadIdx.x); }

bool hints() {
  const on_device<__nv_bfloat16> out(32);
  store_hinted<<<1, 32>>>(out.p);
  const std::vector<__nv_bfloat16> got = out.host();
  for (int i = 0; i < 32; ++i)
    if (__bfloat162float(got[i]) != 0.5f * i) return false;
  return true;
}

// Operands in core matrices of 8 rows and 16 bytes: 128 bytes to the next along k, 256 along the rows.
__device__ int core_offset(int row, int k) { return row / 8 * 128 + k / 8 * 64 + row % 8 * 8 + k % 8; }
__device__ uint64_t descriptor(const void* p) {
#ifdef GENERIC_ADDRESS  // on a GPU its low bits are those of the shared address
  const auto address = reinterpret_cast<uint64_t>(p);
#else
  const uint64_t address = shared_address(p);
#endif
  return (address & 0x3ffff) >> 4 | uint64_t{128 >> 4} << 16 | uint64_t{256 >> 4} << 32;
}

// A product is done for the whole warpgroup when one of its threads has waited: that thread may bring the next operand.
__global__ void refill(const __nv_bfloat16* next, float* out) {
  extern __shared__ alignas(128) __nv_bfloat16 a[];
  __shared__ alignas(128) __nv_bfloat16 b[8 * 16];
  __shared__ uint64_t full;
  const int t = threadIdx.x;
  for (int i = t; i < 64 * 16; i += 128) a[core_offset(i / 16, i % 16)] = i / 16 % 4 + 1;
  for (int i = t; i < 8 * 16; i += 128) b[core_offset(i / 16, i % 16)] = 1;
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
#ifdef NO_ZERO
  float d[4];
#else
  float d[4] = {};
#endif
  for (int turn = 0; turn < 2; ++turn) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(descriptor(a)), "l"(descriptor(b)));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#ifndef NO_PRODUCT_WAIT
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#endif
    if (turn == 1) break;
    if (t == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 2048;" ::"r"(shared_address(&full)) : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 2048, [%2];" ::"r"(
                       shared_address(a)),
                   "l"(next), "r"(shared_address(&full))
                   : "memory");
    }
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W; }" ::"r"(
                     shared_address(&full))
                 : "memory");
  }
#ifdef NO_PRODUCT_WAIT
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#endif
  for (int i = 0; i < 4; ++i) out[(t / 32 * 16 + t % 32 / 4 + i / 2 * 8) * 8 + t % 4 * 2 + i % 2] = d[i];
}

bool products() {
  const on_device<__nv_bfloat16> next(std::vector<__nv_bfloat16>(64 * 16, 2.0f));
  const on_device<float> out(64 * 8);
  refill<<<1, 128, 64 * 16 * sizeof(__nv_bfloat16)>>>(next.p, out.p);
  const std::vector<float> got = out.host();
  for (int i = 0; i < 64 * 8; ++i)
    if (got[i] != 16.0f * (i / 8 % 4 + 1) + 32.0f) return false;
  return true;
}

__global__ void store_by_all(int* y) {
  __shared__ alignas(128) int s[32];
  s[threadIdx.x] = 7;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncwarp();
#ifdef TWO_SOURCES
  const int from = threadIdx.x / 16 * 16;
#else
  const int from = 0;
#endif
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 64;" ::"l"(y), "r"(shared_address(s + from))
               : "memory");
  asm volatile("cp.async.bulk.commit_group;");
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

bool stores() {
  const on_device<int> y(16);
  store_by_all<<<1, 32>>>(y.p);
  return y.host()[15] == 7;
}

int main(int argc, char** argv) {
  const mode modes[] = {{"clusters", clusters}, {"boxes", boxes},       {"other-cluster", other_cluster},
                        {"hints", hints},       {"products", products}, {"stores", stores}};
  return run_modes(argc, argv, modes);
}
