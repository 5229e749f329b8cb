// Sum, minimum or maximum of each row of a matrix.
//
// Contract (the reference, properties and golden data refer to this comment)
//   y[r] = sum_k x[r][k], or the least, or the greatest x[r][k].
//
// Arguments
//   op      sum, min, max. (Through candidate.h: scalar "op", 0, 1, 2.)
//   x       rows x cols elements of T in device memory; row r starts at x + r*ldx; a row is contiguous; the pointer is
//           aligned to one element. T: float, double; arithmetic is in T. Only read.
//   ldx     elements from one row to the next, >= cols. The gaps between rows are not read.
//   y       rows elements of T in device memory, disjoint from x.
//   rows, cols  >= 0; rows*cols and cols may exceed 2^31. cols = 0 writes +0, +Inf (min) or -Inf (max).
//   stream  the work is ordered on it; the call does not wait.
//
// Special values. A NaN in the row gives NaN, as do +Inf and -Inf in a sum; -0 is less than +0; a sum starts from +0.
//
// Error. sum: |y - exact| <= gamma_h sum_k |x_k| with h = min(cols - 1, 32 + 2 ceil(log2 cols) + ceil(cols/2^14)) and
// the unit roundoff of T (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 4.2; docs/numerics.md);
// where a partial sum may overflow, an infinity or NaN is right too. min and max are exact (IEEE 754-2019, section 9.6:
// minimum, maximum). Same shape, alignment and input: same bits on every launch, stream and schedule.
// Throws std::invalid_argument (negative extent, ldx < cols, null or misaligned pointer with a non-zero size, overlap)
// and simt::device_error (failed launch or allocation of workspace).
#pragma once

#include <cstdint>

#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

enum class reduce_op { sum, min, max };

// warp: a row by some lanes of a warp. tiles: by small blocks, large_tiles: by large ones; a long row by several.
// small_matrix: aligned f32 rows of small matrices (rows/small_matrix.hpp); other matrices use another technique.
// `automatic` selects by `cols` and the size of the matrix.
enum class reduce_variant { automatic, warp, tiles, large_tiles, small_matrix };

template <class T>
void reduce(reduce_op op, const T* x, int64_t ldx, T* y, int64_t rows, int64_t cols, simt::stream_t stream);

// The same with a forced technique; returns the technique that ran.
template <class T>
reduce_variant reduce_with(reduce_variant variant, reduce_op op, const T* x, int64_t ldx, T* y, int64_t rows,
                           int64_t cols, simt::stream_t stream);

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
