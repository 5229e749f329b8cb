// Logarithm of the sum of exponentials of each row of a matrix.
//
// Contract (the reference, properties and golden data refer to this comment)
//   y[r] = ln sum_k exp(x[r][k]) = m + log1p(sum over all k but one with x[r][k] = m of exp(x[r][k] - m)),
//   m = max_k x[r][k].
//
// Arguments
//   x       rows x cols elements of T in device memory; row r starts at x + r*ldx; a row is contiguous; the pointer is
//           aligned to one element. T: float, simt::f16, simt::bf16; arithmetic is f32. Only read.
//   ldx     elements from one row to the next, >= cols. The gaps between rows are not read.
//   y       rows elements of Y in device memory, disjoint from x. Y: T or float.
//   rows, cols  >= 0; rows*cols and cols may exceed 2^31. cols = 0 writes -Inf.
//   stream  the work is ordered on it; the call does not wait.
//
// Special values. A NaN in the row gives NaN; else +Inf gives +Inf; a row of nothing but -Inf gives -Inf; other -Inf
// drop out; a single finite element x gives x.
//
// Error. |y - exact| <= E_L (1 + u) + u |exact|, absolute, E_L computed from the row's data (docs/numerics.md): the
// tail of a dominant element keeps its relative accuracy, [0, -30] gives 9.35762e-14. A result in a 16-bit Y is rounded
// once more. Limits: no addition chain longer than min(cols - 1, 32 + 2 ceil(log2 cols) + ceil(cols / 2^14)), no term
// rescaled more than 2 (cols <= 1024) or 16 times, then by a reference that lags by 8 (here it never does). Same shape,
// alignment and input: same bits on every launch, stream and schedule.
//
// Source. Blanchard, Higham & Higham, "Accurately computing the log-sum-exp and softmax functions", IMA J. Numer. Anal.
// 41 (2021), section 4; the maximal element held out of the sum as in section 2.1 there.
//
// Throws std::invalid_argument (negative extent, ldx < cols, null or misaligned pointer with a non-zero size, overlap)
// and simt::device_error (failed launch or allocation of workspace).
#pragma once

#include <cstdint>

#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// warp: a row by some lanes of a warp. tiles: by small blocks, large_tiles: by large ones; a long row by several.
// small_matrix: aligned f32 rows of small matrices (rows/small_matrix.hpp); other matrices use another technique.
// `automatic` selects by `cols` and the size of the matrix. Within tiles and large_tiles, rows of 16-bit types switch
// at twice the published lengths.
enum class logsumexp_variant { automatic, warp, tiles, large_tiles, small_matrix };

template <class T, class Y>
void logsumexp(const T* x, int64_t ldx, Y* y, int64_t rows, int64_t cols, simt::stream_t stream);

// The same with a forced technique; returns the technique that ran.
template <class T, class Y>
logsumexp_variant logsumexp_with(logsumexp_variant variant, const T* x, int64_t ldx, Y* y, int64_t rows, int64_t cols,
                                 simt::stream_t stream);

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
