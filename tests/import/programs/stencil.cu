// One-dimensional stencil of radius 3 with a halo in shared memory. With NO_RIGHT_HALO nobody loads the right halo.
#include <cuda_runtime.h>
#include <stdio.h>
#include <math.h>

#define RADIUS 3
#define BLOCK 32
#define LAUNCH(kernel, grid, block, ...) kernel<<<grid, block>>>(__VA_ARGS__)

__global__ void stencil(const float *in, float *out, int n) {
  __shared__ volatile float temp[BLOCK + 2 * RADIUS];
  int g = threadIdx.x + blockIdx.x * blockDim.x;
  int l = threadIdx.x + RADIUS;
  temp[l] = g < n ? in[g] : 0.f;
  if (threadIdx.x < RADIUS) {
    temp[l - RADIUS] = g >= RADIUS ? in[g - RADIUS] : 0.f;
#ifndef NO_RIGHT_HALO
    temp[l + BLOCK] = g + BLOCK < n ? in[g + BLOCK] : 0.f;
#endif
  }
  __syncthreads();
  float result = 0;
  for (int offset = -RADIUS; offset <= RADIUS; offset++)
    result += temp[l + offset];  // uninitialized
  if (g < n) out[g] = result;
}

int main(void) {
  const int n = 150;
  float in[n], out[n];
  for (int i = 0; i < n; i++) in[i] = (float)(i % 11);
  float *d_in, *d_out;
  cudaMalloc((void **)&d_in, sizeof in);
  cudaMalloc((void **)&d_out, sizeof out);
  cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice);
  LAUNCH(stencil, (n + BLOCK - 1) / BLOCK, BLOCK, d_in, d_out, n);
  cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost);
  cudaFree(d_in);
  cudaFree(d_out);
  for (int i = 0; i < n; i++) {
    float expected = 0;
    for (int k = i - RADIUS; k <= i + RADIUS; k++)
      if (k >= 0 && k < n) expected += in[k];
    if (fabsf(out[i] - expected) > 0) {
      printf("out[%d] = %g, expected %g\n", i, out[i], expected);
      return 1;
    }
  }
  printf("all %d values are right\n", n);
  return 0;
}
