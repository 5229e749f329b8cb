// Logsumexp against the read limit of the same run and against peers. See bench/README.md.
#include <cmath>
#include <cstdint>
#include <vector>

#include "bench/row_bench.hpp"

namespace warpcheck::bench {
namespace {

// The bound of the contract to first order: E_L + u |y|, E_L = (ln n + h + 11 + 12 q) u + 3 u ln s.
void verify_row(const row_case& row, const void* x, const void* y) {
  const double maximum = value_of(x, row.type, index_of_maximum(row, x));
  double rest = -1;  // the sum without one maximal element
  for (int64_t i = 0; i < row.cols; ++i) rest += std::exp(value_of(x, row.type, i) - maximum);
  const double log_sum = std::log1p(rest);
  const double exact = maximum + log_sum, rescales = row.cols <= 1024 ? 2 : 16;
  const double error =
      std::log(static_cast<double>(row.cols)) + longest_chain(row.cols) + 11 + 12 * rescales + 3 * log_sum;
  expect_close(row, value_of(y, row.type, 0), exact, 1.01 * (error / std::fabs(exact) + 1) * k_roundoff, 0);
}

std::vector<row_case> all_rows() {
  row_list rows(0.95);
  rows.add_listed();
  rows.add(element::f32, 4, 16777216);
  rows.add(element::f32, 1, 67108864);
  rows.add_small();
  rows.add_misaligned();
  rows.add_half_types();
  return rows.take();
}

}  // namespace
}  // namespace warpcheck::bench

int main(int argc, char** argv) {
  using namespace warpcheck::bench;
  const row_operator logsumexp{"logsumexp", row_operator::output::values, false, {}, verify_row};
  return row_bench_main(argc, argv, logsumexp, all_rows());
}
