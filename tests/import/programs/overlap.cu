// Scales a vector, then sums it up: the second launch may start while the first runs, sets its own sum up meanwhile and
// then waits. With NO_WAIT it reads what may not be written yet.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

__global__ void scale(float* x, int n, float factor) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  cudaTriggerProgrammaticLaunchCompletion();
  if (i < n) x[i] *= factor;
}

template <int Threads>
__global__ void sum_up(const float* x, int n, float* sum) {
  __shared__ float of_thread[Threads];
  const int t = static_cast<int>(threadIdx.x);
  of_thread[t] = 0;
#ifndef NO_WAIT
  cudaGridDependencySynchronize();
#endif
  for (int i = t; i < n; i += Threads) of_thread[t] += x[i];  // race
  for (int half = Threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) of_thread[t] += of_thread[t + half];
  }
  if (t == 0) *sum = of_thread[0];
}

int main() {
  const int n = 200;
  std::vector<float> x(n);
  for (int i = 0; i < n; ++i) x[i] = static_cast<float>(i);
  float *device = nullptr, *sum = nullptr;
  if (cudaMalloc(&device, n * sizeof(float)) != cudaSuccess || cudaMalloc(&sum, sizeof(float)) != cudaSuccess) return 2;
  cudaMemcpy(device, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  scale<<<4, 64>>>(device, n, 2.0f);
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute[0].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(128);
  config.attrs = attribute;
  config.numAttrs = 1;
  if (cudaLaunchKernelEx(&config, sum_up<128>, device, n, sum) != cudaSuccess) return 2;
  float result = 0;
  cudaMemcpy(&result, sum, sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(device);
  cudaFree(sum);
  printf("%g\n", result);
  return result == static_cast<float>(n * (n - 1)) ? 0 : 1;
}
