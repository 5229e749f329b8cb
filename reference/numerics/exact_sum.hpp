// A sum of doubles without any error: a fixed-point number wide enough for every finite double, subnormals included.
//
// Source of the idea: Kulisch's long accumulator (Kulisch, Miranker, Computer Arithmetic in Theory and Practice, 1981).
#pragma once

#include <array>
#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>

namespace warpcheck::reference {

class exact_sum {
 public:
  using integer = boost::multiprecision::cpp_int;

  void add(double x);  // x finite

  // The sum in units of 2^-1074.
  integer units() const;

 private:
  void carry();

  // Digits of weight 2^(32 k - 1074), kept signed so that an addition touches three of them and carries are rare:
  // each addition changes a digit by less than 2^33, so 2^29 of them fit.
  static constexpr int k_digits = 68;
  std::array<int64_t, k_digits> digits_{};
  int64_t pending_ = 0;
};

// RN(value 2^-1074) to double; infinite beyond the range.
double nearest_double(const exact_sum::integer& units);

}  // namespace warpcheck::reference
