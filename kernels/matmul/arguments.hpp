// Checks on the host of a product's matrices and workspace against the contract, for our kernels and for other
// libraries.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/primitives/arguments.hpp"
#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// A matrix as the host's checks see it, stored as `rows` x `cols`.
template <class T>
row_block matmul_stored(const char* name, const T* data, int64_t rows, int64_t cols, int64_t ld, const char* ld_name,
                        const char* cols_name) {
  if (ld < cols)
    throw std::invalid_argument(std::string(ld_name) + " is " + std::to_string(ld) + ", must be >= " + cols_name +
                                " = " + std::to_string(cols));
  const row_block block{name, data, sizeof(T), rows, cols, ld, ld_name};
  check_rows(block);
  return block;
}

// Throws std::invalid_argument like matmul. Extents >= 0; least_bytes: the least size of the workspace.
template <class T, class TC>
void check_matmul_arguments(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b,
                            int64_t ldb, const TC* c, int64_t ldc, const float* bias, const void* work,
                            int64_t work_bytes, int64_t least_bytes) {
  const row_block a_rows = matmul_stored("a", a, ta ? k : m, ta ? m : k, lda, "lda", ta ? "m" : "k");
  const row_block b_rows = matmul_stored("b", b, tb ? n : k, tb ? k : n, ldb, "ldb", tb ? "k" : "n");
  const row_block c_rows = matmul_stored("c", c, m, n, ldc, "ldc", "n");
  if (work_bytes < least_bytes)
    throw std::invalid_argument("work_bytes is " + std::to_string(work_bytes) + ", must be at least " +
                                std::to_string(least_bytes));
  const int64_t words = least_bytes / static_cast<int64_t>(sizeof(float4));
  const row_block work_rows{"work", work, sizeof(float4), 1, words, words, nullptr};
  check_rows(work_rows);
  const bool has_bias = bias != nullptr && m > 0;
  const row_block bias_rows{"bias", bias, sizeof(float), 1, has_bias ? n : 0, n, nullptr};
  check_rows(bias_rows);
  for (const row_block& other : {a_rows, b_rows, bias_rows}) {
    check_disjoint(other, c_rows);
    check_disjoint(other, work_rows);
  }
  check_disjoint(c_rows, work_rows);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
