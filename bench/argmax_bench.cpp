// Argmax against the read limit of the same run and against peers. See bench/README.md.
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/row_bench.hpp"

namespace warpcheck::bench {
namespace {

void verify_row(const row_case& row, const void* x, const void* y) {
  const int64_t index = *static_cast<const int64_t*>(y), expected = index_of_maximum(row, x);
  if (index != expected)
    throw std::runtime_error("the index is " + std::to_string(index) + ", expected " + std::to_string(expected));
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
  const row_operator argmax{"argmax", row_operator::output::indices, false, {}, verify_row};
  return row_bench_main(argc, argv, argmax, all_rows());
}
