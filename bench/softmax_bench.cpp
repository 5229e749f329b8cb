// Softmax against the copy limit of the same run and against peers. See bench/README.md.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "bench/row_bench.hpp"

namespace warpcheck::bench {
namespace {

// The bound of the contract to first order: a relative error of (d + ln n + h + 11 + 12 q) u for an element d below the
// maximum, h the longest chain of additions and q rescales.
void verify_row(const row_case& row, const void* x, const void* y) {
  const double maximum = value_of(x, row.type, index_of_maximum(row, x));
  double sum = 0;
  for (int64_t i = 0; i < row.cols; ++i) sum += std::exp(value_of(x, row.type, i) - maximum);
  const double rescales = row.cols <= (int64_t{1} << 22) ? 2 : 16;
  const double row_part = std::log(static_cast<double>(row.cols)) + longest_chain(row.cols) + 11 + 12 * rescales;
  for (int64_t i = 0; i < row.cols; ++i) {
    const double d = maximum - value_of(x, row.type, i);
    expect_close(row, value_of(y, row.type, i), std::exp(-d) / sum, 1.01 * (d + row_part) * k_roundoff, i);
  }
}

std::vector<row_case> all_rows() {
  row_list rows(0.97);
  rows.add_listed();
  rows.add(element::f32, 16, 4194304);
  rows.add(element::f32, 4, 16777216).target = 0.70;
  rows.add(element::f32, 1, 67108864).target = 0.70;
  for (const int64_t cols : {32, 1024, 4096, 32768}) {
    row_case& with_index = rows.add(element::f32, (int64_t{1} << 26) / cols, cols);
    with_index.argmax = true;
    with_index.target = 0.96;
  }
  rows.add_small();
  rows.add_misaligned();
  rows.add_half_types();
  return rows.take();
}

}  // namespace
}  // namespace warpcheck::bench

int main(int argc, char** argv) {
  using namespace warpcheck::bench;
  const row_operator softmax{"softmax", row_operator::output::matrix, false, {}, verify_row};
  return row_bench_main(argc, argv, softmax, all_rows());
}
