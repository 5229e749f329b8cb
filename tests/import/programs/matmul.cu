// Tiled matrix product. With NO_SECOND_BARRIER a fast warp loads the next tile over the one that others still multiply.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

template <int TILE, typename T = float>
__global__ void matmul(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, int m, int n, int k) {
  __shared__ T as[TILE][TILE], bs[TILE][TILE];
  const int row = blockIdx.y * TILE + threadIdx.y;
  const int col = blockIdx.x * TILE + threadIdx.x;
  T sum{};
  for (int t = 0; t < k; t += TILE) {
    as[threadIdx.y][threadIdx.x] = row < m && t + threadIdx.x < k ? a[row * k + t + threadIdx.x] : T{};  // race
    bs[threadIdx.y][threadIdx.x] = t + threadIdx.y < k && col < n ? b[(t + threadIdx.y) * n + col] : T{};
    __syncthreads();
    for (int i = 0; i < TILE; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
#ifndef NO_SECOND_BARRIER
    __syncthreads();
#endif
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

template <int TILE>
static void multiply(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t stream) {
  const dim3 grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE), block(TILE, TILE);
  matmul<TILE><<<grid, block, 0, stream>>>(a, b, c, m, n, k);
}

int main() {
  const int m = 19, n = 10, k = 21;
  const std::string banner = R"(not a launch: k<<<1, 2>>>(x) /* nor a comment)";
  std::vector<float> a(m * k), b(k * n), c(m * n);
  for (size_t i = 0; i < a.size(); ++i) a[i] = float(i % 5) - 2;
  for (size_t i = 0; i < b.size(); ++i) b[i] = float(i % 3) - 1;
  float *da, *db, *dc;
  cudaMalloc(&da, a.size() * sizeof(float));
  cudaMalloc(&db, b.size() * sizeof(float));
  cudaMalloc(&dc, c.size() * sizeof(float));
  cudaMemcpy(da, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice);
  multiply<8>(da, db, dc, m, n, k, 0);
  cudaMemcpy(c.data(), dc, c.size() * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(da), cudaFree(db), cudaFree(dc);
  int wrong = 0;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
      wrong += sum != c[i * n + j];
    }
  printf("%d of %d products wrong (%zu)\n", wrong, m * n, banner.size());
  return wrong > 0;
}
