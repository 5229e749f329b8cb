#include "properties/engine/cases/recipe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "properties/engine/error.hpp"

namespace warpcheck::engine {
namespace {

TEST(number_text, round_trips_every_double) {
  for (uint64_t i = 0; i < 20000; ++i) {
    const double value = std::bit_cast<double>(hash64(3, i));
    const auto again = parse_number(format_number(value));
    ASSERT_TRUE(again);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(*again));
      continue;
    }
    EXPECT_EQ(std::bit_cast<uint64_t>(*again), std::bit_cast<uint64_t>(value)) << format_number(value);
  }
  EXPECT_TRUE(std::signbit(*parse_number("-0")));
  EXPECT_EQ(*parse_number("0x1.8p+1"), 3.0);
  for (const char* bad : {"", "+", "-", "x", "1e999", "0x", "1 ", " 1", "1,0", "infinity", "--1", "1e"})
    EXPECT_FALSE(parse_number(bad)) << bad;
}

TEST(hash, has_known_values_so_that_data_never_changes_silently) {
  // Recorded once; a change would silently give every replay line other data.
  EXPECT_EQ(hash64(0, 0, 0), 0x238275bc38fcbe91u);
  EXPECT_EQ(hash64(1, 2, 3), 0x6ae515c1c0ac7e37u);
  const value_source normal(make_recipe("randn", {7}), dtype::f32, 16);
  EXPECT_EQ(normal.bits(0, 0), 0x3f8df083u);
  EXPECT_EQ(normal.bits(3, 9), 0xbf98facau);
  EXPECT_EQ(value_source(make_recipe("bits", {7}), dtype::f32, 16).bits(3, 9), 0x45414ccau);
}

TEST(element_types, encode_rounds_to_nearest_even_and_decode_is_exact) {
  EXPECT_EQ(encode(dtype::f16, 65519.0), 0x7bffu);
  EXPECT_EQ(encode(dtype::f16, 65520.0), 0x7c00u);
  EXPECT_EQ(encode(dtype::f16, 0x1p-25), 0u);
  EXPECT_EQ(encode(dtype::f16, 0x1.8p-25), 1u);
  EXPECT_EQ(encode(dtype::bf16, 1.0 + 0x1p-8), 0x3f80u);
  EXPECT_EQ(encode(dtype::bf16, 1.0 + 0x1.8p-7), 0x3f82u);
  for (const dtype type : {dtype::f16, dtype::bf16})
    for (uint64_t bits = 0; bits < 65536; ++bits) {
      const double value = decode(type, bits);
      if (!std::isnan(value)) {
        ASSERT_EQ(encode(type, value), bits);
      }
    }
  EXPECT_EQ(encode(dtype::u8, 300), 255u);
  EXPECT_EQ(encode(dtype::i32, -1e12), 0x80000000u);
  EXPECT_EQ(decode(dtype::i64, encode(dtype::i64, -5)), -5);
}

TEST(distributions, nan_bits_have_any_payload_and_sign) {
  for (const dtype type : {dtype::f16, dtype::bf16, dtype::f32, dtype::f64}) {
    const value_source source(make_recipe("nan_bits", {1}), type, 6000);
    const uint64_t quiet = encode(type, std::numeric_limits<double>::quiet_NaN());
    const uint64_t sign = uint64_t{1} << (8 * size_of(type) - 1);
    int nan = 0, negative = 0, signalling = 0;
    std::set<uint64_t> patterns;
    for (int64_t i = 0; i < 6000; ++i) {
      const uint64_t bits = source.bits(0, i);
      ASSERT_FALSE(std::isinf(decode(type, bits)));
      if (!std::isnan(decode(type, bits))) continue;
      ++nan;
      negative += (bits & sign) != 0;
      signalling += (bits & quiet & ~encode(type, HUGE_VAL)) == 0;
      patterns.insert(bits);
    }
    EXPECT_NEAR(nan, 1000, 120) << name_of(type);
    EXPECT_NEAR(negative, nan / 2, 80) << name_of(type);
    EXPECT_NEAR(signalling, nan / 2, 80) << name_of(type);
    EXPECT_GT(patterns.size(), 200u) << name_of(type);
  }
}

