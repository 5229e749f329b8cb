// Stands in for CUDA's header of this name: wmma fragments of f16, bf16 and bytes (16 x 16 x 16, 32 x 8 x 16,
// 8 x 32 x 16), tf32 (16 x 16 x 8), f64 (8 x 8 x 4), 4 bits (8 x 8 x 32) and single bits (8 x 8 x 128). Those of f16,
// bf16 and tf32 are products of mma.sync side by side. In those of f16, 16 x 16 x 16, an element is the lane's that has
// it on GPUs of compute capability 8.0; in the others it may be another lane's.
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
namespace experimental {
namespace precision {
struct s4 {};
struct u4 {};
struct b1 {};
}  // namespace precision
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 };
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 };
}  // namespace experimental
inline float __float_to_tf32(float x) { return ::simt::round_tf32(x); }

namespace detail {

// Element type of a fragment, and the type of mma.sync's operands: void where the product is one of scalars.
template <class T>
struct element {
  using type = T;
  using operand = void;
};
template <>
struct element<__half> {
  using type = __half;
  using operand = ::simt::f16;
};
template <>
struct element<__nv_bfloat16> {
  using type = __nv_bfloat16;
  using operand = ::simt::bf16;
};
template <>
struct element<precision::tf32> {
  using type = float;
  using operand = ::simt::tf32;
};

// Bits of an element of which a lane has a word; 0: elements lie apart.
template <class T>
constexpr int narrow_bits = std::is_same_v<T, experimental::precision::b1>
                                ? 1
                                : 4 * (std::is_same_v<T, experimental::precision::s4> ||
                                       std::is_same_v<T, experimental::precision::u4>);

template <int M, int N, int K, class T>
constexpr bool is_shape() {
  if (std::is_same_v<T, int> && M == 8 && N == 8 && (K == 32 || K == 128)) return true;
  if constexpr (std::is_same_v<T, double>) return M == 8 && N == 8 && K == 4;
  if constexpr (std::is_same_v<T, precision::tf32>) return M == 16 && N == 16 && K == 8;
  const bool has_depth = K == 16 || (K == 8 && std::is_same_v<T, float>);  // sums of tf32
  return has_depth && ((M == 16 && N == 16) || (K == 16 && M == 32 && N == 8) || (K == 16 && M == 8 && N == 32));
}

// Element i of a lane's part of a matrix: blocks of mma.sync's fragments (PTX ISA 9.0). A product of 8 rows and 32
// columns is the transposed one of 32 rows and 8 columns.
struct coordinate {
  int row, col;
};
inline coordinate place_in_a(int lane, int k_size, int i) {
  const int group = lane / 4, within = lane % 4;
  if (k_size == 4) return {group, within};
  if (k_size == 8) return {group + (i & 1 ? 8 : 0), within + (i & 2 ? 4 : 0)};  // one element a register
  return {i / 8 * 16 + group + (i & 2 ? 8 : 0), within * 2 + (i & 1) + (i & 4 ? 8 : 0)};
}
inline coordinate place_in_b(int lane, int k_size, int i) {
  const int group = lane / 4, within = lane % 4;
  if (k_size == 4) return {within, group};
  if (k_size == 8) return {within + (i & 1 ? 4 : 0), i / 2 * 8 + group};
  return {within * 2 + (i & 1) + (i & 2 ? 8 : 0), i / 4 * 8 + group};
}
inline coordinate place_in_sums(int lane, int k_size, int cols, int i) {
  const int group = lane / 4, within = lane % 4, block = i / 4;
  if (k_size == 4 || k_size >= 32) return {group, within * 2 + i};
  return {block / (cols / 8) * 16 + group + (i & 2 ? 8 : 0), block % (cols / 8) * 8 + within * 2 + (i & 1)};
}
template <class Use, int M, int N, int K>
coordinate place(int lane, int i) {
  constexpr bool swapped = M == 8 && N == 32;
  const auto turned = [](coordinate c) { return coordinate{c.col, c.row}; };
  if constexpr (std::is_same_v<Use, accumulator>)
    return swapped ? turned(place_in_sums(lane, K, M, i)) : place_in_sums(lane, K, N, i);
  else if constexpr (std::is_same_v<Use, matrix_a>)
    return swapped ? turned(place_in_b(lane, K, i)) : place_in_a(lane, K, i);
  else
    return swapped ? turned(place_in_a(lane, K, i)) : place_in_b(lane, K, i);
}
template <class Use, int M, int N, int K>
coordinate place(int i) {
  return place<Use, M, N, K>(static_cast<int>(::simt::emu::lane_index()), i);
}

// Words of 32 or 8 elements: of a row of A, of a column of B.
template <class Word, int Elements>
struct narrow_fragment {
  static constexpr int num_elements = Elements, places = Elements, num_storage_elements = 1;
  Word x[1];
};

}  // namespace detail

