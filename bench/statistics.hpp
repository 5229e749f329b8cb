// Statistics of measured times.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
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

// Median of a / median of b with the 95 % interval of a seeded bootstrap.
struct ratio {
  double value = 0;
  double low = 0;
  double high = 0;
};

inline ratio ratio_of_medians(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr int k_resamples = 1000;
  std::mt19937 random(1);
  std::vector<double> ratios;
  const auto resample = [&](const std::vector<double>& from) {
    std::uniform_int_distribution<size_t> pick(0, from.size() - 1);
    std::vector<double> sample(from.size());
    for (double& value : sample) value = from[pick(random)];
    return median(sample);
  };
  for (int i = 0; i < k_resamples; ++i) ratios.push_back(resample(a) / resample(b));
  std::sort(ratios.begin(), ratios.end());
  return {median(a) / median(b), ratios[k_resamples / 40], ratios[k_resamples - 1 - k_resamples / 40]};
}

}  // namespace warpcheck::bench
