// Sigmoid against the copy limit of the same run and against peers. See bench/README.md.
#include <cstdint>
#include <vector>

#include "bench/row_bench.hpp"
#include "reference/sigmoid.hpp"

namespace warpcheck::bench {
namespace {

result_judge judge_row(std::span<const double> x, dtype type) {
  return [x, model = reference::sigmoid_model(0, 1, type)](int64_t i, double actual) {
    return model.judge(x[static_cast<size_t>(i)], actual);
  };
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
  const row_operator sigmoid{"sigmoid", row_operator::output::matrix, true, {{"mu", 0}, {"sigma", 1}}, judge_row};
  return row_bench_main(argc, argv, sigmoid, all_rows());
}
