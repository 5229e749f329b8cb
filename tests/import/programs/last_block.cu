// Every block counts a part of the positive numbers, all its threads their own; the last block to finish adds the
// counts up and sets the counter of blocks back. With NO_FENCE the counts of other blocks need not have arrived.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

__device__ unsigned int blocks_done;

__global__ void count_positive(const float* x, int n, int* counts, int* total) {
  __shared__ bool is_last;
  int mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i] > 0;
  counts[blockIdx.x * blockDim.x + threadIdx.x] = mine;
#ifndef NO_FENCE
  __threadfence();
#endif
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(&blocks_done, 1) == gridDim.x - 1;
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  int sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) sum += counts[b * blockDim.x + threadIdx.x];  // race
  atomicAdd(total, sum);
  if (threadIdx.x == 0) blocks_done = 0;
}

int main() {
  const int n = 1000, blocks = 4, threads = 64;
  std::vector<float> x(n);
  int expected = 0;
  for (int i = 0; i < n; ++i) {
    x[i] = static_cast<float>(i % 7 - 3);
    expected += 2 * (x[i] > 0);
  }
  float* device = nullptr;
  int *counts = nullptr, *total = nullptr, found = 0;
  if (cudaMalloc(&device, n * sizeof(float)) != cudaSuccess) return 2;
  if (cudaMalloc(&counts, blocks * threads * sizeof(int)) != cudaSuccess) return 2;
  if (cudaMalloc(&total, sizeof(int)) != cudaSuccess) return 2;
  cudaMemcpy(device, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(total, 0, sizeof(int));
  for (int run = 0; run < 2; ++run) count_positive<<<blocks, threads>>>(device, n, counts, total);
  cudaMemcpy(&found, total, sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(total);
  cudaFree(counts);
  cudaFree(device);
  std::printf("%d positive\n", found / 2);
  return found == expected ? 0 : 1;
}
