// Row softmax with one block per row. With REUSED_SLOT the second block reduction overwrites the slot that threads may
// still be reading from the first: the bug of several published kernels.
#include <cuda_runtime.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

__device__ __forceinline__ float warp_max(float v) {
  for (int offset = 16; offset > 0; offset /= 2) v = fmaxf(v, __shfl_xor_sync(0xFFFFFFFF, v, offset));
  return v;
}
__device__ __forceinline__ float warp_sum(float v) {
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(0xFFFFFFFF, v, offset);
  return v;
}

__global__ void softmax(const float* x, float* y, int cols) {
  __shared__ float slot[32];
  const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize, warps = blockDim.x / warpSize;
  x += (size_t)blockIdx.x * cols;
  y += (size_t)blockIdx.x * cols;

  float m = -FLT_MAX;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) m = fmaxf(m, x[i]);
  m = warp_max(m);
  if (lane == 0) slot[warp] = m;
  __syncthreads();
  m = slot[0];  // race
  for (int w = 1; w < warps; ++w) m = fmaxf(m, slot[w]);
#ifndef REUSED_SLOT
  __syncthreads();
#endif

  float sum = 0;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += __expf(x[i] - m);
  sum = warp_sum(sum);
  if (lane == 0) slot[warp] = sum;
  __syncthreads();
  sum = 0;
  for (int w = 0; w < warps; ++w) sum += slot[w];
  for (int i = threadIdx.x; i < cols; i += blockDim.x) y[i] = __expf(x[i] - m) / sum;
}

int main() {
  const int rows = 4, cols = 257;
  float *x, *y;
  cudaMallocManaged(&x, rows * cols * sizeof(float));
  cudaMallocManaged(&y, rows * cols * sizeof(float));
  for (int i = 0; i < rows * cols; i++) x[i] = (float)(i % 19) - 9.0f;
  softmax<<<rows, 128>>>(x, y, cols);
  cudaDeviceSynchronize();
  int wrong = 0;
  for (int r = 0; r < rows; r++) {
    double sum = 0;
    for (int i = 0; i < cols; i++) sum += y[r * cols + i];
    if (fabs(sum - 1.0) > 1e-4) wrong++;
  }
  printf("%d rows do not sum to 1\n", wrong);
  cudaFree(x);
  cudaFree(y);
  return wrong;
}
