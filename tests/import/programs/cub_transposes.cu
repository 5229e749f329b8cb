// CUB's loads and stores whose threads exchange items: results, and TempStorage that is used again. -D NO_BARRIER
// leaves out a barrier between two uses.
#include <cub/cub.cuh>

#include <cuda_runtime.h>

constexpr int k_threads = 64, k_each = 3, k_items = k_threads * k_each;

template <cub::BlockLoadAlgorithm LoadBy, cub::BlockStoreAlgorithm StoreBy>
__global__ void sums(const int* x, int* y, int n) {
  using load = cub::BlockLoad<int, k_threads, k_each, LoadBy>;
  using scan = cub::BlockScan<int, k_threads>;
  using store = cub::BlockStore<int, k_threads, k_each, StoreBy>;
  __shared__ union {
    typename load::TempStorage load;
    scan::TempStorage scan;
    typename store::TempStorage store;
  } temp;
  int v[k_each];
  load(temp.load).Load(x, v, n, 0);  // load
#ifndef NO_BARRIER
  __syncthreads();
#endif
  scan(temp.scan).InclusiveSum(v, v);  // scan
  __syncthreads();
  store(temp.store).Store(y, v, n);
}

template <cub::BlockLoadAlgorithm LoadBy, cub::BlockStoreAlgorithm StoreBy>
bool are_right() {
  int h[k_items], *x, *y;
  for (int i = 0; i < k_items; ++i) h[i] = i;
  cudaMalloc(&x, sizeof h), cudaMalloc(&y, sizeof h);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemset(y, 0, sizeof h);
  sums<LoadBy, StoreBy><<<1, k_threads>>>(x, y, k_items - 2);
  cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(x), cudaFree(y);
  for (int i = 0; i < k_items; ++i)
    if (h[i] != (i < k_items - 2 ? i * (i + 1) / 2 : 0)) return false;
  return true;
}

int main() {
  if (!are_right<cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>()) return 1;
  if (!are_right<cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED>()) return 2;
  if (!are_right<cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_DIRECT>()) return 3;
  return 0;
}
