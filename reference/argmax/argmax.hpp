// Exact model of argmax: the lowest index of the largest element. NaN is larger than everything, so the first NaN wins;
// -0 and +0 are equal; an empty row has -1. The only correct answer is this one (bound 0).
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

namespace warpcheck::reference {

inline int64_t argmax(std::span<const double> x) {
  if (x.empty()) return -1;
  int64_t best = 0;
  for (int64_t i = 0; i < static_cast<int64_t>(x.size()); ++i) {
    if (std::isnan(x[i])) return i;
    if (x[i] > x[best]) best = i;
  }
  return best;
}

}  // namespace warpcheck::reference
