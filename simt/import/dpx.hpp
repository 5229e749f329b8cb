// CUDA's functions for dynamic programming (DPX): sums, minima and maxima of integers, and of two of 16 bits in a word.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "simt/simt.hpp"

namespace simt::import::dpx {

template <class T>
constexpr T sum(T a, T b) {
  using bits = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<bits>(static_cast<bits>(a) + static_cast<bits>(b)));
}
template <class T, class F>
SIMT_INLINE unsigned halves(unsigned a, unsigned b, unsigned c, F f) {
  const auto at = [](unsigned word, unsigned half) { return static_cast<T>(word >> 16 * half); };
  const auto low = static_cast<uint16_t>(f(at(a, 0), at(b, 0), at(c, 0)));
  const auto high = static_cast<uint16_t>(f(at(a, 1), at(b, 1), at(c, 1)));
  return low | static_cast<unsigned>(high) << 16;
}

struct add_max {
  template <class T>
  T operator()(T a, T b, T c) const {
    return std::max(sum(a, b), c);
  }
};
struct add_min {
  template <class T>
  T operator()(T a, T b, T c) const {
    return std::min(sum(a, b), c);
  }
};
struct max3 {
  template <class T>
  T operator()(T a, T b, T c) const {
    return std::max({a, b, c});
  }
};
struct min3 {
  template <class T>
  T operator()(T a, T b, T c) const {
    return std::min({a, b, c});
  }
};
template <class F>
struct not_negative {
  template <class T>
  T operator()(T a, T b, T c) const {
    return std::max(F()(a, b, c), T{0});
  }
};
// The greater or lesser of two, and whether that is the first one.
template <class T>
SIMT_INLINE T chosen(T a, T b, bool of_greater, bool* is_first) {
  *is_first = of_greater ? a >= b : a <= b;
  return *is_first ? a : b;
}
template <class T>
SIMT_INLINE unsigned chosen_halves(unsigned a, unsigned b, bool of_greater, bool* is_first_high, bool* is_first_low) {
  const auto low = static_cast<uint16_t>(chosen(static_cast<T>(a), static_cast<T>(b), of_greater, is_first_low));
  const auto high =
      static_cast<uint16_t>(chosen(static_cast<T>(a >> 16), static_cast<T>(b >> 16), of_greater, is_first_high));
  return low | static_cast<unsigned>(high) << 16;
}

}  // namespace simt::import::dpx

#define SIMT_DPX(name, operation)                                                                                     \
  SIMT_INLINE int name##_s32(int a, int b, int c) { return ::simt::import::dpx::operation()(a, b, c); }               \
  SIMT_INLINE int name##_s32_relu(int a, int b, int c) {                                                              \
    return ::simt::import::dpx::not_negative<::simt::import::dpx::operation>()(a, b, c);                              \
  }                                                                                                                   \
  SIMT_INLINE unsigned name##_u32(unsigned a, unsigned b, unsigned c) {                                               \
    return ::simt::import::dpx::operation()(a, b, c);                                                                 \
  }                                                                                                                   \
  SIMT_INLINE unsigned name##_s16x2(unsigned a, unsigned b, unsigned c) {                                             \
    return ::simt::import::dpx::halves<int16_t>(a, b, c, ::simt::import::dpx::operation());                           \
  }                                                                                                                   \
  SIMT_INLINE unsigned name##_s16x2_relu(unsigned a, unsigned b, unsigned c) {                                        \
    return ::simt::import::dpx::halves<int16_t>(a, b, c,                                                              \
                                                ::simt::import::dpx::not_negative<::simt::import::dpx::operation>()); \
  }                                                                                                                   \
  SIMT_INLINE unsigned name##_u16x2(unsigned a, unsigned b, unsigned c) {                                             \
    return ::simt::import::dpx::halves<uint16_t>(a, b, c, ::simt::import::dpx::operation());                          \
  }
SIMT_DPX(__viaddmax, add_max)
SIMT_DPX(__viaddmin, add_min)
SIMT_DPX(__vimax3, max3)
SIMT_DPX(__vimin3, min3)
#undef SIMT_DPX

SIMT_INLINE int __vimax_s32_relu(int a, int b) { return __vimax3_s32(a, b, 0); }
SIMT_INLINE unsigned __vimax_s16x2_relu(unsigned a, unsigned b) { return __vimax3_s16x2(a, b, 0); }
SIMT_INLINE int __vimin_s32_relu(int a, int b) { return __vimin3_s32_relu(a, b, b); }
SIMT_INLINE unsigned __vimin_s16x2_relu(unsigned a, unsigned b) { return __vimin3_s16x2_relu(a, b, b); }

#define SIMT_DPX_CHOICE(name, of_greater)                                                   \
  SIMT_INLINE int name##_s32(int a, int b, bool* is_first) {                                \
    return ::simt::import::dpx::chosen(a, b, of_greater, is_first);                         \
  }                                                                                         \
  SIMT_INLINE unsigned name##_u32(unsigned a, unsigned b, bool* is_first) {                 \
    return ::simt::import::dpx::chosen(a, b, of_greater, is_first);                         \
  }                                                                                         \
  SIMT_INLINE unsigned name##_s16x2(unsigned a, unsigned b, bool* is_high, bool* is_low) {  \
    return ::simt::import::dpx::chosen_halves<int16_t>(a, b, of_greater, is_high, is_low);  \
  }                                                                                         \
  SIMT_INLINE unsigned name##_u16x2(unsigned a, unsigned b, bool* is_high, bool* is_low) {  \
    return ::simt::import::dpx::chosen_halves<uint16_t>(a, b, of_greater, is_high, is_low); \
  }
SIMT_DPX_CHOICE(__vibmax, true)
SIMT_DPX_CHOICE(__vibmin, false)
#undef SIMT_DPX_CHOICE
