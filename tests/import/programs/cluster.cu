// A histogram whose bins are spread over the shared memory of a cluster's blocks. With NO_FIRST_SYNC a block counts in
// bins that their block has not cleared yet.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

__global__ void count(const int* x, int n, int* bins, int bins_of_block) {
  extern __shared__ int mine[];
  const cg::cluster_group cluster = cg::this_cluster();
  for (int i = static_cast<int>(threadIdx.x); i < bins_of_block; i += static_cast<int>(blockDim.x))
    mine[i] = 0;  // race
#ifndef NO_FIRST_SYNC
  cluster.sync();
#endif
  const int first = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  for (int i = first; i < n; i += static_cast<int>(gridDim.x * blockDim.x)) {
    int* const theirs = cluster.map_shared_rank(mine, static_cast<unsigned>(x[i] / bins_of_block));
    atomicAdd(theirs + x[i] % bins_of_block, 1);
  }
  auto arrived = cluster.barrier_arrive();
  cluster.barrier_wait(static_cast<decltype(arrived)&&>(arrived));
  for (int i = static_cast<int>(threadIdx.x); i < bins_of_block; i += static_cast<int>(blockDim.x))
    atomicAdd(bins + static_cast<int>(cluster.block_rank()) * bins_of_block + i, mine[i]);
}

int main() {
  const int n = 600, bins = 40, cluster_size = 2;
  std::vector<int> x(n), expected(bins), found(bins);
  for (int i = 0; i < n; ++i) ++expected[x[i] = i * 7 % bins];
  int *values = nullptr, *counts = nullptr;
  if (cudaMalloc(&values, n * sizeof(int)) != cudaSuccess || cudaMalloc(&counts, bins * sizeof(int)) != cudaSuccess)
    return 2;
  cudaMemcpy(values, x.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(counts, 0, bins * sizeof(int));
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeClusterDimension;
  attribute[0].val.clusterDim.x = cluster_size;
  attribute[0].val.clusterDim.y = attribute[0].val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(4);
  config.blockDim = dim3(64);
  config.dynamicSmemBytes = bins / cluster_size * sizeof(int);
  config.attrs = attribute;
  config.numAttrs = 1;
  if (cudaLaunchKernelEx(&config, count, values, n, counts, bins / cluster_size) != cudaSuccess) return 2;
  cudaMemcpy(found.data(), counts, bins * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(values);
  cudaFree(counts);
  int wrong = 0;
  for (int i = 0; i < bins; ++i) wrong += found[i] != expected[i];
  printf("%d of %d bins are wrong\n", wrong, bins);
  return wrong == 0 ? 0 : 1;
}
