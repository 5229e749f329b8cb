// Exact model of argsort: the columns of a row in the order (class, key, column), numbers before NaN in both
// directions, equal keys (-0 equals +0) and all NaN by ascending column. The only correct answer is this one (bound 0).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace warpcheck::reference {

inline std::vector<int64_t> argsort(std::span<const double> keys, bool descending) {
  std::vector<int64_t> columns(keys.size());
  std::iota(columns.begin(), columns.end(), int64_t{0});
  std::ranges::stable_sort(columns, [&](int64_t i, int64_t j) {
    const double a = keys[static_cast<size_t>(i)], b = keys[static_cast<size_t>(j)];
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
    return descending ? a > b : a < b;
  });
  return columns;
}

}  // namespace warpcheck::reference