TEST(distributions, bits_reach_every_class_of_f32) {
  const value_source source(make_recipe("bits", {1}), dtype::f32, 100000);
  int nan = 0, infinite_exponent = 0, subnormal = 0, negative = 0;
  std::set<int> exponents;
  for (int64_t i = 0; i < 100000; ++i) {
    const float v = std::bit_cast<float>(static_cast<uint32_t>(source.bits(0, i)));
    nan += std::isnan(v);
    infinite_exponent += !std::isfinite(v);
    subnormal += std::fpclassify(v) == FP_SUBNORMAL;
    negative += std::signbit(v);
    if (std::isfinite(v) && v != 0) exponents.insert(std::ilogb(v));
  }
  EXPECT_GT(nan, 200);
  EXPECT_GE(infinite_exponent, nan);
  EXPECT_GT(subnormal, 200);
  EXPECT_NEAR(negative, 50000, 1000);
  EXPECT_GE(exponents.size(), 254u);
  const value_source finite(make_recipe("finite_bits", {1}), dtype::f16, 100000);
  for (int64_t i = 0; i < 100000; ++i) ASSERT_TRUE(std::isfinite(decode(dtype::f16, finite.bits(0, i))));
}

TEST(distributions, make_what_they_say) {
  const auto value = [](const char* name, std::vector<double> arguments, int64_t row, int64_t col) {
    return decode(dtype::f64, value_source(make_recipe(name, std::move(arguments)), dtype::f64, 10).bits(row, col));
  };
  EXPECT_EQ(value("constant", {2.5}, 3, 3), 2.5);
  EXPECT_EQ(value("ascending", {0, 9}, 0, 4), 4);
  EXPECT_EQ(value("descending", {0, 9}, 0, 4), 5);
  EXPECT_EQ(value("alternating", {1, 2}, 0, 3), 2);
  EXPECT_EQ(value("sawtooth", {4, 0, 8}, 0, 5), 2);
  EXPECT_EQ(value("spike", {3, 1, -1}, 0, 3), 1);
  EXPECT_EQ(value("spike", {3, 1, -1}, 0, 4), -1);
  EXPECT_EQ(value("diagonal", {1, 2, 7, 0}, 3, 7), 7);
  EXPECT_EQ(value("diagonal", {1, 2, 7, 0}, 5, 1), 7);
  EXPECT_EQ(value("masked", {2, 4, 1}, 0, 3), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isfinite(value("masked", {2, 4, 1}, 0, 4)));
  EXPECT_TRUE(std::isfinite(value("unmasked", {2, 4, 1}, 0, 3)));
  EXPECT_EQ(value("stagnation", {2, -16.64}, 0, 2), 0);
  EXPECT_EQ(value("stagnation", {2, -16.64}, 0, 6), -16.64);
  for (const auto& [col, expected] : {std::pair{1, -16.64}, {2, 0.0}, {3, -16.64}, {6, 0.0}, {7, -16.64}, {10, 0.0}})
    EXPECT_EQ(value("stagnation", {2, -16.64, 4}, 0, col), expected);
  for (int64_t i = 0; i < 200; ++i) {
    const double k = value("integers", {9, -3, 3}, i, 0);
    EXPECT_TRUE(k == std::floor(k) && k >= -3 && k <= 3);
    const double u = value("uniform", {9, -3, 3}, i, 0);
    EXPECT_TRUE(u >= -3 && u < 3);
    const double d = value("dyadic", {9, 24, 3}, i, 0) * 8;
    EXPECT_TRUE(d == std::floor(d) && std::fabs(d) <= 24);
  }
}

