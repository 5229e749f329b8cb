// Which kernels fold the rows of a matrix: those of row_fold.hpp by the length of its rows, those of row_few.hpp if it
// is small. Variant: an operator's enumeration of `lanes`, `tiles`, `wide` and `few`.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/primitives/row_few.hpp"
#include "kernels/primitives/row_fold.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

template <class Variant>
Variant pick_fold(int64_t cols) {
  return cols <= k_fold_lanes_cols ? Variant::lanes : cols <= k_fold_tiles_cols ? Variant::tiles : Variant::wide;
}

template <class Variant, class Fold>
Variant pick_fold(const fold_arguments<Fold>& a, simt::stream_t stream) {
  return is_few(a, stream) ? Variant::few : pick_fold<Variant>(a.cols);
}

// `Few` (row_few.hpp) folds as `Fold` does, for f32; of other types, and of what it does not take, rows are folded by
// their length.
template <class Few, class Variant, class Fold>
void fold_rows(Variant variant, const fold_arguments<Fold>& a, simt::stream_t stream) {
  if (variant == Variant::few) {
    if constexpr (std::is_same_v<typename Fold::element, float>)
      if (few_takes(a, stream)) return launch_few<Few>(a, stream);
    variant = pick_fold<Variant>(a.cols);
  }
  if (variant == Variant::lanes) return fold_by_lanes(a, stream);
  if (variant == Variant::tiles) return fold_by_tiles(a, stream);
  fold_by_wide_tiles(a, stream);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
