// $op: what it computes, in a line.
//
// Contract (the reference, properties and golden data refer to this comment)
//   y[r,i] = the formula, with its source: paper or standard, section, year.
//
// Arguments: of each its shape, type, unit, where it lives, its alignment, what it may overlap.
// Special values: NaN, infinities, zeros, empty extents. Error: the bound, derived in docs/numerics.md.
// Order: whether the same input gives the same bits. Throws: std::invalid_argument, simt::device_error.
#pragma once

#include <cstdint>

#include "simt/simt.hpp"

#error "kernels/$op/$op.hpp: write the contract above and the C++ API below (step 1)"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

void $op(const float* x, int64_t ldx, float* y, int64_t ldy, int64_t rows, int64_t cols, simt::stream_t stream);

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