template <class Use, int M, int N, int K, class T, class Layout = void>
struct fragment {
  using element_type = typename detail::element<T>::type;
  static constexpr bool accumulates = std::is_same_v<Use, accumulator>;
  static_assert(detail::is_shape<M, N, K, T>(),
                "fragments are 16 x 16 x 16, 32 x 8 x 16 or 8 x 32 x 16, of tf32 16 x 16 x 8, of double 8 x 8 x 4");
  static_assert(!accumulates || std::is_same_v<T, float> || std::is_same_v<T, __half> || std::is_same_v<T, int> ||
                    std::is_same_v<T, double>,
                "accumulators are of float, half, int or double");
  static_assert(accumulates || !std::is_void_v<typename detail::element<T>::operand> || sizeof(T) == 1 ||
                    std::is_same_v<T, double>,
                "operands are of half, bf16, bytes, tf32 or double");
  static constexpr int places = (accumulates ? M * N : std::is_same_v<Use, matrix_a> ? M * K : K * N) / 32;
  // Operands of half have 16 elements, which repeat those of the lane's places.
  static constexpr int num_elements = !accumulates && std::is_same_v<T, __half> ? 16 : places;
  static constexpr int num_storage_elements = num_elements;
  element_type x[num_elements];
};

template <class Use, class Layout>
struct fragment<Use, 8, 8, 128, experimental::precision::b1, Layout> : detail::narrow_fragment<unsigned, 32> {};
template <class Use, class Layout>
struct fragment<Use, 8, 8, 32, experimental::precision::s4, Layout> : detail::narrow_fragment<int, 8> {};
template <class Use, class Layout>
struct fragment<Use, 8, 8, 32, experimental::precision::u4, Layout> : detail::narrow_fragment<unsigned, 8> {};

template <class Use, int M, int N, int K, class T, class Layout, class V>
void fill_fragment(fragment<Use, M, N, K, T, Layout>& f, const V& value) {
  for (auto& x : f.x) x = value;
}
template <class Use, int M, int N, int K, class T, class Layout, class Memory>
SIMT_INLINE void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& f, const Memory* p, unsigned pitch) {
  if constexpr (detail::narrow_bits<T> != 0) {
    const unsigned lane = ::simt::emu::lane_index(), words = pitch * detail::narrow_bits<T> / 32;
    f.x[0] = reinterpret_cast<const unsigned*>(p)[lane / 4 * words + lane % 4];
    return;
  }
  for (int i = 0; i < f.num_storage_elements; ++i) {
    const auto [row, col] = detail::place<Use, M, N, K>(i % f.places);
    f.x[i] = p[std::is_same_v<Layout, row_major> ? row * pitch + col : col * pitch + row];
  }
}
template <int M, int N, int K, class T, class Memory>
SIMT_INLINE void load_matrix_sync(fragment<accumulator, M, N, K, T>& f, const Memory* p, unsigned pitch,
                                  layout_t layout) {
  for (int i = 0; i < f.num_elements; ++i) {
    const auto [row, col] = detail::place<accumulator, M, N, K>(i);
    f.x[i] = p[layout == mem_row_major ? row * pitch + col : col * pitch + row];
  }
}
template <int M, int N, int K, class T, class Memory>
SIMT_INLINE void store_matrix_sync(Memory* p, const fragment<accumulator, M, N, K, T>& f, unsigned pitch,
                                   layout_t layout) {
  for (int i = 0; i < f.num_elements; ++i) {
    const auto [row, col] = detail::place<accumulator, M, N, K>(i);
    p[layout == mem_row_major ? row * pitch + col : col * pitch + row] = f.x[i];
  }
}

