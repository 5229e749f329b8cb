// Elements of a product of the GPU against reference/matmul/matmul.hpp, on the host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace warpcheck::bench {

// Whose result it is and what it may err by: the bound of an arithmetic (product_arithmetic, by its number) with k cut
// so, and `operands` times the sum of sizes for what operands were rounded by before.
struct sampled_judge {
  std::string who;
  int arithmetic;
  int64_t slices, length;
  double operands;
};

// 48 indices below `extent`, or all: the first and last ones, and some between.
std::vector<int64_t> sample_of(int64_t extent);

// The largest share of the bound. a: sampled rows of k elements; b: sampled columns, likewise; c: the sampled rows, of
// n elements. Throws std::runtime_error with the first element whose error exceeds its bound.
double judge_sampled(const sampled_judge& judge, int64_t k, int64_t n, const std::vector<int64_t>& columns,
                     const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& c);

}  // namespace warpcheck::bench
