// The shapes that several row operators are measured at: rows of their descriptions' bench lists.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "properties/engine/cases/description.hpp"

namespace warpcheck {

// The rows of a list, each with the fraction of the limit that most of them aim at.
class bench_rows {
 public:
  explicit bench_rows(double target) : target_(target) {}

  engine::bench_row& add(int64_t rows, int64_t cols, dtype type = dtype::f32);
  // For an operator without rows.
  engine::bench_row& add_vector(int64_t elements, dtype type = dtype::f32);
  // The shapes of 64 Mi elements that every row operator is measured at, short rows to long ones.
  void add_listed();
  // The same in a few rows, and in one.
  void add_few();
  // 2^22 columns and more; beyond a cluster they need one more transfer if the output is as long as the row.
  void add_longest();
  // 1 MB, which costs little more than a launch.
  void add_small();
  // Rows that start one element past a boundary.
  void add_misaligned();
  // 128 Mi elements of each 16-bit type.
  void add_half_types();

  std::vector<engine::bench_row> take() { return std::move(rows_); }

 private:
  double target_;
  std::vector<engine::bench_row> rows_;
};

// Returns the rows of an operator with one result per row.
std::vector<engine::bench_row> reduction_bench_rows(bool half_types);

}  // namespace warpcheck
