// Sum of an array: one partial sum per block in dynamic shared memory, the last block to finish adds them up.
// With MISSING_BARRIER the tree reads a neighbour's partial sum before it is written.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#define CHECK(call)                                                                        \
  do {                                                                                     \
    cudaError_t status = (call);                                                           \
    if (status != cudaSuccess) {                                                           \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));      \
      return 2;                                                                            \
    }                                                                                      \
  } while (0)

extern __shared__ float shared_sums[];

__device__ unsigned int blocks_done = 0;

template <typename T, int kBlock>
__global__ void __launch_bounds__(kBlock) sum_kernel(const T* in, T* partial, T* out, int n) {
  __shared__ bool is_last;
  T* sums = shared_sums;
  const int tid = threadIdx.x;
  T sum = 0;
  for (int i = blockIdx.x * kBlock + tid; i < n; i += kBlock * gridDim.x) sum += in[i];
  sums[tid] = sum;
#pragma unroll
  for (int stride = kBlock / 2; stride > 0; stride >>= 1) {
#ifndef MISSING_BARRIER
    __syncthreads();
#endif
    if (tid < stride) sums[tid] += sums[tid + stride];  // race
  }
  if (tid == 0) {
    partial[blockIdx.x] = sums[0];
    __threadfence();
    is_last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && tid == 0) {
    __threadfence();
    T total = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) total += partial[b];
    *out = total;
  }
}

int main() {
  const int n = 1000, blocks = 3;
  std::vector<float> in(n);
  for (int i = 0; i < n; ++i) in[i] = static_cast<float>(i % 7);
  float *d_in, *d_partial, *d_out;
  CHECK(cudaMalloc(&d_in, n * sizeof(float)));
  CHECK(cudaMalloc((void**)&d_partial, blocks * sizeof(float)));
  CHECK(cudaMalloc((void**)&d_out, sizeof(float)));
  CHECK(cudaMemcpy(d_in, in.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  sum_kernel<float, 64><<<blocks, 64, 64 * sizeof(float)>>>(d_in, d_partial, d_out, n);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  float total = 0, expected = 0;
  CHECK(cudaMemcpy(&total, d_out, sizeof total, cudaMemcpyDeviceToHost));
  for (float x : in) expected += x;
  printf("sum %g, expected %g\n", total, expected);
  CHECK(cudaFree(d_in));
  CHECK(cudaFree(d_partial));
  CHECK(cudaFree(d_out));
  return total == expected ? 0 : 1;
}
