// Stands in for CUDA's header of this name: wmma fragments of 16 x 16 x 16 (f16, bf16) and 16 x 16 x 8 (tf32), with f32
// accumulators. Each is two products of mma.sync side by side; which element is whose is not CUDA's.
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"

namespace nvcuda::wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32 {};
}  // namespace precision
inline float __float_to_tf32(float x) { return ::simt::round_tf32(x); }

namespace detail {

template <class T>
struct element {
  using type = T;
  static constexpr int k = 16;
};
template <>
struct element<precision::tf32> {
  using type = float;
  static constexpr int k = 8;
};
template <class T>
struct operand;
template <>
struct operand<__half> {
  using type = ::simt::f16;
};
template <>
struct operand<__nv_bfloat16> {
  using type = ::simt::bf16;
};
template <>
struct operand<precision::tf32> {
  using type = ::simt::tf32;
};

// Element i of the caller's part of a 16 x K, K x 16 or 16 x 16 matrix: the fragments of mma.sync (PTX ISA 9.0).
struct coordinate {
  int row, col;
};
template <class Use, int K>
coordinate place(int i) {
  const auto lane = static_cast<int>(::simt::emu::lane_index());
  const int group = lane / 4, within = lane % 4;
  if constexpr (std::is_same_v<Use, accumulator>)
    return {group + (i & 2 ? 8 : 0), i / 4 * 8 + within * 2 + (i & 1)};
  else if constexpr (K == 8)  // one element a register
    return std::is_same_v<Use, matrix_a> ? coordinate{group + (i & 1 ? 8 : 0), within + (i & 2 ? 4 : 0)}
                                         : coordinate{within + (i & 1 ? 4 : 0), i / 2 * 8 + group};
  else
    return std::is_same_v<Use, matrix_a> ? coordinate{group + (i & 2 ? 8 : 0), within * 2 + (i & 1) + (i & 4 ? 8 : 0)}
                                         : coordinate{within * 2 + (i & 1) + (i & 2 ? 8 : 0), i / 4 * 8 + group};
}

}  // namespace detail

template <class Use, int M, int N, int K, class T, class Layout = void>
struct fragment {
  using element_type = typename detail::element<T>::type;
  static constexpr bool accumulates = std::is_same_v<Use, accumulator>;
  static_assert(M == 16 && N == 16 && (K == 16 || K == 8), "fragments are 16 x 16 x 16, of tf32 16 x 16 x 8");
  static_assert(!accumulates || std::is_same_v<T, float>, "accumulators are of float");
  static_assert(accumulates || K == detail::element<T>::k, "operands are of half, bf16, or tf32 with K = 8");
  static constexpr int num_elements = accumulates || K == 16 ? 8 : 4;
  static constexpr int num_storage_elements = num_elements;
  element_type x[num_elements];
};

template <class Use, int M, int N, int K, class T, class Layout, class V>
void fill_fragment(fragment<Use, M, N, K, T, Layout>& f, const V& value) {
  for (auto& x : f.x) x = value;
}
template <class Use, int M, int N, int K, class T, class Layout, class Memory>
void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& f, const Memory* p, unsigned pitch) {
  for (int i = 0; i < f.num_elements; ++i) {
    const auto [row, col] = detail::place<Use, K>(i);
    f.x[i] = p[std::is_same_v<Layout, row_major> ? row * pitch + col : col * pitch + row];
  }
}
template <int M, int N, int K, class T, class Memory>
void load_matrix_sync(fragment<accumulator, M, N, K, T>& f, const Memory* p, unsigned pitch, layout_t layout) {
  for (int i = 0; i < f.num_elements; ++i) {
    const auto [row, col] = detail::place<accumulator, K>(i);
    f.x[i] = p[layout == mem_row_major ? row * pitch + col : col * pitch + row];
  }
}
template <int M, int N, int K, class T, class Memory>
void store_matrix_sync(Memory* p, const fragment<accumulator, M, N, K, T>& f, unsigned pitch, layout_t layout) {
  for (int i = 0; i < f.num_elements; ++i) {
    const auto [row, col] = detail::place<accumulator, K>(i);
    p[layout == mem_row_major ? row * pitch + col : col * pitch + row] = f.x[i];
  }
}
template <int M, int N, int K, class T, class LayoutA, class LayoutB>
void mma_sync(fragment<accumulator, M, N, K, float>& d, const fragment<matrix_a, M, N, K, T, LayoutA>& a,
              const fragment<matrix_b, M, N, K, T, LayoutB>& b, const fragment<accumulator, M, N, K, float>& c,
              SIMT_SITE) {
  using type = typename detail::operand<T>::type;
  uint32_t left[4];
  static_assert(sizeof left == sizeof a.x);
  __builtin_memcpy(left, a.x, sizeof left);
  float sums[2][4];
  for (int half = 0; half < 2; ++half) {
    uint32_t right[2];
    float before[4];
    __builtin_memcpy(right, &b.x[half * b.num_elements / 2], sizeof right);
    for (int i = 0; i < 4; ++i) before[i] = c.x[4 * half + i];
    ::simt::mma<16, 8, K, type, type>(sums[half], left, right, before, site);
  }
  for (int i = 0; i < 8; ++i) d.x[i] = sums[i / 4][i % 4];
}

}  // namespace nvcuda::wmma
