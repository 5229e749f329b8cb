// The parts that tensor cores multiply: the split of an operand in each arithmetic, and the panels in which the
// workspace holds it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// Products that go into a tensor core's accumulator before it is added to an f32.
constexpr int k_matmul_promotion = 64;

// f32 as the sum of three bf16; the six largest of the nine products of parts, smallest first.
struct matmul_bf16x6 {
  using input = float;
  using operand = simt::bf16;
  static constexpr int k_parts = 3, k_products = 6;
  static constexpr int k_depth = 16;  // indices along k in a panel
  __host__ __device__ static constexpr int a_part(int product) {
    constexpr int part[] = {1, 2, 0, 1, 0, 0};
    return part[product];
  }
  __host__ __device__ static constexpr int b_part(int product) {
    constexpr int part[] = {1, 0, 2, 0, 1, 0};
    return part[product];
  }
};

// f32 as the sum of two tf32.
struct matmul_tf32x3 {
  using input = float;
  using operand = simt::tf32;
  static constexpr int k_parts = 2, k_products = 3;
  static constexpr int k_depth = 16;
  __host__ __device__ static constexpr int a_part(int product) { return product == 0; }
  __host__ __device__ static constexpr int b_part(int product) { return product == 1; }
};

// f32 rounded to one tf32, or to one bf16.
struct matmul_tf32x1 {
  using input = float;
  using operand = simt::tf32;
  static constexpr int k_parts = 1, k_products = 1;
  static constexpr int k_depth = 32;
  __host__ __device__ static constexpr int a_part(int) { return 0; }
  __host__ __device__ static constexpr int b_part(int) { return 0; }
};
struct matmul_bf16x1 {
  using input = float;
  using operand = simt::bf16;
  static constexpr int k_parts = 1, k_products = 1;
  static constexpr int k_depth = 64;
  __host__ __device__ static constexpr int a_part(int) { return 0; }
  __host__ __device__ static constexpr int b_part(int) { return 0; }
};

// f16 or bf16 unchanged.
template <class T>
struct matmul_16_bit {
  using input = T;
  using operand = T;
  static constexpr int k_parts = 1, k_products = 1;
  static constexpr int k_depth = 64;
  __host__ __device__ static constexpr int a_part(int) { return 0; }
  __host__ __device__ static constexpr int b_part(int) { return 0; }
};

// A panel is 64 outer indices (rows of op(A), columns of op(B)) by `k_depth` of k. It consists of strips of 8 outer
// indices; a strip has its parts one after the other, and a part has, along k, core matrices of 8 outer indices by 16
// bytes. Both kinds of instructions read core matrices: 128 bytes in a row, so that they use each bank of shared memory
// once. Panels follow each other along k, then along the outer index. Elements beyond an operand's extents are 0.
template <class Arithmetic>
struct matmul_panel {
  static constexpr bool k_splits = std::is_same_v<typename Arithmetic::input, float>;
  static constexpr int k_outer = 64;
  static constexpr int k_core_bytes = 128;
  // Elements in 16 bytes, and along k in a step of the tensor core.
  static constexpr int k_core_elements = std::is_same_v<typename Arithmetic::operand, simt::tf32> ? 4 : 8;
  static constexpr int k_step = 2 * k_core_elements;
  static constexpr int k_cores = Arithmetic::k_depth / k_core_elements;  // along k
  static constexpr int k_part_bytes = k_cores * k_core_bytes;
  static constexpr int k_strip_bytes = Arithmetic::k_parts * k_part_bytes;
  static constexpr int k_bytes = k_outer / 8 * k_strip_bytes;
  static_assert(k_matmul_promotion % Arithmetic::k_depth == 0 && Arithmetic::k_depth % k_step == 0, "whole panels");
};

// An operand in panels.
struct matmul_packed {
  unsigned char* panels;
  int64_t count;  // along the outer index
};

__device__ inline bool matmul_is_finite(float x) { return (__float_as_uint(x) & 0x7f800000u) != 0x7f800000u; }

// Returns x without its low bits if rounding to nearest may give infinity: a finite x at or above `limit`. The bits are
// compared, because g++ 12 drops the mask from `fabsf(x) >= limit ? masked : x`.
__device__ inline float matmul_cut_if_huge(float x, float limit, uint32_t kept_bits) {
  const uint32_t magnitude = __float_as_uint(x) & 0x7fffffffu;
  const bool is_huge = magnitude >= __float_as_uint(limit) && magnitude < 0x7f800000u;
  return is_huge ? __uint_as_float(__float_as_uint(x) & kept_bits) : x;
}

// The nearest tf32 and bf16, towards zero where that would be infinity.
__device__ inline float matmul_nearest_tf32(float x) {
  return simt::round_tf32(matmul_cut_if_huge(x, 0x1.ffep+127f, 0xffffe000u));
}
__device__ inline simt::bf16 matmul_nearest_bf16(float x) {
  return simt::from_float<simt::bf16>(matmul_cut_if_huge(x, 0x1.ffp+127f, 0xffff0000u));
}

// The parts of the elements of 16 bytes: words[part], as panels hold them. x is finite where it is split.
__device__ inline void matmul_split(matmul_bf16x6, const float (&x)[8], uint32_t (&words)[3][4]) {
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    simt::bf16 part[2][3];
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      float left = x[2 * w + e];
      part[e][0] = matmul_nearest_bf16(left);
      left -= simt::to_float(part[e][0]);  // exact, like the next difference
      part[e][1] = simt::from_float<simt::bf16>(left);
      left -= simt::to_float(part[e][1]);
      part[e][2] = simt::from_float<simt::bf16>(left);
    }
#pragma unroll
    for (int p = 0; p < 3; ++p) words[p][w] = simt::pack(part[0][p], part[1][p]);
  }
}
__device__ inline void matmul_split(matmul_tf32x3, const float (&x)[4], uint32_t (&words)[2][4]) {
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    const float high = matmul_nearest_tf32(x[w]);
    words[0][w] = __float_as_uint(high);
    words[1][w] = __float_as_uint(simt::round_tf32(x[w] - high));
  }
}
__device__ inline void matmul_split(matmul_tf32x1, const float (&x)[4], uint32_t (&words)[1][4]) {
#pragma unroll
  for (int w = 0; w < 4; ++w) words[0][w] = __float_as_uint(matmul_nearest_tf32(x[w]));
}
__device__ inline void matmul_split(matmul_bf16x1, const float (&x)[8], uint32_t (&words)[1][4]) {
#pragma unroll
  for (int w = 0; w < 4; ++w)
    words[0][w] = simt::pack(matmul_nearest_bf16(x[2 * w]), matmul_nearest_bf16(x[2 * w + 1]));
}
template <class T>
__device__ inline void matmul_split(matmul_16_bit<T>, const T (&x)[8], uint32_t (&words)[1][4]) {
#pragma unroll
  for (int w = 0; w < 4; ++w) words[0][w] = simt::pack(x[2 * w], x[2 * w + 1]);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
