// Softmaxes, one block per row, right but for one planted defect each.
#include <cuda_runtime.h>

#include <cstdint>

enum class defect {
  none,
  reads_past_the_end,
  forgets_a_barrier,
  reads_fresh_memory,
  leaves_lanes_behind,
  writes_past_the_end,
  writes_nowhere,
  writes_nowhere_for_two_rows
};

constexpr int k_threads = 128;
constexpr int k_warps = k_threads / 32;
constexpr float k_improbable = 1.2345678e-33f;  // a value that changes the result; without the test nothing is read

template <class T>
__device__ T larger(T a, T b) {
  return a > b || a != a ? a : b;
}

template <defect Defect, bool Max, class T>
__device__ T block_reduce(T v, T* slots) {
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, v, lanes);
    v = Max ? larger(v, other) : v + other;
  }
  if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = v;
  if (Defect != defect::forgets_a_barrier) __syncthreads();
  v = slots[0];
  for (int w = 1; w < k_warps; ++w) v = Max ? larger(v, slots[w]) : v + slots[w];
  __syncthreads();
  return v;
}

template <defect Defect>
__global__ void softmax_rows(const float* x, int64_t ldx, float* y, int64_t ldy, int64_t rows, int64_t cols,
                             const float* fresh) {
  __shared__ float maxima[k_warps];
  __shared__ double sums[k_warps];
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float* in = x + row * ldx;
    float* out = y + row * ldy;
    float m = -INFINITY;
    for (int64_t i = threadIdx.x; i < cols; i += k_threads) m = larger(m, in[i]);
    if (Defect == defect::reads_past_the_end && row == rows - 1 && in[cols] == k_improbable) m = 0;
    if (Defect == defect::reads_fresh_memory && fresh[threadIdx.x] == k_improbable) m = 0;
    m = block_reduce<Defect, true>(m, maxima);
    double sum = 0;
    for (int64_t i = threadIdx.x; i < cols; i += k_threads) sum += expf(in[i] - m);
    sum = block_reduce<Defect, false>(sum, sums);
    if (Defect == defect::leaves_lanes_behind && threadIdx.x < 16) __syncthreads();
    for (int64_t i = threadIdx.x; i < cols; i += k_threads) out[i] = static_cast<float>(expf(in[i] - m) / sum);
    if (Defect == defect::writes_past_the_end && row == rows - 1 && threadIdx.x == 0) out[cols] = 0;
    if ((Defect == defect::writes_nowhere || (Defect == defect::writes_nowhere_for_two_rows && rows == 2)) &&
        threadIdx.x == 0)
      *reinterpret_cast<volatile float*>(64) = 0;
  }
}

template <defect Defect>
void launch(const float* x, int64_t ldx, float* y, int64_t ldy, int64_t rows, int64_t cols, cudaStream_t stream) {
  void* fresh = nullptr;
  if (Defect == defect::reads_fresh_memory) cudaMalloc(&fresh, k_threads * sizeof(float));
  const int64_t blocks = rows < 65535 ? rows : 65535;
  softmax_rows<Defect><<<static_cast<unsigned>(blocks), k_threads, 0, stream>>>(x, ldx, y, ldy, rows, cols,
                                                                                static_cast<const float*>(fresh));
}

#define SOFTMAX_WITH(Defect)                                                                             \
  extern "C" void Defect(const float* x, int64_t ldx, float* y, int64_t ldy, int64_t rows, int64_t cols, \
                         cudaStream_t stream) {                                                          \
    launch<defect::Defect>(x, ldx, y, ldy, rows, cols, stream);                                          \
  }
SOFTMAX_WITH(none)
SOFTMAX_WITH(reads_past_the_end)
SOFTMAX_WITH(forgets_a_barrier)
SOFTMAX_WITH(reads_fresh_memory)
SOFTMAX_WITH(leaves_lanes_behind)
SOFTMAX_WITH(writes_past_the_end)
SOFTMAX_WITH(writes_nowhere)
SOFTMAX_WITH(writes_nowhere_for_two_rows)
