// $op against the copy limit of the same run and against peers. See bench/README.md.
#include <cstdint>
#include <span>
#include <vector>

#include "bench/row_bench.hpp"
#include "reference/$op.hpp"

namespace warpcheck::bench {
namespace {

result_judge judge_row(std::span<const double> x, dtype) {
  return judged_by<reference::${op}_row>(std::vector<double>(x.begin(), x.end()));
}

std::vector<row_case> all_rows() {
  row_list rows(0.97);
#error "bench/${op}_bench.cpp: add the shapes that matter, and what bounds them (step 6)"
  rows.add_listed();
  rows.add_small();
  return rows.take();
}

}  // namespace
}  // namespace warpcheck::bench

int main(int argc, char** argv) {
  using namespace warpcheck::bench;
  return row_bench_main(argc, argv, {"$op", row_operator::output::matrix, false, {}, judge_row}, all_rows());
}
