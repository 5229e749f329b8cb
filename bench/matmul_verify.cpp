#include "bench/matmul_verify.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>

#include "reference/matmul/matmul.hpp"

namespace warpcheck::bench {

std::vector<int64_t> sample_of(int64_t extent) {
  constexpr int64_t k_most = 48;
  std::vector<int64_t> index;
  for (int64_t i = 0; i < std::min(extent, k_most); ++i)
    index.push_back(extent <= k_most ? i : i < 8 ? i : i < 16 ? extent - 1 - (i - 8) : (i * 2654435761) % extent);
  return index;
}

double judge_sampled(const sampled_judge& judge, int64_t k, int64_t n, const std::vector<int64_t>& columns,
                     const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& c) {
  constexpr reference::dot_arithmetic k_arithmetics[] = {
      reference::dot_arithmetic::ieee, reference::dot_arithmetic::tf32x3, reference::dot_arithmetic::bf16x6,
      reference::dot_arithmetic::f16, reference::dot_arithmetic::bf16};
  reference::matmul_setting setting;
  setting.arithmetic = k_arithmetics[judge.arithmetic];
  setting.slices = {judge.slices, judge.length};
  const std::vector<double> rows(a.begin(), a.end()), cols(b.begin(), b.end());
  const auto length = static_cast<size_t>(k);
  double worst = 0;
  for (size_t i = 0; i * length < rows.size(); ++i)
    for (size_t j = 0; j < columns.size(); ++j) {
      const std::span<const double> row(&rows[i * length], length), column(&cols[j * length], length);
      const reference::matmul_element element(setting, {row, column});
      const auto actual = static_cast<double>(c[i * static_cast<size_t>(n) + static_cast<size_t>(columns[j])]);
      double sizes = 0;
      for (size_t l = 0; l < length && judge.operands > 0; ++l) sizes += std::fabs(row[l] * column[l]);
      const double bound = element.bound() + judge.operands * sizes;
      const double ratio = std::fabs(actual - element.expected()) / bound;
      if (!(ratio <= 1))
        throw std::runtime_error(judge.who + ": element (sampled row " + std::to_string(i) + ", column " +
                                 std::to_string(columns[j]) + ") is " + std::to_string(actual) + ", exact is " +
                                 std::to_string(element.expected()) + ", " + std::to_string(ratio) + " of the bound");
      worst = std::max(worst, ratio);
    }
  return worst;
}

}  // namespace warpcheck::bench
