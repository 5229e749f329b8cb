// Softmax over the rows of a matrix, with an optional argmax.
//
// Contract (the reference, properties and golden data refer to this comment)
//   y[r][i] = exp(x[r][i] - m) / sum_k exp(x[r][k] - m),  m = max_k x[r][k];  argmax[r] = lowest i with x[r][i] = m.
//
// Arguments
//   x       rows x cols elements of T in device memory; row r starts at x + r*ldx; a row is contiguous; the pointer is
//           aligned to one element. T: float, simt::f16, simt::bf16; arithmetic is f32 whatever T is.
//   ldx     elements from one row to the next, >= cols. The gaps between rows are neither read nor written.
//   y, ldy  the output, likewise. In place is allowed exactly: y == x and ldy == ldx, with the bits of the out-of-place
//           call. Any other overlap of elements of two buffers is an error.
//   rows, cols  >= 0; rows*cols may exceed 2^32. rows = 0 or cols = 0 writes no probability; cols = 0 writes -1 to each
//           argmax, the only case in which -1 appears.
//   argmax  rows indices in device memory, aligned to 8 bytes, or nullptr. The index is that of the logits; NaN counts
//           as larger than +Inf and -0 as equal to +0.
//   stream  the work is ordered on it; the call does not wait.
//
// Special values. A row that holds NaN or +Inf, or only -Inf, gives NaN everywhere; -Inf beside a finite maximum gives
// exactly +0; k equal maxima above -Inf elsewhere give exactly 1/k rounded (k <= 2^24); equal logits give equal bits.
// Subnormals are kept.
//
// Error. |y - exact| <= g [(1 + tau)(1 + u) / (1 - Delta/s) - 1] + 4 eta per element, with u = 2^-24, eta = 2^-149,
// g the exact value, and tau (one exponential), s (the exact sum) and Delta (its error) computed from the row's data:
// docs/numerics.md. A result in a 16-bit T is rounded once more. Allowances of every variant: no addition chain
// longer than min(n - 1, 32 + 2 ceil(log2 n) + ceil(n / 2^14)) and no term rescaled more than 2 (n <= 2^22) or 16
// times; by persistent the 2 only where no block takes more than 32 tiles of a row (rows/persistent_two_pass.hpp): up
// to 2^22 columns on 16 multiprocessors of compute capability 9.0, fewer on a smaller device.
//
// Determinism. Same shape, same alignment of x, same input: same bits on every launch, stream and schedule, for every
// alignment of y.
//
// Source. Shifted softmax: Blanchard, Higham & Higham, "Accurately computing the log-sum-exp and softmax functions",
// IMA J. Numer. Anal. 41 (2021), section 4.
//
// Throws std::invalid_argument (negative extent, ld < cols, null or misaligned pointer with a non-zero size, illegal
// overlap, variant that does not take the row length) and simt::device_error (failed launch or workspace allocation).
#pragma once

#include <cstdint>

#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// The techniques. `automatic` selects by `cols`, from subwarp for the shortest rows to persistent for the longest, or
// small_matrix for aligned f32 rows of small matrices without argmax (rows/small_matrix.hpp); other matrices use
// another technique. loop is the plain kernel, for rows of any length.
enum class softmax_variant { automatic, loop, subwarp, warp, block, persistent, cluster, small_matrix };

template <class T>
void softmax(const T* x, int64_t ldx, T* y, int64_t ldy, int64_t rows, int64_t cols, int64_t* argmax,
             simt::stream_t stream);

// The same with a forced technique; returns the technique that ran.
template <class T>
softmax_variant softmax_with(softmax_variant variant, const T* x, int64_t ldx, T* y, int64_t ldy, int64_t rows,
                             int64_t cols, int64_t* argmax, simt::stream_t stream);

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
