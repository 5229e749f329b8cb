// Approximated values, and where they go: each way in a mode of its own.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

constexpr int k_threads = 64;

__global__ void keep(const float* x, float* y) { y[threadIdx.x] = 2 * __expf(x[threadIdx.x]); }
__global__ void keep_of_math(const float* x, float* y) { y[threadIdx.x] = expf(x[threadIdx.x]) + std::sin(1.0f); }
__global__ void branch(const float* x, float* y) {
  if (__expf(x[threadIdx.x]) > 1) y[threadIdx.x] = 1;
}
__global__ void branch_of_math(const float* x, float* y) {
  float sine, cosine;
  sincosf(x[threadIdx.x], &sine, &cosine);
  if (cosine < 0.9f) y[threadIdx.x] = sine;
}
__global__ void branch_of_halves(const float* x, float* y) {
  if (__half2float(hexp(__float2half(x[threadIdx.x]))) > 1) y[threadIdx.x] = 1;
}
__global__ void address(const float* x, float* y) {
  const int place = static_cast<int>(__expf(x[threadIdx.x])) & 15;
  atomicAdd(&y[place], 1.0f);
}
__global__ void address_of_ptx(const float* x, float* y) {
  float power;
  asm("ex2.approx.f32 %0, %1;" : "=f"(power) : "f"(x[threadIdx.x]));
  atomicAdd(&y[static_cast<int>(power) & 15], 1.0f);
}
__global__ void wait(float* y) {
  const long long begin = clock64();
  while (clock64() - begin < 5) y[threadIdx.x] += 1;
}

void time_it() {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  cudaEventRecord(begin);
  cudaEventRecord(end);
  float milliseconds = 1;
  cudaEventElapsedTime(&milliseconds, begin, end);
  if (milliseconds > 0.001f) printf("slow\n");
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  float h[k_threads], *x, *y;
  for (int i = 0; i < k_threads; ++i) h[i] = 0.05f * i - 1;
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&y, sizeof h);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemset(y, 0, sizeof h);
  if (!strcmp(mode, "keep")) keep<<<1, k_threads>>>(x, y);
  if (!strcmp(mode, "keep-of-math")) keep_of_math<<<1, k_threads>>>(x, y);
  if (!strcmp(mode, "branch")) branch<<<1, k_threads>>>(x, y);
  if (!strcmp(mode, "branch-of-math")) branch_of_math<<<1, k_threads>>>(x, y);
  if (!strcmp(mode, "branch-of-halves")) branch_of_halves<<<1, k_threads>>>(x, y);
  if (!strcmp(mode, "address")) address<<<1, k_threads>>>(x, y);
  if (!strcmp(mode, "address-of-ptx")) address_of_ptx<<<1, k_threads>>>(x, y);
  if (!strcmp(mode, "wait")) wait<<<1, k_threads>>>(y);
  if (!strcmp(mode, "time")) time_it();
  cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
  printf("%g\n", h[0]);
  cudaFree(x);
  cudaFree(y);
  return 0;
}
