// Kernels of textbooks, which are measured on the emulated device, and by which its schedules and its detector are
// tested.
#pragma once

#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// Without the trailing barrier the next reduction may overwrite slots that a warp still reads.
template <bool Max, bool TrailingBarrier>
__device__ __forceinline__ float block_reduce(float v, float* slots) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = static_cast<int>(blockDim.x + 31) >> 5;
  for (int d = 16; d > 0; d >>= 1) {
    const float other = __shfl_xor_sync(0xffffffffu, v, d);
    v = Max ? fmaxf(v, other) : v + other;
  }
  if (lane == 0) slots[warp] = v;
  __syncthreads();
  v = lane < warps ? slots[lane] : (Max ? -INFINITY : 0.0f);
  for (int d = 16; d > 0; d >>= 1) {
    const float other = __shfl_xor_sync(0xffffffffu, v, d);
    v = Max ? fmaxf(v, other) : v + other;
  }
  if (TrailingBarrier) __syncthreads();
  return v;
}

// Softmax whose second reduction reuses the slots of the first.
template <bool TrailingBarrier>
__global__ void softmax_rows(const float* in, float* out, int cols) {
  SIMT_SHARED(slots, float[32]);
  const float* x = in + static_cast<int64_t>(blockIdx.x) * cols;
  float* y = out + static_cast<int64_t>(blockIdx.x) * cols;
  const int first = static_cast<int>(threadIdx.x), step = static_cast<int>(blockDim.x);
  float m = -INFINITY;
  for (int c = first; c < cols; c += step) m = fmaxf(m, x[c]);
  m = block_reduce<true, TrailingBarrier>(m, slots);
  float s = 0.0f;
  for (int c = first; c < cols; c += step) s += expf(x[c] - m);
  s = block_reduce<false, TrailingBarrier>(s, slots);
  for (int c = first; c < cols; c += step) y[c] = expf(x[c] - m) / s;
}

// C = A B of n x n matrices by tiles in shared memory, one for each block: each element of A and B is read by n / Tile
// blocks.
template <int Tile>
__global__ void tiled_product(const float* a, const float* b, float* c, int n) {
  SIMT_SHARED(left, float[Tile][Tile]);
  SIMT_SHARED(right, float[Tile][Tile + 1]);
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const int col = static_cast<int>(blockIdx.x) * Tile + x, row = static_cast<int>(blockIdx.y) * Tile + y;
  float sum = 0;
  for (int k = 0; k < n; k += Tile) {
    left[y][x] = a[row * n + k + x];
    right[y][x] = b[(k + y) * n + col];
    __syncthreads();
    for (int i = 0; i < Tile; ++i) sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  c[row * n + col] = sum;
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
