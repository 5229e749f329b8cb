// Index of the largest element of each row of a matrix.
//
// Contract (the reference, properties and golden data refer to this comment)
//   index[r] = lowest i with x[r][i] = max_k x[r][k]; NaN counts as larger than +Inf, so the first NaN wins; -0 equals
//   +0.
//
// Arguments
//   x       rows x cols elements of T in device memory; row r starts at x + r*ldx; a row is contiguous; the pointer is
//           aligned to one element. T: float, simt::f16, simt::bf16. Only read.
//   ldx     elements from one row to the next, >= cols. The gaps between rows are not read.
//   index   rows indices in device memory, aligned to 8 bytes, disjoint from x.
//   rows, cols  >= 0; rows*cols and cols may exceed 2^31. cols = 0 writes -1, the only case in which -1 appears.
//   stream  the work is ordered on it; the call does not wait.
//
// Exact, and the same on every launch, stream and schedule. Source: NumPy's argmax, which prefers the first NaN.
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
enum class argmax_variant { automatic, warp, tiles, large_tiles, small_matrix };

template <class T>
void argmax(const T* x, int64_t ldx, int64_t* index, int64_t rows, int64_t cols, simt::stream_t stream);

// The same with a forced technique; returns the technique that ran.
template <class T>
argmax_variant argmax_with(argmax_variant variant, const T* x, int64_t ldx, int64_t* index, int64_t rows, int64_t cols,
                           simt::stream_t stream);

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
