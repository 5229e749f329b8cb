// What the benchmarks of all row operators share: inputs, calls, timing in turn with peers, verification, the table.
// See bench/README.md for how a row is measured.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "bench/limits.hpp"
#include "kernels/candidate.h"

namespace warpcheck::bench {

using element = buffer_ring::element;

// One row of the table.
struct row_case {
  element type = element::f32;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t ld = 0;  // elements between rows; 0: cols
  int offset = 0;  // elements that the tensors start past a 256-byte boundary
  bool argmax = false;
  const char* variant = nullptr;  // forced technique
  double target = 0.97;           // fraction of the limit that the specification asks for
};

// A row as measured.
struct row_time {
  row_case row;
  double us = 0;
};

// How an operator is called, what bounds it, and when a result is right.
struct row_operator {
  enum class output {
    matrix,        // rows x cols of the input's type
    index_matrix,  // rows x cols of int32, for inputs of f32
    values,        // one of the input's type per row
    indices,       // one int64 per row
  };
  const char* name;
  output result = output::matrix;
  bool one_dimensional = false;  // tensors of rows * cols elements
  std::vector<warpcheck_scalar> scalars;
  // Throws unless the results y of one row x (host memory, cols elements) are right.
  std::function<void(const row_case& row, const void* x, const void* y)> verify;
  // Prints, below the table, how the time grows; may be empty.
  std::function<void(const std::vector<row_time>& times)> print_growth = nullptr;
};

// The rows of a table, each with the fraction of the limit that most of them aim at.
class row_list {
 public:
  explicit row_list(double target) : target_(target) {}

  row_case& add(element type, int64_t rows, int64_t cols);
  // The shapes of 64 Mi elements that every row operator is measured at, short rows to long ones.
  void add_listed();
  // 1 MB, which costs little more than a launch.
  void add_small();
  // Rows that start one element past a boundary.
  void add_misaligned();
  // 128 Mi elements of each 16-bit type.
  void add_half_types();

  std::vector<row_case> take() { return std::move(rows_); }

 private:
  double target_;
  std::vector<row_case> rows_;
};

// Element i of an array of the type, exactly.
double value_of(const void* data, element type, int64_t i);

// The index of the largest of the row's elements, the lowest among equals.
int64_t index_of_maximum(const row_case& row, const void* x);

// Throws unless |y - exact| <= |exact| * relative + smallest, where the rounding to the type is added to both.
void expect_close(const row_case& row, double actual, double exact, double relative, int64_t at);

// Unit roundoff of f32.
constexpr double k_roundoff = 0x1p-24;

// The longest chain of additions that the contract allows for a row of n elements, h(n).
double longest_chain(int64_t cols);

// The benchmark program: returns its exit code.
int row_bench_main(int argc, char** argv, const row_operator& op, const std::vector<row_case>& cases);

}  // namespace warpcheck::bench
