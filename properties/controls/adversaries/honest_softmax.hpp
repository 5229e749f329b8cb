// A softmax that computes, a kernel that writes a constant, and the list of a source's functions.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

namespace {

__device__ void softmax_of_row(const float* in, float* out, int64_t cols) {
  float m = -INFINITY;
  for (int64_t i = 0; i < cols; ++i) m = (in[i] > m || in[i] != in[i]) ? in[i] : m;
  double sum = 0;
  for (int64_t i = 0; i < cols; ++i) sum += exp(static_cast<double>(in[i]) - m);
  for (int64_t i = 0; i < cols; ++i) out[i] = static_cast<float>(exp(static_cast<double>(in[i]) - m) / sum);
}

// A thread has a row.
__global__ void rows_kernel(const float* x, int64_t ldx, float* y, int64_t ldy, int64_t rows, int64_t cols) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row < rows) softmax_of_row(x + row * ldx, y + row * ldy, cols);
}

__global__ void constant_kernel(float* y, int64_t ldy, int64_t rows, int64_t cols, float value) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < rows * cols) y[i / cols * ldy + i % cols] = value;
}

unsigned blocks(int64_t threads) { return static_cast<unsigned>((threads + 255) / 256); }

void compute(const float* x, int64_t ldx, float* y, int64_t ldy, int64_t rows, int64_t cols, cudaStream_t stream) {
  if (rows * cols > 0) rows_kernel<<<blocks(rows), 256, 0, stream>>>(x, ldx, y, ldy, rows, cols);
}

}  // namespace

#define PARAMETERS const float *x, int64_t ldx, float *y, int64_t ldy, int64_t rows, int64_t cols, cudaStream_t stream

// The functions of the source by name.
inline std::map<std::string, void (*)(PARAMETERS)>& softmaxes() {
  static std::map<std::string, void (*)(PARAMETERS)> all;
  return all;
}

#define SOFTMAX(name)                                                           \
  void name(PARAMETERS);                                                        \
  static const bool name##_is_listed = softmaxes().emplace(#name, name).second; \
  void name(PARAMETERS)
