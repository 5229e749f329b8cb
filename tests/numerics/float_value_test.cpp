#include "reference/numerics/float_value.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "reference/numerics/multiprecision.hpp"

namespace warpcheck::reference {
namespace {

constexpr double k_plus_inf = std::numeric_limits<double>::infinity();
constexpr dtype k_small[] = {dtype::f16, dtype::bf16};
constexpr dtype k_formats[] = {dtype::f16, dtype::bf16, dtype::f32, dtype::f64};

// Every exponent, both signs, subnormals: the value of 64 random bits.
double any_double(std::mt19937_64& random) { return std::bit_cast<double>(random()); }

// A double in the f32 range of exponents and a little beyond, with many ties: few significant bits past the 24th.
double near_float(std::mt19937_64& random) {
  const auto significand = static_cast<double>((random() >> (64 - 27)) | 1u << 26);
  const int exponent = static_cast<int>(random() % 290) - 154;
  return (random() & 1 ? 1 : -1) * std::ldexp(significand, exponent - 26);
}

TEST(float_value, parameters) {
  EXPECT_EQ(unit_roundoff(dtype::f32), 0x1p-24);
  EXPECT_EQ(min_subnormal(dtype::f32), 0x1p-149);
  EXPECT_EQ(max_finite(dtype::f32), std::numeric_limits<float>::max());
  EXPECT_EQ(max_finite(dtype::f64), std::numeric_limits<double>::max());
  EXPECT_EQ(min_subnormal(dtype::f64), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(max_finite(dtype::f16), 65504.0);
  EXPECT_EQ(overflow_threshold(dtype::f16), 65520.0);
  EXPECT_EQ(min_subnormal(dtype::f16), 0x1p-24);
  EXPECT_EQ(min_normal(dtype::f16), 0x1p-14);
  EXPECT_EQ(unit_roundoff(dtype::bf16), 0x1p-8);
  EXPECT_EQ(min_subnormal(dtype::bf16), 0x1p-133);
  EXPECT_EQ(overflow_threshold(dtype::f32), 0x1.ffffffp127);
}

TEST(float_value, known_encodings) {
  EXPECT_EQ(decode(dtype::f16, 0x3c00), 1.0);
  EXPECT_EQ(decode(dtype::f16, 0xc500), -5.0);
  EXPECT_EQ(decode(dtype::f16, 0x0001), 0x1p-24);
  EXPECT_EQ(decode(dtype::f16, 0x7c00), k_plus_inf);
  EXPECT_TRUE(std::isnan(decode(dtype::f16, 0x7c01)));
  EXPECT_EQ(decode(dtype::bf16, 0x3f80), 1.0);
  EXPECT_EQ(decode(dtype::bf16, 0xff80), -k_plus_inf);
  EXPECT_EQ(decode(dtype::bf16, 0x4049), 3.140625);
  EXPECT_TRUE(std::signbit(decode(dtype::bf16, 0x8000)));
  EXPECT_EQ(encode(dtype::f16, 1e6), 0x7c00u);
  EXPECT_EQ(encode(dtype::bf16, -0.0), 0x8000u);
  EXPECT_EQ(encode(dtype::f16, std::nan("")), 0x7e00u);
  EXPECT_EQ(encode(dtype::bf16, std::nan("")), 0x7fc0u);
}

TEST(float_value, all_16_bit_encodings_round_trip_and_step) {
  for (const dtype t : k_small) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const double x = decode(t, bits);
      if (std::isnan(x)) continue;
      ASSERT_EQ(encode(t, x), bits) << name_of(t);
      const bool negative = bits & 0x8000;
      if (std::isinf(x)) continue;
      const double up = bits == 0x8000 ? decode(t, 1) : decode(t, negative ? bits - 1 : bits + 1);
      ASSERT_EQ(next_up(t, x), up) << name_of(t) << ' ' << x;
      ASSERT_EQ(next_down(t, -x), -up);
      if (x > 0 && up < k_plus_inf) {
        ASSERT_EQ(ulp(t, x), up - x) << name_of(t) << ' ' << x;
      }
    }
  }
}

TEST(float_value, f32_and_f64_agree_with_the_host) {
  std::mt19937_64 random(1);
  for (int k = 0; k < 1'000'000; ++k) {
    const double x = k % 2 ? any_double(random) : near_float(random);
    if (std::isnan(x)) continue;
    const auto host = static_cast<float>(x);
    ASSERT_EQ(round_to(dtype::f32, x), static_cast<double>(host)) << hexfloat(x);
    ASSERT_EQ(encode(dtype::f32, x), std::bit_cast<uint32_t>(host)) << hexfloat(x);
    ASSERT_EQ(decode(dtype::f32, std::bit_cast<uint32_t>(host)), static_cast<double>(host));
    ASSERT_EQ(encode(dtype::f64, x), std::bit_cast<uint64_t>(x));
    ASSERT_EQ(decode(dtype::f64, std::bit_cast<uint64_t>(x)), x);
    const float up = std::nextafterf(host, std::numeric_limits<float>::infinity());
    ASSERT_EQ(next_up(dtype::f32, host), static_cast<double>(up)) << hexfloat(host);
  }
}

// The tables of the OCP 8-bit Floating Point Specification, revision 1.0.
TEST(float_value, formats_of_8_bits) {
  EXPECT_EQ(decode(dtype::e4m3, 0x7e), 448.0);
  EXPECT_EQ(decode(dtype::e4m3, 0x08), 0x1p-6);
  EXPECT_EQ(decode(dtype::e4m3, 0x07), 0.875 * 0x1p-6);
  EXPECT_EQ(decode(dtype::e4m3, 0x81), -0x1p-9);
  EXPECT_EQ(decode(dtype::e5m2, 0x7b), 57344.0);
  EXPECT_EQ(decode(dtype::e5m2, 0xfc), -k_plus_inf);
  EXPECT_EQ(decode(dtype::e5m2, 0x04), 0x1p-14);
  EXPECT_EQ(decode(dtype::e5m2, 0x01), 0x1p-16);
  for (const auto& [type, nans] : {std::pair{dtype::e4m3, 2}, std::pair{dtype::e5m2, 6}}) {
    int found = 0;
    for (uint32_t bits = 0; bits < 0x100; ++bits) {
      const double x = decode(type, bits);
      if (std::isnan(x)) {
        ++found;
      } else {
        EXPECT_EQ(encode(type, x), bits) << name_of(type);
      }
    }
    EXPECT_EQ(found, nans) << name_of(type);
    EXPECT_EQ(encode(type, std::nan("")), type == dtype::e4m3 ? 0x7fu : 0x7eu);
  }
  // Conversion to e4m3 saturates, at Inf, too; 464 is the tie between 448 and what is NaN.
  for (const double x : {464.0, 465.0, 1e30, k_plus_inf}) EXPECT_EQ(encode(dtype::e4m3, x), 0x7eu) << x;
  EXPECT_EQ(next_up(dtype::e4m3, 448), 448);
  EXPECT_EQ(encode(dtype::e5m2, 61440), 0x7cu);
  EXPECT_EQ(encode(dtype::e5m2, std::nextafter(61440, 0)), 0x7bu);
  EXPECT_EQ(encode(dtype::e4m3, 17), 0x58u);  // a tie: 16 is even
  EXPECT_EQ(encode(dtype::e4m3, 19), 0x5au);  // a tie: 20 is even
}

// By definition: no value of the format is nearer, and a tie goes to the even encoding.
TEST(float_value, rounding_is_to_nearest_even) {
  std::mt19937_64 random(2);
  for (const dtype t : k_small) {
    const int excess = format_of(t).precision + 3;  // three bits past the last: ties are common
    for (int k = 0; k < 200'000; ++k) {
      const auto significand = static_cast<double>(random() >> (64 - excess));
      const int exponent = format_of(t).min_exponent - 12 - excess + static_cast<int>(random() % 40);
      const double x = std::ldexp(significand, exponent);
      const double y = round_to(t, x);
      if (std::isinf(y)) {
        ASSERT_GE(x, overflow_threshold(t));
        continue;
      }
      const double below = std::fabs(x - next_down(t, y)), above = std::fabs(x - next_up(t, y));
      const double own = std::fabs(x - y);
      ASSERT_LE(own, std::min(below, above)) << name_of(t) << ' ' << hexfloat(x);
      if (own == std::min(below, above)) {
        ASSERT_EQ(encode(t, y) % 2, 0u) << name_of(t) << ' ' << hexfloat(x);
      }
      ASSERT_EQ(round_to(t, -x), -y);
    }
    EXPECT_EQ(round_to(t, overflow_threshold(t)), k_plus_inf);
    EXPECT_EQ(round_to(t, std::nextafter(overflow_threshold(t), 0)), max_finite(t));
    EXPECT_TRUE(std::signbit(round_to(t, -1e-300)));
  }
}

// A number just off a tie rounds to its own side even where the double nearest to it is the tie.
TEST(float_value, multiprecision_rounds_once) {
  for (const dtype t : k_formats) {
    const double u = unit_roundoff(t);
    const mp100 tie = mp100(1) + u;
    const mp100 speck("1e-70");
    EXPECT_EQ(round_to(t, tie), 1.0) << name_of(t);
    EXPECT_EQ(round_to(t, mp100(tie + speck)), 1 + 2 * u) << name_of(t);
    EXPECT_EQ(round_to(t, mp100(-tie - speck)), -1 - 2 * u) << name_of(t);
    EXPECT_EQ(round_to(t, mp100(1 + 3 * mp100(u) - speck)), 1 + 2 * u) << name_of(t);
  }
  EXPECT_EQ(round_to(dtype::f32, mp50(0.75) * 0x1p-149), 0x1p-149);
  EXPECT_EQ(round_to(dtype::f32, mp50(0.25) * 0x1p-149), 0.0);
  EXPECT_EQ(round_to(dtype::f32, mp50(1e39)), k_plus_inf);
}

TEST(float_value, text) {
  EXPECT_EQ(hexfloat(3.0), "0x1.8p+1");
  EXPECT_EQ(hexfloat(-k_plus_inf), "-inf");
}

}  // namespace
}  // namespace warpcheck::reference
