// Stable sorting permutation of each row of a matrix.
//
// Contract (the reference, properties and golden data refer to this comment)
//   index[r][j] = the column of the element that is j-th when row r is sorted by (class, key, column): numbers before
//   NaN in both directions; the key ascending or descending; equal keys (-0 equals +0), and all NaN among themselves,
//   by ascending column in both directions. So only one permutation is right, and with ties descending is not
//   ascending reversed.
//
// Arguments
//   keys    rows x cols floats in device memory, row after row without gaps; aligned to one element. Only read.
//   index   rows x cols elements of Index (int32_t: cols < 2^31, or int64_t) in device memory, laid out alike, disjoint
//           from keys.
//   rows, cols  >= 0; rows*cols*8 < 2^63. Without elements nothing is written.
//   order   ascending, descending. (Through candidate.h: scalar "order", 0, 1.)
//   ws      ws_bytes of device memory, aligned to 8 bytes, at least argsort_workspace_bytes(rows, cols, sizeof(Index)),
//           disjoint from keys and index; its contents are unspecified before and after. nullptr where 0 bytes are
//           enough, which is up to k_argsort_block_cols columns.
//   stream  the work is ordered on it; the call does not wait.
//
// Exact, and the same on every launch, stream and schedule.
//
// Sources: K. E. Batcher, Sorting networks and their applications, AFIPS 1968; O. Green, R. McColl, D. A. Bader, GPU
// merge path, ICS 2012; A. Adinets, D. Merrill, Onesweep, arXiv:2206.01784, 2022.
//
// Throws std::invalid_argument (negative extent, too many elements or columns, null or misaligned pointer with a
// non-zero size, overlap, workspace too small, value that no enumerator has) and simt::device_error (failed launch).
#pragma once

#include <cstddef>
#include <cstdint>

#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

enum class sort_order : uint8_t { ascending, descending };

// The longest row that a block sorts without a workspace.
constexpr int64_t k_argsort_block_cols = 16384;

size_t argsort_workspace_bytes(int64_t rows, int64_t cols, size_t index_bytes);

template <class Index>
void argsort(const float* keys, Index* index, int64_t rows, int64_t cols, sort_order order, void* ws, size_t ws_bytes,
             simt::stream_t stream);

// warp: a row by a network in the registers of some lanes of a warp. block: a row by such networks, then by merging in
// the shared memory of a block. radix: a row digit by digit, in tiles (kernels/argsort/radix.hpp). `automatic` selects
// by `cols`.
enum class argsort_variant { automatic, warp, block, radix };

size_t argsort_workspace_bytes(int64_t rows, int64_t cols, size_t index_bytes, argsort_variant variant);

// The same with a forced technique; returns the technique that ran.
template <class Index>
argsort_variant argsort_with(argsort_variant variant, const float* keys, Index* index, int64_t rows, int64_t cols,
                             sort_order order, void* ws, size_t ws_bytes, simt::stream_t stream);

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
