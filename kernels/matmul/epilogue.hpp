// What follows the sum of an element of C: alpha, beta, bias and the sigmoid, in the order of the contract.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/primitives/grid.hpp"
#include "kernels/primitives/logistic.hpp"
#include "kernels/simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

struct matmul_epilogue {
  float alpha, beta;
  float* c;
  int64_t ldc;
  bool vectors;  // c and its rows are aligned for vectors of four
  const float* bias;
  bool sigmoid;
  float mu, sigma;

  // Rounded operation by operation: no compiler may contract them.
  __device__ float value(float sum, float old, float shift) const {
    float v = __fmul_rn(alpha, sum);
    if (beta != 0.0f) v = fmaf(beta, old, v);
    if (bias != nullptr) v = __fadd_rn(v, shift);
    return sigmoid ? logistic(v, mu, sigma) : v;
  }

  // Of row i the elements from column j on, of which `columns` (at least one, and all four if more) exist.
  __device__ void store(int64_t i, int64_t j, int64_t columns, const float (&sum)[4]) const {
    float* const to = c + i * ldc + j;
    if (vectors && columns >= 4) {
      float4 old = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (beta != 0.0f) old = *reinterpret_cast<const float4*>(to);
      float shift[4] = {0.0f, 0.0f, 0.0f, 0.0f};
      if (bias != nullptr) {
#pragma unroll
        for (int e = 0; e < 4; ++e) shift[e] = bias[j + e];
      }
      *reinterpret_cast<float4*>(to) = make_float4(value(sum[0], old.x, shift[0]), value(sum[1], old.y, shift[1]),
                                                   value(sum[2], old.z, shift[2]), value(sum[3], old.w, shift[3]));
      return;
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (e < columns) {
        const float old = beta != 0.0f ? to[e] : 0.0f;
        to[e] = value(sum[e], old, bias != nullptr ? bias[j + e] : 0.0f);
      }
    }
  }
};

// The sums of slices, one matrix of m rows for each, in rows of whole vectors.
struct matmul_partials {
  float* data;  // nullptr where the sum is not cut
  int64_t m, pitch;

  __device__ float4* at(int64_t slice, int64_t i, int64_t j) const {
    return reinterpret_cast<float4*>(data + (slice * m + i) * pitch + j);
  }
};
__host__ __device__ constexpr int64_t matmul_partial_pitch(int64_t n) { return (n + 3) / 4 * 4; }

constexpr int k_finish_threads = 256;

// Adds the slices of four columns a thread in ascending order, and finishes them. Without slices the sum is +0.
__global__ void __launch_bounds__(k_finish_threads)
    matmul_finish(matmul_partials partials, int64_t slices, int64_t m, int64_t n, matmul_epilogue epilogue) {
  simt::wait_for_previous();
  const int64_t vectors = matmul_partial_pitch(n) / 4;
  const int64_t step = static_cast<int64_t>(gridDim.x) * k_finish_threads;
  for (int64_t v = static_cast<int64_t>(blockIdx.x) * k_finish_threads + threadIdx.x; v < m * vectors; v += step) {
    const int64_t i = v / vectors;
    const int64_t j = 4 * (v - i * vectors);
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (slices > 0) sum = *partials.at(0, i, j);
    for (int64_t s = 1; s < slices; ++s) {
      const float4 next = *partials.at(s, i, j);
      sum = make_float4(sum.x + next.x, sum.y + next.y, sum.z + next.z, sum.w + next.w);
    }
    epilogue.store(i, j, n - j, {sum.x, sum.y, sum.z, sum.w});
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
