// Arithmetic of CUDA's 16-bit floating-point types on the host: each operation in float, then rounded to the type.
#pragma once

#include <cstdint>

#include "kernels/simt/half_types.hpp"

namespace simt::import {

// `Storage` is f16 or bf16; the layout is its.
template <class Storage>
struct half_float {
  uint16_t bits;

  half_float() = default;
  half_float(float x) : bits(from_float<Storage>(x).bits) {}
  half_float(double x) : half_float(static_cast<float>(x)) {}
  half_float(int x) : half_float(static_cast<float>(x)) {}
  operator float() const { return to_float(Storage{bits}); }

  friend half_float operator+(half_float a, half_float b) { return float(a) + float(b); }
  friend half_float operator-(half_float a, half_float b) { return float(a) - float(b); }
  friend half_float operator*(half_float a, half_float b) { return float(a) * float(b); }
  friend half_float operator/(half_float a, half_float b) { return float(a) / float(b); }
  friend half_float operator-(half_float a) { return -float(a); }
  friend bool operator<(half_float a, half_float b) { return float(a) < float(b); }
  friend bool operator>(half_float a, half_float b) { return float(a) > float(b); }
  friend bool operator<=(half_float a, half_float b) { return float(a) <= float(b); }
  friend bool operator>=(half_float a, half_float b) { return float(a) >= float(b); }
  friend bool operator==(half_float a, half_float b) { return float(a) == float(b); }
  friend bool operator!=(half_float a, half_float b) { return float(a) != float(b); }
  half_float& operator+=(half_float b) { return *this = *this + b; }
  half_float& operator-=(half_float b) { return *this = *this - b; }
  half_float& operator*=(half_float b) { return *this = *this * b; }
  half_float& operator/=(half_float b) { return *this = *this / b; }
};

template <class Half>
struct alignas(4) half_pair {
  Half x, y;
};

}  // namespace simt::import

// The functions that both headers define, for one type and its pair.
#define SIMT_IMPORT_HALF_FUNCTIONS(H, H2)                                                   \
  inline H __hadd(H a, H b) { return a + b; }                                               \
  inline H __hsub(H a, H b) { return a - b; }                                               \
  inline H __hmul(H a, H b) { return a * b; }                                               \
  inline H __hdiv(H a, H b) { return a / b; }                                               \
  inline H __hneg(H a) { return -a; }                                                       \
  inline H __hfma(H a, H b, H c) { return float(a) * float(b) + float(c); }                 \
  inline H __hmax(H a, H b) { return float(b) > float(a) || float(a) != float(a) ? b : a; } \
  inline H __hmin(H a, H b) { return float(b) < float(a) || float(a) != float(a) ? b : a; } \
  inline bool __hgt(H a, H b) { return a > b; }                                             \
  inline bool __hlt(H a, H b) { return a < b; }                                             \
  inline bool __heq(H a, H b) { return a == b; }                                            \
  inline bool __hisnan(H a) { return float(a) != float(a); }                                \
  inline H2 __hadd2(H2 a, H2 b) { return {a.x + b.x, a.y + b.y}; }                          \
  inline H2 __hsub2(H2 a, H2 b) { return {a.x - b.x, a.y - b.y}; }                          \
  inline H2 __hmul2(H2 a, H2 b) { return {a.x * b.x, a.y * b.y}; }                          \
  inline H2 __hfma2(H2 a, H2 b, H2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
