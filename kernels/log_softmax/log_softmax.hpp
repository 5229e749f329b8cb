// Logarithm of softmax over the rows of a matrix.
//
// Contract (the reference, properties and golden data refer to this comment)
//   y[r][i] = ln(exp(x[r][i]) / sum_k exp(x[r][k])) = (x[r][i] - m) - log1p(s),  m = max_k x[r][k],
//   s = the sum of exp(x[r][k] - m) over all k but one with x[r][k] = m.
//
// Arguments
//   x       rows x cols elements of T in device memory; row r starts at x + r*ldx; a row is contiguous; the pointer is
//           aligned to one element. T: float, simt::f16, simt::bf16; arithmetic is f32 whatever T is.
//   ldx     elements from one row to the next, >= cols. The gaps between rows are neither read nor written.
//   y, ldy  the output, likewise. In place is allowed exactly: y == x and ldy == ldx, with the bits of the out-of-place
//           call. Any other overlap of elements of two buffers is an error.
//   rows, cols  >= 0; rows*cols may exceed 2^32. rows = 0 or cols = 0 writes nothing.
//   stream  the work is ordered on it; the call does not wait.
//
// Special values. A row that holds NaN or +Inf, or only -Inf, gives NaN everywhere; -Inf beside a finite maximum gives
// exactly -Inf; a single finite element gives +0; equal logits give equal bits.
//
// Error. |y - exact| <= (u d + E_L)(1 + u) + u |exact| per element, d the distance from the maximum and E_L the error
// of the logarithm, computed from the row's data (docs/numerics.md): the result of a dominant element keeps the
// relative accuracy of the tail, [0, -30] gives -9.35762e-14. A result in a 16-bit T is rounded once more. Allowances
// of every variant: no addition chain longer than min(cols - 1, 32 + 2 ceil(log2 cols) + ceil(cols / 2^14)), no term
// rescaled more than 2 (cols <= 2^22) or 16 times; by persistent the 2 only where no block takes more than 32 tiles of
// a row (rows/persistent_two_pass.hpp): up to 2^22 columns on 16 multiprocessors of compute capability 9.0, fewer on a
// smaller device. Same shape, same alignment of x, same input: same bits on every launch, stream and schedule, for
// every alignment of y.
//
// Source. Blanchard, Higham & Higham, "Accurately computing the log-sum-exp and softmax functions", IMA J. Numer. Anal.
// 41 (2021), section 4; the maximal element held out of the sum as in section 2.1 there.
//
// Throws std::invalid_argument (negative extent, ld < cols, null or misaligned pointer with a non-zero size, illegal
// overlap, variant that does not take the row length) and simt::device_error (failed launch or allocation of
// workspace).
#pragma once

#include <cstdint>

#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// The techniques, for ever longer rows: some lanes of a warp, a block, a cluster of blocks, and all blocks of the
// device; and one for aligned f32 rows of small matrices (rows/small_matrix.hpp); other matrices use another technique.
// `automatic` selects by `cols` and the size of the matrix.
enum class log_softmax_variant { automatic, warp, block, cluster, persistent, small_matrix };

template <class T>
void log_softmax(const T* x, int64_t ldx, T* y, int64_t ldy, int64_t rows, int64_t cols, simt::stream_t stream);

// The same with a forced technique; returns the technique that ran.
template <class T>
log_softmax_variant log_softmax_with(log_softmax_variant variant, const T* x, int64_t ldx, T* y, int64_t ldy,
                                     int64_t rows, int64_t cols, simt::stream_t stream);

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
