// Epilogue for one element of C: alpha, beta, bias and the sigmoid, in the order of the contract.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/primitives/grid.hpp"
#include "kernels/primitives/logistic.hpp"
#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// Rows of op(A) and columns of op(B) with an element that is not finite, which a split into parts cannot represent.
struct matmul_flags {
  unsigned* any;  // not 0: there are some; nullptr: not needed
  unsigned* rows;
  unsigned* columns;

  __device__ bool found() const { return any != nullptr && *any != 0; }
  __device__ bool at(int64_t i, int64_t j) const { return (rows[i] | columns[j]) != 0; }
};

// TC: f32, f16 or bf16.
template <class TC>
struct matmul_epilogue {
  float alpha, beta;
  TC* c;
  int64_t ldc;
  bool vectors;  // c and its rows are aligned for vectors of four
  const float* bias;
  bool sigmoid;
  float mu, sigma;
  matmul_flags flags;

  struct alignas(4 * sizeof(TC)) vector {
    TC element[4];
  };

  // v, rounded operation by operation: the compiler must not contract them.
  __device__ float value(float sum, float old, float shift) const {
    float v = __fmul_rn(alpha, sum);
    if (beta != 0.0f) v = fmaf(beta, old, v);
    if (bias != nullptr) v = __fadd_rn(v, shift);
    return v;
  }

  // True if results are alpha times their sums, in whole vectors inside C.
  __device__ bool is_plain() const { return vectors && beta == 0.0f && bias == nullptr && !sigmoid; }
  // The same as complete, for a plain epilogue and four elements inside C.
  __device__ void complete_plain(int64_t i, int64_t j, const float (&sum)[4]) const {
    vector y;
#pragma unroll
    for (int e = 0; e < 4; ++e) y.element[e] = simt::from_float<TC>(__fmul_rn(alpha, sum[e]));
    *reinterpret_cast<vector*>(c + i * ldc + j) = y;
  }

  // Stores the results of row i for the four elements from column j, a multiple of 4, that lie before `columns`; with
  // `but_flagged` without those of flagged rows and columns.
  __device__ void complete(int64_t i, int64_t j, int64_t columns, const float (&sum)[4], bool but_flagged) const {
    TC* const to = c + i * ldc + j;
    const bool whole = vectors && columns >= 4;
    vector y;
    if (whole && beta != 0.0f) y = *reinterpret_cast<const vector*>(to);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (e >= columns) break;
      const float old = beta != 0.0f ? simt::to_float(whole ? y.element[e] : to[e]) : 0.0f;
      float v = value(sum[e], old, bias != nullptr ? bias[j + e] : 0.0f);
      if (sigmoid) v = logistic(v, mu, sigma);
      y.element[e] = simt::from_float<TC>(v);
    }
    if (whole && !but_flagged) {
      *reinterpret_cast<vector*>(to) = y;
      return;
    }
#pragma unroll
    for (int e = 0; e < 4; ++e)
      if (e < columns && !(but_flagged && flags.at(i, j + e))) to[e] = y.element[e];
  }

  // The same from `first` on, only for flagged rows and columns.
  __device__ void replace(int64_t i, int64_t j, int64_t first, int64_t columns, const float (&sum)[4]) const {
    TC* const to = c + i * ldc + j;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (e < first || e >= columns || !flags.at(i, j + e)) continue;
      float v = value(sum[e], beta != 0.0f ? simt::to_float(to[e]) : 0.0f, bias != nullptr ? bias[j + e] : 0.0f);
      if (sigmoid) v = logistic(v, mu, sigma);
      to[e] = simt::from_float<TC>(v);
    }
  }

  // In f32: stores v of row i for the elements from `first` to before `columns` among the four from column j on.
  __device__ void store(int64_t i, int64_t j, int64_t first, int64_t columns, const float (&sum)[4]) const {
    float* const to = c + i * ldc + j;
    if (vectors && first <= 0 && columns >= 4 && j % 4 == 0) {
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
      if (e >= first && e < columns) {
        const float old = beta != 0.0f ? to[e] : 0.0f;
        to[e] = value(sum[e], old, bias != nullptr ? bias[j + e] : 0.0f);
      }
    }
  }
  // Applies the sigmoid to the values that store() stored for the same arguments. It reads them from memory, so that
  // one copy of the code serves all elements of a thread.
  __device__ void finish(int64_t i, int64_t j, int64_t first, int64_t columns) const {
    float* const to = c + i * ldc + j;
    if (vectors && first <= 0 && columns >= 4 && j % 4 == 0) {
      const float4 v = *reinterpret_cast<const float4*>(to);
      *reinterpret_cast<float4*>(to) = make_float4(logistic(v.x, mu, sigma), logistic(v.y, mu, sigma),
                                                   logistic(v.z, mu, sigma), logistic(v.w, mu, sigma));
      return;
    }
    for (int e = 0; e < 4; ++e)
      if (e >= first && e < columns) to[e] = logistic(to[e], mu, sigma);
  }
};

// The sums of slices: one matrix of m rows for each slice, in rows of whole vectors.
struct matmul_partials {
  float* data;  // nullptr if the sum is not cut
  int64_t m, pitch;

  __device__ float* at(int64_t slice, int64_t i, int64_t j) const { return data + (slice * m + i) * pitch + j; }

  // See matmul_epilogue::store.
  __device__ void store(int64_t slice, int64_t i, int64_t j, int64_t first, int64_t columns,
                        const float (&sum)[4]) const {
    float* const to = at(slice, i, j);
    if (first <= 0 && columns >= 4 && j % 4 == 0) {
      *reinterpret_cast<float4*>(to) = make_float4(sum[0], sum[1], sum[2], sum[3]);
      return;
    }
#pragma unroll
    for (int e = 0; e < 4; ++e)
      if (e >= first && e < columns) to[e] = sum[e];
  }
  // The four elements from column j, a multiple of 4, on; those from `columns` on are 0.
  __device__ float4 load(int64_t slice, int64_t i, int64_t j, int64_t columns) const {
    const float* const from = at(slice, i, j);
    if (columns >= 4) return *reinterpret_cast<const float4*>(from);
    return make_float4(from[0], columns > 1 ? from[1] : 0.0f, columns > 2 ? from[2] : 0.0f, 0.0f);
  }
};
__host__ __device__ constexpr int64_t matmul_partial_pitch(int64_t n) { return (n + 3) / 4 * 4; }

constexpr int k_finish_threads = 256;

// Adds the slices of four columns a thread in ascending order, and finishes them. Without slices the sum is +0.
template <class TC>
__global__ void __launch_bounds__(k_finish_threads)
    matmul_finish(matmul_partials partials, int64_t slices, int64_t m, int64_t n, matmul_epilogue<TC> epilogue) {
  simt::grid_dependency_wait();
  const bool flagged = epilogue.flags.found();
  const int64_t vectors = matmul_partial_pitch(n) / 4;
  const int64_t step = static_cast<int64_t>(gridDim.x) * k_finish_threads;
  for (int64_t v = static_cast<int64_t>(blockIdx.x) * k_finish_threads + threadIdx.x; v < m * vectors; v += step) {
    const int64_t i = v / vectors;
    const int64_t j = 4 * (v - i * vectors);
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (slices > 0) sum = partials.load(0, i, j, n - j);
    for (int64_t s = 1; s < slices; ++s) {
      const float4 next = partials.load(s, i, j, n - j);
      sum = make_float4(sum.x + next.x, sum.y + next.y, sum.z + next.z, sum.w + next.w);
    }
    epilogue.complete(i, j, n - j, {sum.x, sum.y, sum.z, sum.w}, flagged);
  }
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
