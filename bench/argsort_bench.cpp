// Argsort against the copy limit of the same run and against peers. See bench/README.md.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "bench/row_bench.hpp"
#include "reference/argsort.hpp"

namespace warpcheck::bench {
namespace {

result_judge judge_row(std::span<const double> x, dtype) {
  return [expected = reference::argsort(x, false)](int64_t i, double actual) {
    return judged_index(expected[static_cast<size_t>(i)], actual);
  };
}

// All rows that are fitted have as many keys.
constexpr int64_t k_keys = 16777216;

// Time over the stages of the network up to 512 columns, over the merges of runs of 512 beyond.
void print_growth(const std::vector<row_time>& times) {
  std::vector<std::pair<double, double>> network, block, tiles;
  for (const row_time& t : times) {
    if (t.row.variant != nullptr || t.row.rows * t.row.cols != k_keys) continue;
    const double levels = std::ceil(std::log2(static_cast<double>(t.row.cols)));
    if (t.row.cols <= 512)
      network.emplace_back(levels * (levels + 1) / 2, t.us);
    else
      (t.row.cols <= 16384 ? block : tiles).emplace_back(levels - 9, t.us);
  }
  const auto print = [](const char* name, const std::vector<std::pair<double, double>>& points, const char* step) {
    if (points.size() < 2) return;
    const line fit = fit_line(points);
    std::printf("2^24 keys in %s: %.1f us + %.2f us per %s, within %.0f %%\n", name, fit.at_zero, fit.slope, step,
                100 * fit.worst);
  };
  print("rows up to 512", network, "stage of the network");
  print("rows of 1024 to 16384", block, "merge");
  print("longer rows", tiles, "merge");
}

// The fraction of a copy that three times the rate of the best peer of the specification amounts to.
std::vector<row_case> all_rows() {
  row_list rows(0.2);
  for (const int64_t cols : {32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 65536, 1048576, 16777216})
    rows.add(element::f32, k_keys / cols, cols);
  for (const int64_t cols : {256, 512}) rows.add(element::f32, k_keys / cols, cols).variant = "argsort_block";
  return rows.take();
}

}  // namespace
}  // namespace warpcheck::bench

int main(int argc, char** argv) {
  using namespace warpcheck::bench;
  const row_operator argsort{"argsort",   row_operator::output::index_matrix, false, {{"order", 0}}, judge_row,
                             print_growth};
  return row_bench_main(argc, argv, argsort, all_rows());
}
