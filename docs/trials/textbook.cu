// Textbook kernels that the contracts reject (textbook.md). One thread for an element or a row.
#include <cuda_runtime.h>
#include <cstdint>

__device__ int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void logistic(const float* x, float* y, int cols) {
  if (const int i = thread(); i < cols) y[i] = 0.5f * tanhf(0.5f * x[i]) + 0.5f;
}
void sigmoid_by_tanh(const float* x, float* y, int cols, cudaStream_t stream) {
  logistic<<<(cols + 127) / 128, 128, 0, stream>>>(x, y, cols);
}

__global__ void search(const float* x, int64_t* index, int rows, int cols) {
  const int r = thread();
  if (r >= rows) return;
  int best = 0;
  for (int j = 1; j < cols; ++j)
    if (x[r * int64_t(cols) + j] > x[r * int64_t(cols) + best]) best = j;
  index[r] = best;
}
void argmax_by_comparison(const float* x, int64_t* index, int rows, int cols, cudaStream_t stream) {
  search<<<(rows + 127) / 128, 128, 0, stream>>>(x, index, rows, cols);
}

__global__ void compensated(const float* x, float* y, int rows, int cols) {
  const int r = thread();
  if (r >= rows) return;
  float sum = 0, lost = 0;
  for (int j = 0; j < cols; ++j) {
    const float value = x[r * int64_t(cols) + j] - lost, next = sum + value;
    lost = (next - sum) - value;
    sum = next;
  }
  y[r] = sum;
}
void reduce_by_kahan(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  compensated<<<(rows + 127) / 128, 128, 0, stream>>>(x, y, rows, cols);
}

__global__ void prefixes(const float* x, float* y, int rows, int cols) {
  const int r = thread();
  if (r >= rows) return;
  float sum = 0;
  for (int j = 0; j < cols; ++j) {
    const float value = x[r * int64_t(cols) + j];
    sum += value;
    y[r * int64_t(cols) + j] = sum - value;
  }
}
cudaError_t exclusive_by_subtraction(const float* x, float* y, int rows, int cols, int kind, cudaStream_t stream) {
  if (kind != 1) return cudaErrorNotSupported;
  prefixes<<<(rows + 127) / 128, 128, 0, stream>>>(x, y, rows, cols);
  return cudaSuccess;
}
