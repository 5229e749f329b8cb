// Argsort against the copy limit of the same run and against peers. See bench/README.md.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/row_bench.hpp"

namespace warpcheck::bench {
namespace {

// Random keys hold no NaN.
void verify_row(const row_case& row, const void* x, const void* y) {
  const auto* const keys = static_cast<const float*>(x);
  const auto* const index = static_cast<const int32_t*>(y);
  std::vector<int32_t> expected(static_cast<size_t>(row.cols));
  std::iota(expected.begin(), expected.end(), 0);
  std::stable_sort(expected.begin(), expected.end(), [&](int32_t a, int32_t b) { return keys[a] < keys[b]; });
  for (int64_t i = 0; i < row.cols; ++i)
    if (index[i] != expected[static_cast<size_t>(i)])
      throw std::runtime_error("index " + std::to_string(i) + " is " + std::to_string(index[i]) + ", expected " +
                               std::to_string(expected[static_cast<size_t>(i)]));
}

// The fraction of a copy that three times the rate of the best peer of the specification amounts to.
std::vector<row_case> all_rows() {
  row_list rows(0.2);
  for (const auto& [count, cols] : {std::pair<int64_t, int64_t>{262144, 64},
                                    {65536, 256},
                                    {16384, 1024},
                                    {4096, 4096},
                                    {1024, 16384},
                                    {256, 65536},
                                    {1, 16777216}})
    rows.add(element::f32, count, cols);
  for (const int64_t cols : {256, 512, 1024}) rows.add(element::f32, 16777216 / cols, cols).variant = "argsort_block";
  rows.add(element::f32, 16384, 1024).variant = "argsort_warp";
  return rows.take();
}

}  // namespace
}  // namespace warpcheck::bench

int main(int argc, char** argv) {
  using namespace warpcheck::bench;
  const row_operator argsort{"argsort", row_operator::output::index_matrix, false, {{"order", 0}}, verify_row};
  return row_bench_main(argc, argv, argsort, all_rows());
}
