// Prefix sums against the copy limit of the same run and against peers. See bench/README.md.
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "bench/row_bench.hpp"
#include "reference/scan.hpp"

namespace warpcheck::bench {
namespace {

result_judge judge_row(std::span<const double> x, dtype type) {
  return judged_by<reference::scan_row>(reference::prefix::inclusive, x, type);
}

// Time over bytes, of rows of 1024 elements and of a single row.
void print_growth(const std::vector<row_time>& times) {
  std::vector<std::pair<double, double>> many, single;
  for (const row_time& t : times) {
    if (t.row.offset != 0 || t.row.variant != nullptr) continue;
    const std::pair<double, double> point(static_cast<double>(t.row.rows * t.row.cols) * 8e-6, t.us);
    if (t.row.cols == 1024) many.push_back(point);
    if (t.row.rows == 1) single.push_back(point);
  }
  for (const auto& [name, points] : {std::pair("rows of 1024", &many), std::pair("one row", &single)}) {
    if (points->size() < 3) continue;
    const line fit = fit_line(*points);
    std::printf("%s: %.2f us + %.4f us per MB read or written, within %.0f %%\n", name, fit.at_zero, fit.slope,
                100 * fit.worst);
  }
}

std::vector<row_case> all_rows() {
  row_list rows(0.95);
  rows.add_listed();
  rows.add(element::f32, 4, 16777216).target = 0.9;
  rows.add(element::f32, 1, 67108864).target = 0.9;
  for (const int bits : {16, 18, 20, 22, 24}) {
    rows.add(element::f32, 1, int64_t{1} << bits).target = 0.9;
    rows.add(element::f32, (int64_t{1} << bits) / 1024, 1024);
  }
  rows.add_misaligned();
  // More than 2^31 elements, the last rows verified like the first.
  rows.add(element::f32, 2097160, 1024);
  rows.add(element::f32, 33, 67108864).target = 0.9;
  return rows.take();
}

}  // namespace
}  // namespace warpcheck::bench

int main(int argc, char** argv) {
  using namespace warpcheck::bench;
  const row_operator scan{"scan", row_operator::output::matrix, false, {{"kind", 0}}, judge_row, print_growth};
  return row_bench_main(argc, argv, scan, all_rows());
}
