// What the benchmarks of all row operators share: inputs, calls, timing in turn with peers, verification, the table.
// See bench/README.md for how a row is measured.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bench/limits.hpp"
#include "kernels/abi/candidate.h"
#include "reference/numerics/compare.hpp"

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

// The verdict on result i of a row.
using result_judge = std::function<reference::judgement(int64_t i, double actual)>;

// That of an exact model (reference/), made of these arguments. A model of one value per row takes no index.
template <class Model, class... Arguments>
result_judge judged_by(Arguments&&... arguments) {
  const auto model = std::make_shared<Model>(std::forward<Arguments>(arguments)...);
  return [model](int64_t i, double actual) {
    if constexpr (requires { model->judge(i, actual); })
      return model->judge(i, actual);
    else
      return model->judge(actual);
  };
}

// The verdict on an index, of which one is right.
inline reference::judgement judged_index(int64_t expected, double actual) {
  return reference::judge_fixed(dtype::f64, actual, static_cast<double>(expected));
}

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
  bool one_dimensional = false;  // tensors of rows * cols elements, each with its result
  std::vector<warpcheck_scalar> scalars;
  // The judge of one row: x its values, which outlive the judge, of this type.
  std::function<result_judge(std::span<const double> x, dtype type)> judge;
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

// The benchmark program: returns its exit code.
int row_bench_main(int argc, char** argv, const row_operator& op, const std::vector<row_case>& cases);

}  // namespace warpcheck::bench
