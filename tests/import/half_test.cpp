// The fused multiply-add of the 16-bit types that imported programs see, against integers.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "simt/import/half_arithmetic.hpp"

using f16 = simt::import::half_float<simt::f16>;
using bf16 = simt::import::half_float<simt::bf16>;
SIMT_IMPORT_HALF_FUNCTIONS(f16, simt::import::half_pair<f16>)
SIMT_IMPORT_HALF_FUNCTIONS(bf16, simt::import::half_pair<bf16>)

namespace {

using integer = boost::multiprecision::cpp_int;

template <class Half>
struct format;
template <>
struct format<f16> {
  static constexpr int precision = 11, quantum = -24;  // of the smallest subnormal: 2^quantum
  static constexpr uint16_t infinity = 0x7c00;
};
template <>
struct format<bf16> {
  static constexpr int precision = 8, quantum = -133;
  static constexpr uint16_t infinity = 0x7f80;
};

template <class Half>
Half of_bits(uint16_t bits) {
  Half h;
  h.bits = bits;
  return h;
}

bool is_nan(float x) { return x != x; }

// Returns x / 2^exponent, which is an integer.
integer scaled(double x, int exponent) {
  int e = 0;
  const double significand = std::frexp(x, &e);
  integer n = static_cast<int64_t>(std::ldexp(significand, 53));
  const int shift = e - 53 - exponent;
  return shift >= 0 ? integer(n << shift) : integer(n / (integer(1) << -shift));
}

// Rounds n * 2^(2 quantum), n not 0, to nearest with ties to even (IEEE 754-2019, 4.3.1).
template <class Half>
uint16_t rounded(const integer& n) {
  using f = format<Half>;
  const integer magnitude = abs(n);
  const int length = static_cast<int>(msb(magnitude)) + 1;
  const int above = std::max(0, length + f::quantum - f::precision);  // the quantum's exponent, less the smallest one's
  const int dropped = above - f::quantum;
  integer kept = magnitude >> dropped;
  const integer rest = magnitude - (kept << dropped), half = integer(1) << (dropped - 1);
  if (rest > half || (rest == half && bit_test(kept, 0))) ++kept;
  // The implicit bit adds one to the exponent, and a carry propagates into it.
  const integer bits = kept + (integer(above) << (f::precision - 1));
  return static_cast<uint16_t>((n < 0 ? 0x8000 : 0) | (bits < f::infinity ? static_cast<int>(bits) : f::infinity));
}

template <class Half>
uint16_t exactly_fused(Half a, Half b, Half c) {
  constexpr int unit = 2 * format<Half>::quantum;
  // Exact: two significands of at most 11 bits.
  const double product = static_cast<double>(a) * static_cast<double>(b), added = static_cast<double>(c);
  // Values that are no numbers, and the sign of a zero.
  const double sum = product + added;
  if (!std::isfinite(sum) || sum == 0) return Half(static_cast<float>(sum)).bits;
  return rounded<Half>(scaled(product, unit) + scaled(added, unit));
}

template <class Half>
void expect_fused(Half a, Half b, Half c) {
  const Half expected = of_bits<Half>(exactly_fused(a, b, c));
  const Half actual = __hfma(a, b, c);
  if (is_nan(expected) && is_nan(actual)) return;
  ASSERT_EQ(actual.bits, expected.bits) << float(a) << " * " << float(b) << " + " << float(c) << " = "
                                        << float(expected) << ", not " << float(actual);
}

template <class Half>
class Fma : public testing::Test {};
using halves = testing::Types<f16, bf16>;
TYPED_TEST_SUITE(Fma, halves);

TEST(FusedExamples, AreRoundedOnce) {
  EXPECT_EQ(float(__hfma(f16(3), f16(683), f16(0x1p-14f))), 2050.0f);
  EXPECT_EQ(float(__hfma(f16(3), f16(683), f16(0))), 2048.0f);
  EXPECT_EQ(float(__hfma(bf16(7), bf16(37), bf16(-0x1p-133f))), 258.0f);
  EXPECT_EQ(float(__hfma(bf16(7), bf16(37), bf16(0))), 260.0f);
  const auto pair = __hfma2({f16(3), f16(1)}, {f16(683), f16(2)}, {f16(0x1p-14f), f16(3)});
  EXPECT_EQ(float(pair.x), 2050.0f);
  EXPECT_EQ(float(pair.y), 5.0f);
}

// Products midway between two numbers, with each power of two as the addend that decides the rounding.
TYPED_TEST(Fma, OfAMidpointAndALittleGoesTheRightWay) {
  constexpr int precision = format<TypeParam>::precision, quantum = format<TypeParam>::quantum;
  std::vector<TypeParam> little;
  for (int e = quantum; e < precision; ++e)
    for (const float sign : {-1.0f, 1.0f}) little.push_back(std::ldexp(sign, e));
  for (int a = 1; a < 1 << precision; a += 2)
    for (int b = 1; b < 1 << precision && a * b < 2 << precision; b += 2) {
      if (a * b < 1 << precision) continue;
      for (const TypeParam c : little)
        for (const int sign : {-1, 1}) ASSERT_NO_FATAL_FAILURE(expect_fused(TypeParam(a), TypeParam(sign * b), c));
    }
}

TYPED_TEST(Fma, OfAnyBits) {
  std::mt19937 random(1);
  const auto any = [&] { return of_bits<TypeParam>(static_cast<uint16_t>(random())); };
  for (int i = 0; i < 500000; ++i) ASSERT_NO_FATAL_FAILURE(expect_fused(any(), any(), any()));
}

// Operands with similar exponents, and subnormal results, which random bits rarely give.
TYPED_TEST(Fma, OfSmallNumbers) {
  std::mt19937 random(1);
  using f = format<TypeParam>;
  const auto near = [&](int exponent) {
    const int significand = static_cast<int>(random() % (2u << f::precision)) - (1 << f::precision);
    return TypeParam(std::ldexp(static_cast<float>(significand), exponent + static_cast<int>(random() % 8)));
  };
  for (int i = 0; i < 200000; ++i)
    ASSERT_NO_FATAL_FAILURE(expect_fused(near(f::quantum / 2 - 8), near(f::quantum / 2 - 8), near(f::quantum)));
}

// A double or an int next to a midpoint that a float cannot represent.
TEST(Conversion, IsOneRounding) {
  EXPECT_EQ(float(f16(2049 + 0x1p-40)), 2050.0f);
  EXPECT_EQ(float(f16(2049 - 0x1p-40)), 2048.0f);
  EXPECT_EQ(float(bf16(257 + 0x1p-40)), 258.0f);
  EXPECT_EQ(float(bf16((257 << 20) + 1)), float(258 << 20));
  EXPECT_EQ(float(bf16(1e300)), HUGE_VALF);
  EXPECT_EQ(bf16(-1e-300).bits, 0x8000);
}

}  // namespace
