// Element types of the suite: names, sizes and float format parameters. The only list of dtypes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace warpcheck {

// e4m3 and e5m2 are the 8-bit formats of the OCP 8-bit Floating Point Specification, revision 1.0.
enum class dtype : uint8_t { f16, bf16, f32, f64, e4m3, e5m2, i8, i32, i64, u8, u16, u32 };

// IEEE 754 interchange parameters: `precision` counts the implicit bit; values lie in [min_subnormal, max_finite]. e4m3
// has no infinity, and its largest number is 448 (float_value.hpp).
struct float_format {
  int precision;     // p: u = 2^-p is the unit roundoff
  int min_exponent;  // smallest normal number is 2^min_exponent
  int max_exponent;  // largest finite number is (2 - 2^(1-p)) 2^max_exponent
};

constexpr bool is_float(dtype t) { return t <= dtype::e5m2; }

constexpr size_t size_of(dtype t) {
  switch (t) {
    case dtype::e4m3:
    case dtype::e5m2:
    case dtype::i8:
    case dtype::u8: return 1;
    case dtype::f16:
    case dtype::bf16:
    case dtype::u16: return 2;
    case dtype::f32:
    case dtype::i32:
    case dtype::u32: return 4;
    case dtype::f64:
    case dtype::i64: return 8;
  }
  return 0;
}

constexpr std::string_view name_of(dtype t) {
  constexpr std::string_view names[] = {"f16", "bf16", "f32", "f64", "e4m3", "e5m2",
                                        "i8",  "i32",  "i64", "u8",  "u16",  "u32"};
  return names[static_cast<size_t>(t)];
}

constexpr std::optional<dtype> dtype_from_name(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(dtype::u32); ++i)
    if (name_of(static_cast<dtype>(i)) == name) return static_cast<dtype>(i);
  return std::nullopt;
}

// Precondition: is_float(t).
constexpr float_format format_of(dtype t) {
  switch (t) {
    case dtype::f16: return {11, -14, 15};
    case dtype::bf16: return {8, -126, 127};
    case dtype::f32: return {24, -126, 127};
    case dtype::e4m3: return {4, -6, 8};
    case dtype::e5m2: return {3, -14, 15};
    default: return {53, -1022, 1023};
  }
}

}  // namespace warpcheck
