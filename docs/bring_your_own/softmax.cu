// A softmax to put on trial as source:
//   warpcheck verify softmax --source softmax.cu --entry my_softmax --device emulated
// One block per row; the row is read three times. Replace the kernel by yours and keep the entry's signature.
#include <cuda_runtime.h>

#include <cstdint>

constexpr int k_threads = 128;
constexpr int k_warps = k_threads / 32;

// NaN wins over every number, unlike fmaxf.
template <class T>
__device__ T larger(T a, T b) {
  return a > b || a != a ? a : b;
}

// The maximum or the sum over the block, in every thread. `slots` is free to be written again afterwards.
template <bool Max, class T>
__device__ T block_reduce(T v, T* slots) {
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, v, lanes);
    v = Max ? larger(v, other) : v + other;
  }
  if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = v;
  __syncthreads();
  v = slots[0];
  for (int w = 1; w < k_warps; ++w) v = Max ? larger(v, slots[w]) : v + slots[w];
  __syncthreads();
  return v;
}

__global__ void softmax_rows(const float* x, int64_t ldx, float* y, int64_t ldy, int64_t rows, int64_t cols) {
  __shared__ float maxima[k_warps];
  __shared__ double sums[k_warps];  // in double: the error of long rows must not grow with their length
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float* in = x + row * ldx;
    float* out = y + row * ldy;
    float m = -INFINITY;
    for (int64_t i = threadIdx.x; i < cols; i += k_threads) m = larger(m, in[i]);
    m = block_reduce<true>(m, maxima);
    double sum = 0;
    for (int64_t i = threadIdx.x; i < cols; i += k_threads) sum += expf(in[i] - m);
    sum = block_reduce<false>(sum, sums);
    for (int64_t i = threadIdx.x; i < cols; i += k_threads) out[i] = static_cast<float>(expf(in[i] - m) / sum);
  }
}

extern "C" void my_softmax(const float* x, int64_t ldx, float* y, int64_t ldy, int64_t rows, int64_t cols,
                           cudaStream_t stream) {
  const int64_t blocks = rows < 65535 ? rows : 65535;
  softmax_rows<<<static_cast<unsigned>(blocks), k_threads, 0, stream>>>(x, ldx, y, ldy, rows, cols);
}