TEST(distributions, permutation_takes_every_integer_once) {
  for (const int64_t count : {1, 2, 30, 97, 256, 1000}) {
    const value_source source(make_recipe("permutation", {5, static_cast<double>(count)}), dtype::i64, count);
    std::set<uint64_t> first, second;
    bool differ = false;
    for (int64_t i = 0; i < count; ++i) {
      first.insert(source.bits(0, i));
      second.insert(source.bits(1, i));
      differ |= source.bits(0, i) != source.bits(1, i);
    }
    EXPECT_EQ(first.size(), static_cast<size_t>(count));
    EXPECT_EQ(*first.rbegin(), static_cast<uint64_t>(count - 1));
    EXPECT_EQ(first, second);
    EXPECT_TRUE(differ || count < 30);
  }
  EXPECT_THROW(parse_recipe("permutation(1,-1)"), usage_error);
  EXPECT_THROW(parse_recipe("permutation(1,0.5)"), usage_error);
}

TEST(distributions, edits_override_and_the_last_one_wins) {
  recipe r = make_recipe("constant", {1});
  r.edits = {{0, 2, 5}, {0, 2, 6}};
  const value_source source(r, dtype::f32, 4);
  EXPECT_EQ(decode(dtype::f32, source.bits(0, 2)), 6);
  EXPECT_EQ(decode(dtype::f32, source.bits(1, 2)), 1);
}

TEST(recipe_text, every_distribution_round_trips_with_each_count_of_arguments) {
  for (const distribution_info& d : distributions()) {
    if (d.name == "npy" || d.name == "derived") continue;
    const auto most = static_cast<size_t>(std::ranges::count(d.parameters, ',')) + 1;
    const auto optional = static_cast<size_t>(std::ranges::count(d.parameters, '?'));
    for (size_t n = most - optional; n <= most; ++n) {
      const recipe r = make_recipe(std::string(d.name), std::vector<double>(n, 3.0));
      EXPECT_EQ(parse_recipe(format(r)), r);
      value_source(r, dtype::f32, 8).bits(0, 0);
    }
  }
}

TEST(recipe, the_sign_of_a_nan_travels) {
  for (const char* text : {"nan", "-nan"}) {
    const std::optional<double> value = parse_number(text);
    ASSERT_TRUE(value && std::isnan(*value));
    EXPECT_EQ(std::signbit(*value), text[0] == '-');
    EXPECT_EQ(format_number(*value), text);
    recipe r = make_recipe("constant", {*value});
    EXPECT_EQ(format(parse_recipe(format(r))), format(r));
    for (const dtype type : {dtype::f16, dtype::bf16, dtype::f32, dtype::f64})
      EXPECT_EQ(value_source(r, type, 1).bits(0, 0) >> (8 * size_of(type) - 1), text[0] == '-' ? 1u : 0u);
  }
}

TEST(recipe, a_late_rise_is_zero_and_then_climbs) {
  const value_source values(make_recipe("late_rise", {2, 100, 8}), dtype::f32, 4);
  const double expected[] = {0, 0, 100, 108};
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(decode(dtype::f32, values.bits(0, i)), expected[i]);
}

TEST(recipe, rows_of_levels_lie_apart) {
  const value_source values(make_recipe("levels", {7, -1000, 1000, 0.5}), dtype::f32, 5);
  double lowest = 1000, highest = -1000;
  for (int64_t row = 0; row < 50; ++row) {
    const double first = decode(dtype::f32, values.bits(row, 0));
    for (int64_t i = 1; i < 5; ++i) EXPECT_NEAR(decode(dtype::f32, values.bits(row, i)), first, 1.001);
    lowest = std::min(lowest, first);
    highest = std::max(highest, first);
  }
  EXPECT_LT(lowest, -800);
  EXPECT_GT(highest, 800);
}

TEST(recipe, a_part_of_an_array_has_a_row_and_a_column) {
  const std::string digest(64, 'a');
  for (const std::string& text : {"npy(x.npy," + digest + ")", "npy(x.npy," + digest + ",3,40)"})
    EXPECT_EQ(format(parse_recipe(text)), text);
  for (const char* end : {",3)", ",-1,0)", ",1.5,0)", ",3,x)", ",1,2,3)"})
    EXPECT_THROW(parse_recipe("npy(x.npy," + digest + end), usage_error) << end;
}

}  // namespace
}  // namespace warpcheck::engine
