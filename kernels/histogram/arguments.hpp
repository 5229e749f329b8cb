// Checks of the arguments of histogram.hpp.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/histogram/histogram.hpp"
#include "kernels/primitives/arguments.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

inline size_t bytes_of(bin_type type) {
  switch (type) {
    case bin_type::u8: return 1;
    case bin_type::u16: return 2;
    case bin_type::u32: return 4;
  }
  throw std::invalid_argument("bin type is " + std::to_string(static_cast<int>(type)) +
                              ", must be 0 (u8), 1 (u16) or 2 (u32)");
}

// A dense array of `count` elements; messages call the count `extent`.
inline row_block checked_array(const char* name, const void* data, size_t element_bytes, int64_t count,
                               const char* extent) {
  if (count < 0) throw std::invalid_argument(std::string(extent) + " is " + std::to_string(count) + ", must be >= 0");
  const row_block block{name, data, element_bytes, 1, count, count, nullptr};
  check_rows(block);
  return block;
}

inline row_block checked_slots(const char* name, const void* data, int64_t total_bins) {
  if (total_bins < 0 || total_bins > INT64_MAX / 16)
    throw std::invalid_argument("total_bins is " + std::to_string(total_bins) + ", must be >= 0 and below 2^59");
  return checked_array(name, data, 8, 2 * total_bins, "total_bins");
}

inline void check_inputs(const dense_bins& d, const row_block& output) {
  const row_block bins{"bins", d.bins, bytes_of(d.type), d.num_rows, d.num_cols, d.row_stride, "row_stride"};
  check_rows(bins);
  if (d.num_cols > INT32_MAX)
    throw std::invalid_argument("num_cols is " + std::to_string(d.num_cols) + ", must be below 2^31");
  if (d.num_rows > 0 && d.row_stride > INT64_MAX / 8 / d.num_rows)
    throw std::invalid_argument("num_rows * row_stride is " + std::to_string(d.num_rows) + " * " +
                                std::to_string(d.row_stride) + ", must be below 2^60");
  check_disjoint(bins, output);
  check_disjoint(checked_array("cols", d.cols, alignof(hist_column), 2 * d.num_cols, "num_cols"), output);
}

inline void check_inputs(const csr_bins& d, const row_block& output) {
  bytes_of(d.type);
  if (d.num_rows < 0) throw std::invalid_argument("num_rows is " + std::to_string(d.num_rows) + ", must be >= 0");
  check_disjoint(checked_array("row_ptr", d.row_ptr, 8, d.num_rows > 0 ? d.num_rows + 1 : 0, "num_rows"), output);
  // Only the device knows the number of slots, so the host checks only their address.
  if (d.slots != nullptr && reinterpret_cast<uintptr_t>(d.slots) % bytes_of(d.type) != 0)
    throw std::invalid_argument("slots must be aligned to its element");
}

template <class RowId>
void check_list(const RowId* rows, int64_t n_leaf, int64_t num_rows, const row_block& output) {
  if (n_leaf < 0) throw std::invalid_argument("n_leaf is " + std::to_string(n_leaf) + ", must be >= 0");
  if (rows != nullptr) return check_disjoint(checked_array("rows", rows, sizeof(RowId), n_leaf, "n_leaf"), output);
  if (n_leaf > num_rows)
    throw std::invalid_argument("n_leaf is " + std::to_string(n_leaf) +
                                ", must be at most num_rows = " + std::to_string(num_rows) + " where rows is null");
}

inline void check_gradients(const float* g, const float* h, int64_t num_rows, const row_block& output) {
  check_disjoint(checked_array("g", g, sizeof(float), num_rows, "num_rows"), output);
  check_disjoint(checked_array("h", h, sizeof(float), num_rows, "num_rows"), output);
}

inline void check_place(hist_place place) {
  if (place != hist_place::automatic && place != hist_place::shared && place != hist_place::global)
    throw std::invalid_argument("place is " + std::to_string(static_cast<int>(place)) +
                                ", must be 0 (automatic), 1 (shared) or 2 (global)");
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
