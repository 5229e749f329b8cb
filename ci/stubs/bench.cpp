// $op against the copy limit of the same run and against peers. See bench/README.md.
#include "bench/row_bench.hpp"

namespace warpcheck::bench {
namespace {

void verify_row(const row_case& row, const void* x, const void* y) {
#error "bench/${op}_bench.cpp: judge the results of a row by reference/$op.hpp (step 6)"
}

}  // namespace
}  // namespace warpcheck::bench

int main(int argc, char** argv) {
  using namespace warpcheck::bench;
  row_list rows(0.97);
  rows.add_listed();
  rows.add_small();
  const row_operator $op{"$op", row_operator::output::matrix, false, {}, verify_row};
  return row_bench_main(argc, argv, $op, rows.take());
}
