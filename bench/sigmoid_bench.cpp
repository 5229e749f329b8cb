// Sigmoid against the copy limit of the same run and against peers. See bench/README.md.
#include <cmath>
#include <cstdint>
#include <vector>

#include "bench/row_bench.hpp"

namespace warpcheck::bench {
namespace {

// The bound of the contract to first order: (1 - y)(2|z| + 5) u + 2u relatively.
void verify_row(const row_case& row, const void* x, const void* y) {
  for (int64_t i = 0; i < row.cols; ++i) {
    const double z = value_of(x, row.type, i), exact = 1 / (1 + std::exp(-z));
    const double relative = 1.01 * ((1 - exact) * (2 * std::fabs(z) + 5) + 2) * k_roundoff;
    expect_close(row, value_of(y, row.type, i), exact, relative, i);
  }
}

std::vector<row_case> all_rows() {
  row_list rows(0.98);
  for (const int64_t n : {int64_t{65536}, int64_t{1048576}, int64_t{16777216}, int64_t{268435456}})
    rows.add(element::f32, 1, n);
  rows.add(element::f32, 1, int64_t{1} << 26).offset = 1;
  for (const element type : {element::f16, element::bf16}) rows.add(type, 1, int64_t{1} << 27);
  return rows.take();
}

}  // namespace
}  // namespace warpcheck::bench

int main(int argc, char** argv) {
  using namespace warpcheck::bench;
  const row_operator sigmoid{"sigmoid", row_operator::output::matrix, true, {{"mu", 0}, {"sigma", 1}}, verify_row};
  return row_bench_main(argc, argv, sigmoid, all_rows());
}
