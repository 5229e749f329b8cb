// Prefix sums against the copy limit of the same run and against peers. See bench/README.md.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "bench/row_bench.hpp"

namespace warpcheck::bench {
namespace {

// The bound of the contract: min(k - 1, 48) u times the sum of the sizes.
void verify_row(const row_case& row, const void* x, const void* y) {
  double sum = 0, sizes = 0;
  for (int64_t i = 0; i < row.cols; ++i) {
    const double v = value_of(x, row.type, i);
    sum += v;
    sizes += std::fabs(v);
    const double relative = 1.01 * static_cast<double>(std::min<int64_t>(i, 48)) * k_roundoff;
    // sum == 0 leaves the absolute part alone.
    expect_close(row, value_of(y, row.type, i), sum, sum == 0 ? 0 : relative * sizes / std::fabs(sum), i);
  }
}

std::vector<row_case> all_rows() {
  row_list rows(0.95);
  rows.add_listed();
  rows.add(element::f32, 4, 16777216).target = 0.9;
  rows.add(element::f32, 1, 67108864).target = 0.9;
  rows.add(element::f32, 1, 1048576).target = 0.9;
  rows.add_misaligned();
  return rows.take();
}

}  // namespace
}  // namespace warpcheck::bench

int main(int argc, char** argv) {
  using namespace warpcheck::bench;
  const row_operator scan{"scan", row_operator::output::matrix, false, {{"kind", 0}}, verify_row};
  return row_bench_main(argc, argv, scan, all_rows());
}
