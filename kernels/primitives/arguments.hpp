// Host-side checks of an operator's arguments. Each error is one sentence: the argument, the value, what is allowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// `rows` rows of `cols` elements, `ld` elements apart. `name` and `ld_name` (nullptr: dense by construction) are the
// names of the operator's arguments.
struct row_block {
  const char* name;
  const void* data;
  size_t element_bytes;
  int64_t rows;
  int64_t cols;
  int64_t ld;
  const char* ld_name;

  bool empty() const { return rows <= 0 || cols <= 0; }
  uintptr_t row_begin(int64_t row) const {
    return reinterpret_cast<uintptr_t>(data) + static_cast<uintptr_t>(row) * static_cast<uintptr_t>(ld) * element_bytes;
  }
  uintptr_t row_bytes() const { return static_cast<uintptr_t>(cols) * element_bytes; }
  uintptr_t end() const { return row_begin(rows - 1) + row_bytes(); }
};

inline void check_rows(const row_block& a) {
  const std::string name = a.name;
  if (a.rows < 0) throw std::invalid_argument("rows is " + std::to_string(a.rows) + ", must be >= 0");
  if (a.cols < 0) throw std::invalid_argument("cols is " + std::to_string(a.cols) + ", must be >= 0");
  if (a.ld < a.cols)
    throw std::invalid_argument(std::string(a.ld_name) + " is " + std::to_string(a.ld) +
                                ", must be >= cols = " + std::to_string(a.cols));
  if (a.empty()) return;
  if (a.data == nullptr)
    throw std::invalid_argument(name + " is null, must point to " + std::to_string(a.rows) + " x " +
                                std::to_string(a.cols) + " elements");
  if (a.row_begin(0) % a.element_bytes != 0)
    throw std::invalid_argument(name + " is at an address " + std::to_string(a.row_begin(0) % a.element_bytes) +
                                " past a multiple of " + std::to_string(a.element_bytes) +
                                ", must be aligned to its element");
}

// For dense matrices: addresses of elements stay within 63 bits.
inline void check_extents(int64_t rows, int64_t cols, size_t element_bytes) {
  if (rows < 0) throw std::invalid_argument("rows is " + std::to_string(rows) + ", must be >= 0");
  if (cols < 0) throw std::invalid_argument("cols is " + std::to_string(cols) + ", must be >= 0");
  const int64_t most = std::numeric_limits<int64_t>::max() / static_cast<int64_t>(element_bytes);
  if (rows > 0 && cols > most / rows)
    throw std::invalid_argument("rows * cols is " + std::to_string(rows) + " * " + std::to_string(cols) +
                                ", must be at most " + std::to_string(most));
}

// A workspace of words of `word` bytes, of which `needed` bytes are used.
inline row_block check_workspace(const void* ws, size_t ws_bytes, size_t needed, size_t word = sizeof(uint64_t)) {
  if (ws_bytes < needed)
    throw std::invalid_argument("ws_bytes is " + std::to_string(ws_bytes) + ", must be at least " +
                                std::to_string(needed));
  const auto words = static_cast<int64_t>(needed / word);
  const row_block rows{"ws", ws, word, 1, words, words, nullptr};
  check_rows(rows);
  return rows;
}

// True if an element of one block lies in the other. Exact: gaps between rows belong to neither.
inline bool overlap(const row_block& a, const row_block& b) {
  if (a.empty() || b.empty() || a.end() <= b.row_begin(0) || b.end() <= a.row_begin(0)) return false;
  for (int64_t i = 0, j = 0; i < a.rows && j < b.rows;) {
    const uintptr_t a_begin = a.row_begin(i);
    const uintptr_t b_begin = b.row_begin(j);
    if (a_begin < b_begin + b.row_bytes() && b_begin < a_begin + a.row_bytes()) return true;
    if (a_begin < b_begin)
      ++i;
    else
      ++j;
  }
  return false;
}

inline void check_disjoint(const row_block& a, const row_block& b) {
  if (overlap(a, b))
    throw std::invalid_argument(
        std::string(b.name) + " overlaps " + a.name +
        ", must be disjoint from it or, where the operator allows, the same with equal strides");
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
