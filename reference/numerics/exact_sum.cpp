#include "reference/numerics/exact_sum.hpp"

#include <bit>
#include <cmath>

namespace warpcheck::reference {

void exact_sum::add(double x) {
  const auto bits = std::bit_cast<uint64_t>(x);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  // x = +-significand 2^(position - 1074)
  const uint64_t significand = exponent == 0 ? fraction : fraction | uint64_t{1} << 52;
  const int position = exponent == 0 ? 0 : exponent - 1;
  const int first = position / 32, shift = position % 32;
  constexpr uint64_t low_half = 0xffffffff;
  const uint64_t low = (significand & low_half) << shift, high = (significand >> 32) << shift;
  const int64_t sign = bits >> 63 ? -1 : 1;
  digits_[first] += sign * static_cast<int64_t>(low & low_half);
  digits_[first + 1] += sign * static_cast<int64_t>((low >> 32) + (high & low_half));
  digits_[first + 2] += sign * static_cast<int64_t>(high >> 32);
  if (++pending_ == int64_t{1} << 29) carry();
}

void exact_sum::carry() {
  for (int k = 0; k + 1 < k_digits; ++k) {
    const int64_t up = digits_[k] >> 32;  // rounds down: the rest is in [0, 2^32)
    digits_[k] -= up * (int64_t{1} << 32);
    digits_[k + 1] += up;
  }
  pending_ = 0;
}

exact_sum::integer exact_sum::units() const {
  integer total = 0;
  for (int k = k_digits - 1; k >= 0; --k) total = total * (int64_t{1} << 32) + digits_[k];
  return total;
}

double nearest_double(const exact_sum::integer& units) {
  if (units == 0) return 0;
  const bool negative = units < 0;
  exact_sum::integer size = negative ? exact_sum::integer(-units) : units;
  // Keep 62 bits and remember in the last one whether anything was cut off: the conversion to double rounds once.
  const auto top = static_cast<int>(msb(size));
  int scale = -1074;
  if (top > 61) {
    const int cut = top - 61;
    const bool sticky = static_cast<int>(lsb(size)) < cut;
    size >>= cut;
    if (sticky) size |= 1;
    scale += cut;
  }
  // Below 2^53 units the conversion is exact, so ldexp never rounds into the subnormal range.
  const double rounded = std::ldexp(static_cast<double>(static_cast<uint64_t>(size)), scale);
  return negative ? -rounded : rounded;
}

}  // namespace warpcheck::reference
