// Matrix product with scaling, accumulation, bias and sigmoid: also the perceptron layer, with an instance in each row
// of A and a neuron in each column of B.
//
// Contract (the reference and the tests refer to this comment)
//   v_ij = alpha Sum_l op(A)_il op(B)_lj + beta C_ij + bias_j
//   C_ij = v_ij, or with epilogue.sigmoid  1 / (1 + exp(-(v_ij - mu) sigma)) by the rules of sigmoid.hpp.
//
// Arguments. All matrices are in device memory, row after row. (T, TC): (float, float), (f16, float or f16), (bf16,
// float or bf16); bias is of float.
//   ta, tb   whether A and B are stored transposed.
//   m, n, k  >= 0: op(A) is m x k, op(B) k x n, C m x n. m*n and m*k may exceed 2^32. m = 0 or n = 0: nothing happens.
//            k = 0 or alpha = 0: A and B are not read, the sum is +0, and what follows it is done.
//   a, lda   m rows of k elements, lda >= k elements apart; transposed: k rows of m, lda >= m. Only read.
//   b, ldb   k rows of n elements, ldb >= n; transposed: n rows of k, ldb >= k. Only read.
//   c, ldc   m rows of n elements, ldc >= n. Not read where beta = 0: it may hold NaN. Gaps between rows, up to
//            lda, ldb and ldc, are neither read nor written. C overlaps no other argument; A, B and bias may overlap.
//   alpha, beta  any values.
//   epilogue bias: n elements or nullptr for none, one for each column. mu: the shift of the sigmoid; sigma: its gain.
//   options  mode: see Arithmetic; 16-bit inputs take ieee alone. rows_alone: see Determinism. unsplit: k is one slice.
//   work     work_bytes of device memory, aligned to 16 bytes, at least matmul_work_bytes(...), disjoint from all else;
//            its contents are unspecified before and after. nullptr where 0 bytes are enough.
//   stream   the work is ordered on it; the call does not wait.
// Pointers but work are aligned to one element.
//
// Order. matmul_plan cuts k into slices, the same for all elements of C; the slices' sums are added in ascending order
// to P, in f32; then v is alpha P, fma(beta, C_ij, v) unless beta = 0, and v + bias_j where there is a bias, each
// rounded.
//
// Arithmetic of a slice.
//   f32, ieee    one chain fma(a_l, b_l, sum) from +0 in ascending l, in f32: v is known bit for bit.
//   f16, bf16    products, which are exact, are added on tensor cores, 16 in a step; after at most 64 along k their sum
//                is added to one of f32, rounded to nearest.
//   f32, bf16x6  x = b1 + b2 + b3, each the bf16 nearest to what is left (b1 towards zero from 2^128 - 2^119 on), and
//                the products b2 b2, b3 b1, b1 b3, b2 b1, b1 b2, b1 b1 of each 16 along k as above.
//   f32, tf32x3  x = hi + lo, hi the tf32 nearest to x (towards zero from 2^128 - 2^116 on) and lo the nearest to what
//                is left, ties away from zero; lo hi, hi lo, hi hi of each 8 along k.
//                Both, where matmul_regions has a variant in f32: chains of FMAs for each 64 along k, each from +0,
//                added from +0 in ascending order. There 16-bit types have, in place of each chain of 64, eight of 8,
//                each from +0, added from +0.
//   f32, tf32x1  hi hi of each 8 along k: operands of 11 bits. bf16x1: b1 b1 of each 16, operands of 8 bits. For
//                callers that ask for less (kernels/gru/gru.hpp); the ABI adapter offers neither.
//
// Special values, in every mode. NaN where a product is NaN (0 * Inf included) or infinite products of both signs meet;
// the infinity where infinite products have one sign. Rows of op(A) and columns of op(B) that are not finite are
// multiplied in f32 where the mode splits; other elements keep their bits. Subnormals are kept. If chi (|A||B|)_ij
// (1+E) or (abs(alpha) (|A||B|)_ij + abs(beta C_ij) + abs(bias_j)) (1+E) reaches 2^128, an intermediate result may
// overflow.
//
// Error. |v - exact| <= [(1+E)(1+u)^r - 1] G + [(1+u)^q - 1] H + j u J + (1+u)^r N with G = abs(alpha) (|A||B|)_ij,
// H = abs(beta C_ij), J = abs(bias_j). E, N and chi are those of the arithmetic, r <= 3, q <= 2 and j <= 1 those of the
// call (docs/numerics.md, "Sums of products" and "matmul"); ieee: E = (1+u)^p - 1, p = length + count - 1 of the plan,
// N = (abs(alpha) k + 3) 2^-149. A 16-bit C is v rounded once more. Sources: N. J. Higham, Accuracy and Stability of
// Numerical Algorithms, 2nd ed. 2002, chapter 3; for tensor cores Xie et al., MMA-Sim, arXiv 2511.10909.
//
// Determinism. The bits of v depend on the operands' values, matmul_plan and, on tensor cores, the compute capability
// alone. Without rows_alone the plan depends on m; with it the plan and the variant are functions of n and k, so that a
// row of C depends on its row of A and on B, whatever m and the row's place. The plan does not with unsplit, either.
//
// Throws std::invalid_argument (negative extent, too small lda, ldb, ldc or work_bytes, null or misaligned pointer with
// a non-zero size, overlap, a value that no enumerator has, a mode that splits with 16-bit inputs) and
// simt::device_error (failed launch).
#pragma once

