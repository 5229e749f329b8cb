// Row sums against the read limit of the same run and against peers. See bench/README.md.
#include <cmath>
#include <cstdint>
#include <vector>

#include "bench/row_bench.hpp"

namespace warpcheck::bench {
namespace {

// The bound of the contract: h u times the sum of the sizes, h the longest chain of additions.
void verify_row(const row_case& row, const void* x, const void* y) {
  double sum = 0, sizes = 0;
  for (int64_t i = 0; i < row.cols; ++i) {
    const double v = value_of(x, row.type, i);
    sum += v;
    sizes += std::fabs(v);
  }
  const double relative = 1.01 * longest_chain(row.cols) * k_roundoff;
  expect_close(row, value_of(y, row.type, 0), sum, relative * sizes / std::fabs(sum), 0);
}

std::vector<row_case> all_rows() {
  row_list rows(0.95);
  rows.add_listed();
  rows.add(element::f32, 4, 16777216);
  rows.add(element::f32, 1, 67108864);
  rows.add_small();
  rows.add_misaligned();
  return rows.take();
}

}  // namespace
}  // namespace warpcheck::bench

int main(int argc, char** argv) {
  using namespace warpcheck::bench;
  const row_operator reduce{"reduce", row_operator::output::values, false, {{"op", 0}}, verify_row};
  return row_bench_main(argc, argv, reduce, all_rows());
}
