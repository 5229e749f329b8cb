// Choice of the kernels that reduce the rows of a matrix: those of row_reduction.hpp by the length of its rows, those
// of small_matrix.hpp if it is small. Variant: an operator's enumeration of `warp`, `tiles`, `large_tiles` and
// `small_matrix`.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/rows/row_reduction.hpp"
#include "kernels/rows/small_matrix.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

template <class Variant>
Variant pick_reduction(int64_t cols) {
  return cols <= k_reduction_warp_cols    ? Variant::warp
         : cols <= k_reduction_tiles_cols ? Variant::tiles
                                          : Variant::large_tiles;
}

template <class Variant, class RowReduction>
Variant pick_reduction(const reduction_arguments<RowReduction>& a, simt::stream_t stream) {
  return is_small_matrix(a, stream) ? Variant::small_matrix : pick_reduction<Variant>(a.cols);
}

// `SmallRowOp` (small_matrix.hpp) computes the same as `RowReduction`, for f32; matrices of other types, and those that
// it does not support, are reduced by the length of their rows.
template <class SmallRowOp, class Variant, class RowReduction>
void reduce_rows(Variant variant, const reduction_arguments<RowReduction>& a, simt::stream_t stream) {
  if (variant == Variant::small_matrix) {
    if constexpr (std::is_same_v<typename RowReduction::element, float>)
      if (takes_small_matrix(a, stream)) return launch_small_matrix<SmallRowOp>(a, stream);
    variant = pick_reduction<Variant>(a.cols);
  }
  if (variant == Variant::warp) return reduce_by_warp(a, stream);
  if (variant == Variant::tiles) return reduce_by_tiles(a, stream);
  reduce_by_large_tiles(a, stream);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