#include <cstdint>
#include <vector>

#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

enum class trans : uint8_t { none, yes };
enum class matmul_mode : uint8_t { ieee, tf32x3, bf16x6, tf32x1, bf16x1 };

struct matmul_options {
  matmul_mode mode = matmul_mode::ieee;
  bool rows_alone = false;
  bool unsplit = false;
};

struct perceptron {
  const float* bias = nullptr;
  bool sigmoid = false;
  float mu = 0;
  float sigma = 1;
};

template <class T, class TC>
void matmul(trans ta, trans tb, int64_t m, int64_t n, int64_t k, float alpha, const T* a, int64_t lda, const T* b,
            int64_t ldb, float beta, TC* c, int64_t ldc, perceptron epilogue, matmul_options options, void* work,
            int64_t work_bytes, simt::stream_t stream);

// Extents >= 0; 0 is a legal answer.
template <class T, class TC>
int64_t matmul_work_bytes(matmul_options options, int64_t m, int64_t n, int64_t k);

// The slices of k: slice s takes l from s*length to min(k, (s+1)*length). count is 0 for k = 0.
struct matmul_slices {
  int64_t count, length;
};
template <class T, class TC>
matmul_slices matmul_plan(matmul_options options, int64_t m, int64_t n, int64_t k);

// epilogue: no product at all. vector: C is a row or a column, FMAs in f32. In f32 blocks multiply tiles of op(A) and
// op(B) in shared memory, of 64 x 64 (small), 64 x 128 (wide) and 128 x 128 (square) elements of C. Modes that split
// have the first two of these for thin products: packing the matrix would take longer. On tensor cores, from panels in
// the workspace: 64 x 64 by single warps (warps: mma.sync), or by warpgroups (wgmma), 64 x 64 by one and 128 x 256 by
// two, which read 16-bit operands where they lie if these are aligned: base and rows to 16 bytes, extents up to 2^30.
// GPUs without wgmma, of a compute capability other than 9.0, take warps in place of both; the bits of all are the
// same.
enum class matmul_variant : uint8_t { automatic, epilogue, vector, small, wide, square, warps, warpgroup, warpgroups };

// The box of extents, inclusive and without a limit if the second is -1, in which the dispatch picks a variant. For m,
// n >= 1 the boxes cover everything and do not overlap. alpha = 0 takes the variant of k = 0.
struct matmul_region {
  matmul_variant variant;
  int64_t m[2], n[2], k[2];
};
template <class T, class TC>
std::vector<matmul_region> matmul_regions(matmul_options options);

// The same with a forced variant (one of the mode's, not epilogue; vector if m or n is 1); returns the variant that
// ran, or automatic if nothing happened. The plan stays the same, and with it the bits of the variants on tensor cores
// and those of the others. k = 0 and alpha = 0 have no other variant.
template <class T, class TC>
matmul_variant matmul_with(matmul_variant variant, trans ta, trans tb, int64_t m, int64_t n, int64_t k, float alpha,
                           const T* a, int64_t lda, const T* b, int64_t ldb, float beta, TC* c, int64_t ldc,
                           perceptron epilogue, matmul_options options, void* work, int64_t work_bytes,
                           simt::stream_t stream);

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
