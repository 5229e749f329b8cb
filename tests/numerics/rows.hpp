// Rows that are hard on a sum of exponentials, for the tests of the reference. Values are exact f32 numbers.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace warpcheck::reference {

struct named_row {
  std::string name;
  std::vector<double> x;
};

// One row of each kind with n elements. Kinds: row_ops.md, section 5.
inline std::vector<named_row> adversarial_rows(int n, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&](double low, double high) {
    return static_cast<double>(static_cast<float>(std::uniform_real_distribution<double>(low, high)(random)));
  };
  const auto make = [&](auto&& value) {
    std::vector<double> x(n);
    for (int i = 0; i < n; ++i) x[i] = static_cast<double>(static_cast<float>(value(i)));
    return x;
  };
  constexpr double top = std::numeric_limits<float>::max();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const float log_n = std::log(static_cast<float>(n));
  return {
      {"narrow", make([&](int) { return uniform(-1, 1); })},
      {"wide", make([&](int) { return uniform(-60, 60); })},
      {"all_magnitudes", make([&](int) { return uniform(-104, 0); })},
      {"subnormal_results", make([&](int i) { return i == n / 2 ? 0.0 : uniform(-104, -86); })},
      {"below_everything", make([&](int i) { return i == 0 ? 0.0 : uniform(-2000, -104); })},
      {"large_offset", make([&](int) { return 1e7 + std::floor(uniform(0, 30)); })},
      {"huge", make([&](int) { return uniform(-3e38, 3e38); })},
      {"lowest_finite_mask", make([&](int i) { return i % 3 == 1   ? -top
                                                      : i % 3 == 2 ? uniform(-2, 2)
                                                                   : 0.0; })},
      {"both_ends", make([&](int i) { return i % 2 ? top : -top; })},
      {"ascending", make([&](int i) { return 0.03 * i; })},
      {"descending", make([&](int i) { return -0.03 * i; })},
      {"stagnation", make([&](int i) { return i == 0 ? 0.0 : -16.64; })},
      {"all_equal", make([&](int) { return -7.25; })},
      {"minus_log_n", make([&](int) { return -log_n; })},
      {"dominant", make([&](int i) { return i == n - 1 ? 30.0 : 0.0; })},
      {"far_tail", make([&](int i) { return i == 0 ? 0.0 : -100.0; })},
      {"masked", make([&](int i) { return i % 2 ? -infinity : uniform(-5, 5); })},
      {"inexact_gaps", make([&](int i) { return i == 0 ? 1.0 : uniform(-1e-12, 1e-12); })},  // d needs 63 bits
      {"subnormal_inputs", make([&](int) { return uniform(-1e-39, 1e-39); })},
  };
}

}  // namespace warpcheck::reference
