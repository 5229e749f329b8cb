// The number types that a formula can name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace warpcheck::formula {

enum class number_type : uint8_t { f64, f32, tf32, bf16, f16, e4m3, e5m2, i64, i32, i8, u8 };

inline constexpr std::string_view k_type_names[] = {"f64",  "f32", "tf32", "bf16", "f16", "e4m3",
                                                    "e5m2", "i64", "i32",  "i8",   "u8"};

constexpr std::string_view name_of(number_type t) { return k_type_names[static_cast<size_t>(t)]; }
constexpr bool is_integer(number_type t) { return t >= number_type::i64; }
constexpr bool has_8_bits(number_type t) { return t == number_type::e4m3 || t == number_type::e5m2; }

constexpr std::optional<number_type> type_from_name(std::string_view name) {
  for (size_t i = 0; i < std::size(k_type_names); ++i)
    if (k_type_names[i] == name) return static_cast<number_type>(i);
  return std::nullopt;
}

// A float type. u = 2^-digits is its unit roundoff, 2^min_exponent its smallest positive number. A value that would
// round beyond the largest number, (2 - 2^(1 - digits)) 2^max_exponent, becomes infinite; in e4m3 it becomes 448, the
// largest.
struct float_range {
  int digits, min_exponent, max_exponent;
};
// Precondition: !is_integer(t).
constexpr float_range range_of(number_type t) {
  switch (t) {
    case number_type::f64: return {53, -1074, 1023};
    case number_type::tf32: return {11, -136, 127};
    case number_type::bf16: return {8, -133, 127};
    case number_type::f16: return {11, -24, 15};
    case number_type::e4m3: return {4, -9, 8};
    case number_type::e5m2: return {3, -16, 15};
    default: return {24, -149, 127};
  }
}

}  // namespace warpcheck::formula
