// The steps of a model, for explanations; no verdict uses them.
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "reference/numerics/dtype.hpp"

namespace warpcheck::reference {

// A step on the way to an element of a result.
struct model_step {
  std::string what;
  double exact = 0;                                           // its exact value
  double plain = 0;                                           // its value in f32, one operation after another
  double implied = std::numeric_limits<double>::quiet_NaN();  // what the kernel's results imply; NaN: nothing
};

inline double sum_of_sizes(std::span<const double> x) {
  double sum = 0;
  for (const double v : x) sum += std::fabs(v);
  return sum;
}

// Adds the terms one after another, in f64 or rounded to f32 each time.
inline double plain_sum(dtype type, std::span<const double> x) {
  double sum = 0;
  for (const double v : x) sum = type == dtype::f64 ? sum + v : static_cast<float>(sum + v);
  return sum;
}

// The steps of a sum, of which the kernel gave `actual`.
inline std::vector<model_step> sum_steps(const char* what, std::span<const double> terms, double exact, double actual,
                                         dtype type = dtype::f32) {
  const auto count = static_cast<double>(terms.size());
  const double sizes = sum_of_sizes(terms);
  return {{"number of terms", count, count},
          {"sum of their sizes", sizes, sizes},
          {what, exact, plain_sum(type, terms), actual}};
}

// The element in a column of the row; NaN if there is no such column.
inline double element_of(std::span<const double> x, double column) {
  const bool is_column = column >= 0 && column < static_cast<double>(x.size()) && column == std::floor(column);
  return is_column ? x[static_cast<size_t>(column)] : std::numeric_limits<double>::quiet_NaN();
}

// The steps to a column of the row, of which the kernel gave `actual`.
inline std::vector<model_step> column_steps(const char* what, std::span<const double> x, double due, double actual) {
  const double element = element_of(x, due);
  return {{what, element, element, element_of(x, actual)}, {"its column", due, due, actual}};
}

}  // namespace warpcheck::reference
