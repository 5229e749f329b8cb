// The 50 and 100 digit types of the slow path, their error assumptions, and the elementary functions whose accuracy
// near zero matters. Costly to compile: only .cpp files and tests include it.
//
// Decimal, not binary: exp, the function that dominates a row, takes 3.7 us (50 digits) and 10 us (100) in
// cpp_dec_float against 6.2 us and 23 us in cpp_bin_float (Boost 1.74, g++ 12 -O2, one x86-64 core); log is slower in
// decimal but is needed once per row.
#pragma once

#include <boost/multiprecision/cpp_dec_float.hpp>

#include "reference/numerics/enclosure.hpp"

namespace warpcheck::reference {

using mp50 = boost::multiprecision::number<boost::multiprecision::cpp_dec_float<50>, boost::multiprecision::et_off>;
using mp100 = boost::multiprecision::number<boost::multiprecision::cpp_dec_float<100>, boost::multiprecision::et_off>;

template <class Backend>
using mp_number = boost::multiprecision::number<Backend, boost::multiprecision::et_off>;

// log1p by atanh: ln(1+x) = 2 (t + t^3/3 + t^5/5 + ...), t = x/(2+x). For |x| < 2^-10, t^2 < 2^-21 and the series
// ends early; beyond, 1 + x loses at most four digits, which `elementary` leaves room for. Domain: x > -1.
template <class Backend>
mp_number<Backend> mp_log1p(const mp_number<Backend>& x) {
  using number = mp_number<Backend>;
  if (abs(x) >= 0x1p-10) return log(number(1 + x));
  const number t = x / (2 + x);
  const number t2 = t * t;
  number power = t, sum = t;
  for (int k = 3; power != 0 && abs(power) > abs(sum) * std::numeric_limits<number>::epsilon() * 1e-6; k += 2) {
    power *= t2;
    sum += power / k;
  }
  return 2 * sum;
}

// expm1 by its Taylor series below 2^-10, by exp beyond (which loses at most four digits).
template <class Backend>
mp_number<Backend> mp_expm1(const mp_number<Backend>& x) {
  using number = mp_number<Backend>;
  if (abs(x) >= 0x1p-10) return exp(x) - 1;
  number term = x, sum = x;
  for (int k = 2; term != 0 && abs(term) > abs(sum) * std::numeric_limits<number>::epsilon() * 1e-6; ++k) {
    term *= x;
    term /= k;
    sum += term;
  }
  return sum;
}

// Assumed relative errors. The types carry at least 8 guard digits, yet nothing is claimed beyond the nominal number;
// the test `multiprecision_within_assumption` measures all three functions against 150 digits.
template <>
struct arithmetic<mp50> {
  static constexpr double unit = 1e-49;
  static constexpr double elementary = 1e-46;
  static mp50 log1p(const mp50& x) { return mp_log1p(x); }
  static mp50 expm1(const mp50& x) { return mp_expm1(x); }
};
template <>
struct arithmetic<mp100> {
  static constexpr double unit = 1e-99;
  static constexpr double elementary = 1e-96;
  static mp100 log1p(const mp100& x) { return mp_log1p(x); }
  static mp100 expm1(const mp100& x) { return mp_expm1(x); }
};

}  // namespace warpcheck::reference
