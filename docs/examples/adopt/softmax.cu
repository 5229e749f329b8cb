// Softmax of the rows of a matrix, a block for each row: this project's own kernel. It knows nothing of warpcheck.
#include <cstdint>

constexpr int k_threads = 128, k_warps = k_threads / 32;

// The largest value, or the sum, of a block; every thread gets it.
template <bool Max>
__device__ float over_block(float v, float* slots) {
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, v, offset);
    v = Max ? fmaxf(v, other) : v + other;
  }
  if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = v;
  __syncthreads();
  v = slots[0];
  for (int w = 1; w < k_warps; ++w) v = Max ? fmaxf(v, slots[w]) : v + slots[w];
  __syncthreads();  // before the slots are written again
  return v;
}

__global__ void softmax_of_rows(const float* x, int64_t ldx, float* y, int64_t ldy, int64_t rows, int64_t cols) {
  __shared__ float slots[k_warps];
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float* in = x + row * ldx;
    float largest = -INFINITY;
    bool nan = false;
    for (int64_t i = threadIdx.x; i < cols; i += k_threads) {
      largest = fmaxf(largest, in[i]);
      nan |= isnan(in[i]);
    }
    largest = over_block<true>(largest, slots);
    double part = 0;  // so that a long row loses nothing in one thread's chain of additions
    for (int64_t i = threadIdx.x; i < cols; i += k_threads) part += expf(in[i] - largest);
    const float sum = over_block<false>(nan ? NAN : static_cast<float>(part), slots);
    for (int64_t i = threadIdx.x; i < cols; i += k_threads) y[row * ldy + i] = expf(in[i] - largest) / sum;
  }
}

extern "C" void rows_softmax(const float* x, int64_t ldx, float* y, int64_t ldy, int64_t rows, int64_t cols,
                             cudaStream_t stream) {
  if (rows == 0 || cols == 0) return;
  const int blocks = static_cast<int>(rows < 4096 ? rows : 4096);
  softmax_of_rows<<<blocks, k_threads, 0, stream>>>(x, ldx, y, ldy, rows, cols);
}
