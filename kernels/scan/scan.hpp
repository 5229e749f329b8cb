// Prefix sums of each row of a matrix.
//
// Contract (the reference, properties and golden data refer to this comment)
//   inclusive  y[r][i] = x[r][0] + ... + x[r][i]
//   exclusive  y[r][0] = +0, y[r][i] = x[r][0] + ... + x[r][i-1]; never formed from the inclusive sum by subtraction.
//
// Arguments
//   x, y    rows x cols elements of T in device memory, row after row without gaps, in the unit of x; the pointers are
//           aligned to one element. T: float, double, int64_t. x is only read. y == x is allowed, any other overlap is
//           not.
//   rows, cols  >= 0; rows*cols*sizeof(T) < 2^63. Without elements nothing is written.
//   kind    inclusive, exclusive. (Through candidate.h: scalar "kind", 0, 1.)
//   path    block: a row stays with one block, whatever its length. multi_block: a row is cut into tiles for several
//           blocks. automatic: multi_block for fewer than k_scan_few_rows rows longer than k_scan_block_cols, else
//           block.
//   ws      ws_bytes of device memory, aligned to 8 bytes, at least scan_workspace_bytes(rows, cols, path), disjoint
//           from x and y; its contents are unspecified before and after. nullptr where 0 bytes are enough.
//   stream  the work is ordered on it; the call does not wait.
//
// Special values are causal: what precedes the first NaN or infinity of a row is not affected by it; what follows is
// +Inf after +Inf alone, -Inf after -Inf alone, NaN after a NaN or both infinities. The sign of a zero is unspecified,
// but for the exclusive y[r][0] = +0. int64_t wraps modulo 2^64.
//
// Error. A prefix of k elements: |y - exact| <= gamma_h sum |x| over these elements, h = min(k - 1, 48), with the unit
// roundoff of T; exact for k <= 1 and for int64_t. Where a partial sum of it may overflow, an infinity or NaN is right
// too (docs/numerics.md). The row's data, rows, cols, kind and path fix the bits, whatever the addresses, the device,
// the stream and the schedule; equal rows give equal bits.
//
// Sources: G. E. Blelloch, Prefix sums and their applications, 1990; blocked summation: P. Blanchard, N. J. Higham,
// T. Mary, SIAM J. Sci. Comput. 42, 2020; look-back: D. Merrill, M. Garland, Single-pass parallel prefix scan with
// decoupled look-back, NVIDIA NVR-2016-002.
//
// Throws std::invalid_argument (negative extent, too many elements, null or misaligned pointer with a non-zero size,
// overlap, workspace too small, value that no enumerator has) and simt::device_error (failed launch).
#pragma once

#include <cstddef>
#include <cstdint>

#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

enum class scan_kind : uint8_t { inclusive, exclusive };
enum class scan_path : uint8_t { automatic, block, multi_block };

// The longest row that a block holds in registers; see `path`.
constexpr int64_t k_scan_block_cols = 8192;
constexpr int64_t k_scan_few_rows = 128;

size_t scan_workspace_bytes(int64_t rows, int64_t cols, scan_path path);

template <class T>
void scan(const T* x, T* y, int64_t rows, int64_t cols, scan_kind kind, scan_path path, void* ws, size_t ws_bytes,
          simt::stream_t stream);

// subwarp: several rows by a warp. warp: a row by a warp. block: a row in the registers of a block. loop: a row tile by
// tile by a block. multi_block: tiles by several blocks. The first four are the techniques of scan_path::block.
enum class scan_variant { automatic, subwarp, warp, block, loop, multi_block };

size_t scan_workspace_bytes(int64_t rows, int64_t cols, scan_variant variant);

// The same with a forced technique; returns the technique that ran.
template <class T>
scan_variant scan_with(scan_variant variant, const T* x, T* y, int64_t rows, int64_t cols, scan_kind kind, void* ws,
                       size_t ws_bytes, simt::stream_t stream);

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
