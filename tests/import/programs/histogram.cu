// Byte histogram: counts per block in shared memory, then added to the global ones. With PLAIN_INCREMENT the shared
// counts are not updated atomically.
#include "cuda_runtime.h"
#include "device_launch_parameters.h"

#include <stdio.h>
#include <stdint.h>

constexpr int kBins = 64;

__constant__ int bin_of_byte[256];

namespace kernels {
__global__ void histogram(const uint8_t* data, unsigned* counts, size_t n) {
  __shared__ unsigned local[kBins], unused_padding;
  for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x) local[bin] = 0;
  if (threadIdx.x == 0) unused_padding = 0;
  __syncthreads();
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)blockDim.x * gridDim.x) {
#ifdef PLAIN_INCREMENT
    local[bin_of_byte[data[i]]]++;  // race
#else
    atomicAdd(&local[bin_of_byte[data[i]]], 1u);
#endif
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x) atomicAdd(counts + bin, local[bin]);
}
}  // namespace kernels

int main(int argc, char** argv) {
  const size_t n = argc > 1 ? (size_t)atoi(argv[1]) : 500;
  uint8_t* h = new uint8_t[n];
  int map[256];
  unsigned expected[kBins] = {}, counts[kBins];
  for (int b = 0; b < 256; b++) map[b] = b / 4;
  for (size_t i = 0; i < n; i++) {
    h[i] = (uint8_t)(i * 37 + (i >> 3));
    expected[map[h[i]]]++;
  }
  uint8_t* d;
  unsigned* d_counts;
  cudaMalloc(&d, n);
  cudaMalloc(&d_counts, sizeof counts);
  cudaMemcpyToSymbol(bin_of_byte, map, sizeof map);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMemcpyAsync(d, h, n, cudaMemcpyHostToDevice, stream);
  cudaMemsetAsync(d_counts, 0, sizeof counts, stream);
  kernels::histogram<<<4, 96, 0, stream>>>(d, d_counts, n);
  cudaMemcpyAsync(counts, d_counts, sizeof counts, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
  int wrong = 0;
  for (int b = 0; b < kBins; b++) wrong += counts[b] != expected[b];
  printf("%d bins wrong of %zu bytes\n", wrong, n);
  cudaFree(d);
  cudaFree(d_counts);
  delete[] h;
  return wrong != 0;
}
