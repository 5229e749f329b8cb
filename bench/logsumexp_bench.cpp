// Logsumexp against the read limit of the same run and against peers. See bench/README.md.
#include <cstdint>
#include <vector>

#include "bench/row_bench.hpp"
#include "reference/logsumexp.hpp"

namespace warpcheck::bench {
namespace {

result_judge judge_row(std::span<const double> x, dtype type) { return judged_by<reference::logsumexp_row>(x, type); }

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
  const row_operator logsumexp{"logsumexp", row_operator::output::values, false, {}, judge_row};
  return row_bench_main(argc, argv, logsumexp, all_rows());
}
