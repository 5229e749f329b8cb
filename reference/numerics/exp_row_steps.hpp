// The steps that softmax, log_softmax and logsumexp share, for explanations; no verdict uses them.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/numerics/exp_row.hpp"
#include "reference/numerics/model_step.hpp"

namespace warpcheck::reference {

// Of a finite x_i of a finite row. Plain is a single thread that subtracts the maximum.
inline std::vector<model_step> exp_row_steps(const exp_row& row, int64_t i) {
  float maximum = -INFINITY, sum = 0;
  for (const double v : row.x()) maximum = std::max(maximum, static_cast<float>(v));
  for (const double v : row.x()) sum += std::exp(static_cast<float>(v) - maximum);
  const float gap = static_cast<float>(row.x()[static_cast<size_t>(i)]) - maximum;
  return {{"maximum of the row", row.max(), maximum},
          {"element - maximum", -row.gap<double>(i).value, gap},
          {"its exponential", row.exponential<double>(i).value, std::exp(gap)},
          {"sum of the exponentials", 1 + row.sum<double>().tail.value, sum}};
}

}  // namespace warpcheck::reference
