// What programs take from libcu++'s headers <cuda/ptx>, <cuda/barrier> and <cuda/annotated_ptr>, each in a mode of its
// own. With NO_FENCE the ring refills a buffer without a proxy fence after its reads.
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda_runtime.h>

#include <cuda/annotated_ptr>
#include <cuda/barrier>
#include <cuda/ptx>
#include <utility>

#include "on_device.cuh"

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

constexpr int k_threads = 64;

// One thread copies tiles into a ring of buffers, from which the others read.
__global__ void ring(const float* x, float* y) {
  constexpr int k_stages = 3, k_tile = 32, k_tiles = 10;
  __shared__ alignas(16) float tiles[k_stages][k_tile];
  __shared__ uint64_t full[k_stages], empty[k_stages];
  for (int i = 0; i < k_stages && threadIdx.x == 0; ++i) {
    ptx::mbarrier_init(&full[i], 1);
    ptx::mbarrier_init(&empty[i], k_tile);
  }
  ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  __syncthreads();
  float sum = 0;
  for (int t = 0; t < k_tiles; ++t) {
    const int stage = t % k_stages;
    const uint32_t phase = t / k_stages % 2;
    if (threadIdx.x == k_tile) {
      while (!ptx::mbarrier_try_wait_parity(&empty[stage], phase ^ 1)) {
      }
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[stage],
                                     uint32_t(sizeof tiles[0]));
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tiles[stage], x + t * k_tile, uint32_t(sizeof tiles[0]),
                         &full[stage]);  // copy
    } else if (threadIdx.x < k_tile) {
      while (!ptx::mbarrier_try_wait_parity(&full[stage], phase)) {
      }
      sum += tiles[stage][k_tile - 1 - threadIdx.x];
#ifndef NO_FENCE
      ptx::fence_proxy_async(ptx::space_shared);
#endif
      ptx::mbarrier_arrive(&empty[stage]);
    }
  }
  y[threadIdx.x] = threadIdx.x >= k_tile || sum == 1440.0f + 10 * (k_tile - 1 - threadIdx.x);
}

// Each block of a cluster stores a number in the other one, whose barrier counts its bytes.
__global__ void __cluster_dims__(2) remote(const float*, float* y) {
  __shared__ uint64_t arrived;
  __shared__ int got;
  const cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&arrived, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  cluster.sync();
  const unsigned other = 1 - cluster.block_rank();
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &arrived, 4u);
    ptx::st_async(cluster.map_shared_rank(&got, other), int(40 + cluster.block_rank()),
                  cluster.map_shared_rank(&arrived, other));
  }
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &arrived, 0)) {
  }
  y[blockIdx.x * 32 + threadIdx.x] = got == int(40 + other);
  cluster.sync();
}

// The last thread to arrive calls a function before the others go on.
struct count_phases {
  int* phases;
  __device__ void operator()() const { ++*phases; }
};
__global__ void completion(const float*, float* y) {
  using barrier = cuda::barrier<cuda::thread_scope_block, count_phases>;
  __shared__ int phases;
  __shared__ alignas(barrier) char memory[sizeof(barrier)];
  barrier& all = *reinterpret_cast<barrier*>(memory);
  if (threadIdx.x == 0) {
    phases = 0;
    init(&all, k_threads, count_phases{&phases});
  }
  __syncthreads();
  for (int i = 0; i < 3; ++i) all.arrive_and_wait();
  y[threadIdx.x] = phases == 3;
}

__global__ void annotated(const float* x, float* y) {
  const cuda::annotated_ptr<const float, cuda::access_property::persisting> p(x);
  y[threadIdx.x] = p[threadIdx.x] == float(threadIdx.x);
}

int main(int argc, char** argv) {
  const struct {
    const char* name;
    void (*kernel)(const float*, float*);
    int blocks;
  } modes[] = {{"ring", ring, 1}, {"remote", remote, 2}, {"completion", completion, 1}, {"annotated", annotated, 1}};
  return run_modes(argc, argv, modes, [](const auto& m) {
    std::vector<float> numbers(320);
    for (int i = 0; i < 320; ++i) numbers[i] = static_cast<float>(i);
    const on_device<float> x(numbers), y(k_threads);
    m.kernel<<<m.blocks, k_threads / m.blocks>>>(x.p, y.p);
    return y.host() == std::vector<float>(k_threads, 1);
  });
}
