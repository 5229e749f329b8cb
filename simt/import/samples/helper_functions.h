// Stands in for the header of this name that NVIDIA's samples share: arguments, clocks, and comparisons of results.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "helper_string.h"
#include "helper_timer.h"

// True if no element differs by more than epsilon, except for a given share of them.
template <class T>
bool compareData(const T* reference, const T* data, unsigned count, T epsilon, float share = 0) {
  unsigned apart = 0;
  for (unsigned i = 0; i < count; ++i)
    apart +=
        !(std::fabs(static_cast<double>(reference[i]) - static_cast<double>(data[i])) <= static_cast<double>(epsilon));
  return static_cast<float>(apart) <= share * static_cast<float>(count);
}
// True if the norm of the difference is at most epsilon times the reference's Euclidean norm.
inline bool sdkCompareL2fe(const float* reference, const float* data, unsigned count, float epsilon) {
  double error = 0, length = 0;
  for (unsigned i = 0; i < count; ++i) {
    const double difference = double{reference[i]} - double{data[i]};
    error += difference * difference, length += double{reference[i]} * double{reference[i]};
  }
  return length > 0 && std::sqrt(error / length) < double{epsilon};
}
