// Jacobi smoothing of a ring: all steps in one cooperative launch, the whole grid meeting after each.
// With BLOCK_BARRIER_ONLY a block reads its neighbours' cells of this step while they are written.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

__global__ void smooth(float* a, float* b, int n, int steps) {
  const cg::grid_group grid = cg::this_grid();
  for (int step = 0; step < steps; ++step) {
    const float* from = step % 2 == 0 ? a : b;
    float* to = step % 2 == 0 ? b : a;
    for (int i = static_cast<int>(grid.thread_rank()); i < n; i += static_cast<int>(grid.size()))
      to[i] = (from[(i + n - 1) % n] + 2 * from[i] + from[(i + 1) % n]) / 4;  // race
#ifdef BLOCK_BARRIER_ONLY
    cg::this_thread_block().sync();
#else
    if (step % 2 == 0)
      grid.sync();
    else
      grid.barrier_wait(grid.barrier_arrive());
#endif
  }
}

int main() {
  int n = 200, steps = 5;
  std::vector<float> x(n), expected(n), next(n);
  for (int i = 0; i < n; ++i) x[i] = expected[i] = static_cast<float>(i % 16);
  for (int step = 0; step < steps; ++step) {
    for (int i = 0; i < n; ++i) next[i] = (expected[(i + n - 1) % n] + 2 * expected[i] + expected[(i + 1) % n]) / 4;
    expected.swap(next);
  }
  float *a = nullptr, *b = nullptr;
  if (cudaMalloc(&a, n * sizeof(float)) != cudaSuccess || cudaMalloc(&b, n * sizeof(float)) != cudaSuccess) return 2;
  cudaMemcpy(a, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  void* arguments[] = {&a, &b, &n, &steps};
  if (cudaLaunchCooperativeKernel((void*)smooth, dim3(4), dim3(64), arguments, 0, 0) != cudaSuccess) return 2;
  if (cudaDeviceSynchronize() != cudaSuccess) return 2;
  cudaMemcpy(x.data(), steps % 2 == 0 ? a : b, n * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(b);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += x[i] != expected[i];
  printf("%d of %d cells are wrong\n", wrong, n);
  return wrong == 0 ? 0 : 1;
}
