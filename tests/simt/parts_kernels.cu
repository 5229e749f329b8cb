// Kernels whose blocks run in parts of a launch.
#include "tests/simt/parts_kernels.hpp"

#include <cstdio>

#include "simt/simt.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {
namespace {

__device__ void exchange_and_store(const int* in, int* out) {
  SIMT_SHARED(slots, int[k_part_threads]);
  const int t = static_cast<int>(threadIdx.x), first = static_cast<int>(blockIdx.x) * k_part_threads;
  int sum = 0;
  for (int round = 0; round < 4; ++round) {
    slots[t] = in[first + t] + round;
    __syncthreads();
    sum += slots[k_part_threads - 1 - t];
    __syncthreads();
  }
  out[first + t] = sum;
}

// The second warp asks until the first has answered.
__device__ void ask_other_warp() {
  SIMT_SHARED(answer, int[1]);
  volatile int* const word = answer;
  if (threadIdx.x == 0) *word = 0;
  __syncthreads();
  if (threadIdx.x == 0) *word = 1;
  while (threadIdx.x >= 32 && *word == 0) __syncwarp();
}

__global__ void exchange(const int* in, int* out, extra what, int* host) {
  exchange_and_store(in, out);
  if (blockIdx.x + 2 != gridDim.x) return;
  if (what == extra::diverges) {
    if (threadIdx.x < 32)
      __syncthreads();
    else
      __syncwarp(~0u << (threadIdx.x % 2));
  }
  if (what == extra::asks) ask_other_warp();
  if (threadIdx.x != 0) return;
  const int own = static_cast<int>(blockIdx.x) * k_part_threads;
  if (what == extra::reads_first) out[own] = out[5];
  if (what == extra::writes_first) out[5] = 7;
  if (what == extra::leaves_bounds) out[own + 100 * k_part_threads] = 1;
  if (what == extra::counts) atomicAdd(&out[own], 1);
  if (what == extra::swaps) atomicExch(&out[own], 1);
  if (what == extra::prints) std::printf("block %u\n", blockIdx.x);
  if (what == extra::writes_host) *host = 1;
}

__global__ void scatter(unsigned char* out) {
  out[threadIdx.x * gridDim.x + blockIdx.x] = static_cast<unsigned char>(blockIdx.x);
}

__global__ void exchange_in_cluster(const int* in, int* out) {
  SIMT_SHARED(slots, int[k_part_threads]);
  const auto t = threadIdx.x, first = blockIdx.x * k_part_threads;
  slots[t] = in[first + t];
  simt::cluster_sync();
  out[first + t] = *simt::map_shared_rank(&slots[t], simt::cluster_rank() ^ 1);
  simt::cluster_sync();
}

__global__ void update(unsigned* words, unsigned long long* sums, bool of_block) {
  const unsigned t = threadIdx.x % 4, value = blockIdx.x * 2654435761u + threadIdx.x;
  atomicAdd(&words[t], value);
  atomicSub(&words[t], value / 2);
  atomicMin(&words[4 + t], value);
  atomicMin(reinterpret_cast<int*>(&words[8 + t]), static_cast<int>(value));
  atomicMax(&words[12 + t], value);
  atomicMax(reinterpret_cast<int*>(&words[16 + t]), static_cast<int>(value));
  atomicAnd(&words[20 + t], value | 0xff);
  atomicOr(&words[24 + t], value & 0x0f0f0f0f);
  atomicXor(&words[28 + t], value);
  atomicAdd(&sums[0], static_cast<unsigned long long>(value) << 16);
  atomicMax(&sums[1], static_cast<unsigned long long>(value) << 30);
  if (!of_block || threadIdx.x != 0) return;
  if (blockIdx.x == 0) atomicAdd(&words[32], 1);
  if (blockIdx.x + 2 == gridDim.x) atomicAdd_block(&words[32], 1);
}

__global__ void increment(const int* in, int* out) {
  simt::grid_dependency_wait();
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] + 1;
}

}  // namespace

void run_exchange(const int* in, int* out, unsigned blocks, extra what, int* host, simt::stream_t stream) {
  simt::launch({dim3(blocks), dim3(k_part_threads), 0, stream}, exchange, in, out, what, host);
}
void run_scatter(unsigned char* out, unsigned blocks, simt::stream_t stream) {
  simt::launch({dim3(blocks), dim3(k_part_threads), 0, stream}, scatter, out);
}
void run_clusters(const int* in, int* out, unsigned blocks, simt::stream_t stream) {
  simt::launch({dim3(blocks), dim3(k_part_threads), 0, stream, dim3(2)}, exchange_in_cluster, in, out);
}
void run_updates(unsigned* words, unsigned long long* sums, unsigned blocks, bool of_block, simt::stream_t stream) {
  simt::launch({dim3(blocks), dim3(k_part_threads), 0, stream}, update, words, sums, of_block);
}
void run_overlapping(const int* in, int* out, unsigned blocks, simt::stream_t stream) {
  simt::launch_config c = {dim3(blocks), dim3(k_part_threads), 0, stream};
  c.programmatic_launch = true;
  simt::launch(c, increment, in, out);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck::self
