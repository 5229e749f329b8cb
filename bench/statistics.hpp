// Statistics of measured times.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace warpcheck::bench {

inline double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// y = at_zero + slope x, with the least sum of squared relative errors, and the largest of these errors.
struct line {
  double at_zero = 0;
  double slope = 0;
  double worst = 0;
};

// At least two points of different x, y > 0.
inline line fit_line(const std::vector<std::pair<double, double>>& points) {
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (const auto& [x, y] : points) {
    const double weight = 1 / (y * y);
    w += weight;
    wx += weight * x;
    wy += weight * y;
    wxx += weight * x * x;
    wxy += weight * x * y;
  }
  line fit;
  fit.slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
  fit.at_zero = (wy - fit.slope * wx) / w;
  for (const auto& [x, y] : points) fit.worst = std::max(fit.worst, std::abs((fit.at_zero + fit.slope * x) / y - 1));
  return fit;
}

}  // namespace warpcheck::bench
