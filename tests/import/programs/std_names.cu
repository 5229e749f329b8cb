// Names of std without std:: as this program's own, and overloads for the types of 16 bits.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <curand_kernel.h>

#include <iostream>
using namespace std;

int count = 1;  // <algorithm> is not included: the name is free
__global__ void reduce(const float* x, int n, float* y) { atomicAdd(y, threadIdx.x < n ? x[threadIdx.x] : 0.0f); }

#include <algorithm>
#include <numeric>
__global__ void reverse(float* x, int n) {
  const float other = x[n - 1 - threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = other;
}

int kind_of(float) { return 1; }
int kind_of(half) { return 2; }
int kind_of(nv_bfloat16) { return 3; }

int main() {
  float h[64], *x;
  iota(h, h + 64, 0.0f);
  cudaMalloc(&x, sizeof h);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  reverse<<<::count, 64>>>(x, 64);
  reduce<<<::count, 32>>>(x, 8, x + 63);
  cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(x);
  half a = 2.0f;
  const nv_bfloat16 b = 3.0f;
  const bool kinds = kind_of(a * a) == 2 && kind_of(-a) == 2 && kind_of(a += a) == 2 && kind_of(b - b) == 3;
  return kinds && h[0] == 63 && h[63] == 63 + 62 + 61 + 60 + 59 + 58 + 57 + 56 ? 0 : 1;
}
