// Log_softmax against the copy limit of the same run and against peers. See bench/README.md.
#include <cmath>
#include <cstdint>
#include <vector>

#include "bench/row_bench.hpp"

namespace warpcheck::bench {
namespace {

// The bound of the contract to first order: (d + E_L/u + |z|) u, E_L = (ln n + h + 11 + 12 q) u + 3 u ln s.
void verify_row(const row_case& row, const void* x, const void* y) {
  const double maximum = value_of(x, row.type, index_of_maximum(row, x));
  double rest = -1;  // the sum without one maximal element
  for (int64_t i = 0; i < row.cols; ++i) rest += std::exp(value_of(x, row.type, i) - maximum);
  const double log_sum = std::log1p(rest);
  const double rescales = row.cols <= (int64_t{1} << 22) ? 2 : 16;
  const double row_part =
      std::log(static_cast<double>(row.cols)) + longest_chain(row.cols) + 11 + 12 * rescales + 3 * log_sum;
  for (int64_t i = 0; i < row.cols; ++i) {
    const double d = maximum - value_of(x, row.type, i), exact = -d - log_sum;
    expect_close(row, value_of(y, row.type, i), exact, 1.01 * ((d + row_part) / std::fabs(exact) + 1) * k_roundoff, i);
  }
}

std::vector<row_case> all_rows() {
  row_list rows(0.97);
  rows.add_listed();
  rows.add(element::f32, 16, 4194304);
  rows.add(element::f32, 4, 16777216).target = 0.70;
  rows.add(element::f32, 1, 67108864).target = 0.70;
  rows.add_small();
  rows.add_misaligned();
  rows.add_half_types();
  return rows.take();
}

}  // namespace
}  // namespace warpcheck::bench

int main(int argc, char** argv) {
  using namespace warpcheck::bench;
  const row_operator log_softmax{"log_softmax", row_operator::output::matrix, false, {}, verify_row};
  return row_bench_main(argc, argv, log_softmax, all_rows());
}
