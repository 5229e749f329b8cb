// A row of any length (64-bit) cut into tiles that each fit a row_slice.
#pragma once

#include <cstdint>

#include "kernels/rows/row_access.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// Tiles meet on boundaries of k_edge elements, so that only the first and the last of a row have ends to peel: tile t
// takes elements [t, t + 1) * tile_size counted from the boundary at or before the row. `tile_size` is a multiple of
// k_edge. `cols` <= 0: the row ends before.
template <class T>
struct row_tile {
  __host__ __device__ row_tile(const T* row, int64_t row_cols, int64_t t, int tile_size) {
    const int misalignment = edge_misalignment(row, edge_of<T>(2 * k_edge));
    begin = t == 0 ? 0 : t * tile_size - misalignment;
    const int64_t end = (t + 1) * tile_size - misalignment;
    cols = static_cast<int>((end < row_cols ? end : row_cols) - begin);
  }
  int64_t begin;  // index in the row
  int cols;
};

// Tiles of each row of a matrix: enough for the row that starts furthest after a boundary.
template <class T>
int64_t tiles_of_rows(const T* x, int64_t ldx, int64_t rows, int64_t cols, int tile_size) {
  constexpr int k_boundary = edge_of<T>(2 * k_edge);
  const int misalignment = rows == 1 || ldx % k_boundary == 0 ? edge_misalignment(x, k_boundary) : k_boundary - 1;
  return (cols + misalignment + tile_size - 1) / tile_size;
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