namespace detail {

// Products of mma.sync, 16 x 8 results each. Sums of f16 are rounded to f16 by each.
template <int K, class T, class A, class B, class D, class C>
void multiply_blocks(const A& a, const B& b, const C& c, D& d, const ::simt::call_site& where) {
  using operand = typename element<T>::operand;
  constexpr bool sums_of_f16 =
      std::is_same_v<typename D::element_type, __half> && std::is_same_v<typename C::element_type, __half>;
  constexpr int of_a = K == 8 ? 4 : 8, of_b = K == 8 ? 2 : 4, columns = b.places / of_b;
  for (int block = 0; block < d.num_elements / 4; ++block) {
    uint32_t left[4], right[2];
    float before[4], after[4];
    static_assert(sizeof left == sizeof a.x[0] * of_a);
    __builtin_memcpy(left, &a.x[block / columns * of_a], sizeof left);
    __builtin_memcpy(right, &b.x[block % columns * of_b], sizeof right);
    for (int i = 0; i < 4; ++i) before[i] = static_cast<float>(c.x[4 * block + i]);
    ::simt::emu::warp_mma(::simt::emu::detail::tensor_type_of<operand>(), left, right, before, after, where,
                          sums_of_f16 ? ::simt::tensor_sum::f16 : ::simt::tensor_sum::f32);
    for (int i = 0; i < 4; ++i) d.x[4 * block + i] = after[i];
  }
}

// Products of scalars: each lane gathers the rows and columns that its results need, which four lanes each have.
template <int M, int N, int K, class A, class B, class D, class C>
void multiply_scalars(const A& a, const B& b, const C& c, D& d, const ::simt::call_site& where) {
  using sum = typename D::element_type;
  constexpr bool swapped = M == 8 && N == 32;
  const auto lane = static_cast<int>(::simt::emu::lane_index());
  sum left[M][K], right[K][N];
  const auto gather_a = [&](int from) {
    for (int i = 0; i < a.num_elements; ++i) {
      const auto [row, k] = place<matrix_a, M, N, K>(from, i);
      left[row][k] = __shfl_sync(~0u, static_cast<sum>(a.x[i]), from, 32, where);
    }
  };
  const auto gather_b = [&](int from) {
    for (int i = 0; i < b.num_elements; ++i) {
      const auto [k, col] = place<matrix_b, M, N, K>(from, i);
      right[k][col] = __shfl_sync(~0u, static_cast<sum>(b.x[i]), from, 32, where);
    }
  };
  for (int q = 0; q < 4; ++q) {
    const int of_row = lane / 4 * 4 + q;
    swapped ? gather_b(of_row) : gather_a(of_row);
    for (int i = 0; i < 2; ++i) {
      const int of_col = (lane % 4 * 2 + i) * 4 + q;
      swapped ? gather_a(of_col) : gather_b(of_col);
    }
  }
  for (int i = 0; i < d.num_elements; ++i) {
    const auto [row, col] = place<accumulator, M, N, K>(i);
    sum total = c.x[i];
    for (int k = 0; k < K; ++k) {
      if constexpr (std::is_same_v<sum, double>)
        total = std::fma(left[row][k], right[k][col], total);
      else
        total += left[row][k] * right[k][col];
    }
    d.x[i] = total;
  }
}

// The sum of the products of two words: of elements of 4 bits, or what `of_bits` counts.
template <class T>
int narrow_product(unsigned a, unsigned b, experimental::bmmaBitOp of_bits) {
  if constexpr (narrow_bits<T> == 1) return __builtin_popcount(of_bits == experimental::bmmaBitOpXOR ? a ^ b : a & b);
  const auto element = [](unsigned word, int i) {
    if constexpr (std::is_same_v<T, experimental::precision::s4>)
      return static_cast<int>(word << (28 - 4 * i)) >> 28;
    else
      return static_cast<int>(word >> 4 * i & 15);
  };
  int sum = 0;
  for (int i = 0; i < 8; ++i) sum += element(a, i) * element(b, i);
  return sum;
}
template <class T, class A, class B, class Sums>
void multiply_words(const A& a, const B& b, const Sums& c, Sums& d, experimental::bmmaBitOp of_bits,
                    const ::simt::call_site& site) {
  const int lane = static_cast<int>(::simt::emu::lane_index()), row = lane / 4 * 4, col = lane % 4 * 8;
  for (int i = 0; i < 2; ++i) {
    int sum = c.x[i];
    for (int k = 0; k < 4; ++k) {
      const auto left = static_cast<unsigned>(__shfl_sync(~0u, a.x[0], row + k, 32, site));
      const auto right = static_cast<unsigned>(__shfl_sync(~0u, b.x[0], col + 4 * i + k, 32, site));
      sum += narrow_product<T>(left, right, of_bits);
    }
    d.x[i] = sum;
  }
}

}  // namespace detail

template <class Layout, class OtherLayout>
void bmma_sync(fragment<accumulator, 8, 8, 128, int>& d,
               const fragment<matrix_a, 8, 8, 128, experimental::precision::b1, Layout>& a,
               const fragment<matrix_b, 8, 8, 128, experimental::precision::b1, OtherLayout>& b,
               const fragment<accumulator, 8, 8, 128, int>& c, experimental::bmmaBitOp how = experimental::bmmaBitOpXOR,
               experimental::bmmaAccumulateOp = experimental::bmmaAccumulateOpPOPC, SIMT_SITE) {
  detail::multiply_words<experimental::precision::b1>(a, b, c, d, how, site);
}

template <int M, int N, int K, class T, class LayoutA, class LayoutB, class D, class C>
void mma_sync(fragment<accumulator, M, N, K, D>& d, const fragment<matrix_a, M, N, K, T, LayoutA>& a,
              const fragment<matrix_b, M, N, K, T, LayoutB>& b, const fragment<accumulator, M, N, K, C>& c, SIMT_SITE) {
  if constexpr (detail::narrow_bits<T> == 4) {
    detail::multiply_words<T>(a, b, c, d, experimental::bmmaBitOpAND, site);
  } else if constexpr (std::is_void_v<typename detail::element<T>::operand>) {
    static_assert(std::is_same_v<D, C> && std::is_same_v<D, std::conditional_t<sizeof(T) == 1, int, double>>,
                  "sums of bytes are of int, those of double of double");
    detail::multiply_scalars<M, N, K>(a, b, c, d, site);
    if constexpr (std::is_same_v<D, double>)
      for (double& x : d.x) x = ::simt::import::approximate("wmma of double", x);
  } else if constexpr (M == 8 && N == 32) {
    detail::multiply_blocks<K, T>(b, a, c, d, site);
  } else {
    detail::multiply_blocks<K, T>(a, b, c, d, site);
  }
}

}  // namespace nvcuda::wmma
