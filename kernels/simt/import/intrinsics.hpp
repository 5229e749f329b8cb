// CUDA names that our own kernels do without and foreign ones use. Fast approximations are the host's accurate
// functions: their error on a GPU is larger.
#pragma once

#include <cmath>
#include <cstdlib>

#include "kernels/simt/simt.hpp"

SIMT_INLINE float __expf(float x) { return std::exp(x); }
SIMT_INLINE float __exp10f(float x) { return std::pow(10.0f, x); }
SIMT_INLINE float __logf(float x) { return std::log(x); }
SIMT_INLINE float __log2f(float x) { return std::log2(x); }
SIMT_INLINE float __log10f(float x) { return std::log10(x); }
SIMT_INLINE float __powf(float x, float y) { return std::pow(x, y); }
SIMT_INLINE float __sinf(float x) { return std::sin(x); }
SIMT_INLINE float __cosf(float x) { return std::cos(x); }
SIMT_INLINE float __tanf(float x) { return std::tan(x); }
SIMT_INLINE float __fdividef(float x, float y) { return x / y; }
SIMT_INLINE float fdividef(float x, float y) { return x / y; }
SIMT_INLINE float __frsqrt_rn(float x) { return rsqrtf(x); }
SIMT_INLINE float rcbrtf(float x) { return 1.0f / std::cbrt(x); }
SIMT_INLINE int __mul24(int a, int b) {
  const auto low = [](int v) { return static_cast<long long>(static_cast<int>(static_cast<unsigned>(v) << 8) >> 8); };
  return static_cast<int>(low(a) * low(b));
}
SIMT_INLINE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
SIMT_INLINE unsigned __sad(int a, int b, unsigned c) {
  return static_cast<unsigned>(std::llabs(static_cast<long long>(a) - b)) + c;
}

// CUDA has min and max of mixtures, too; of the integers of one size the result is unsigned.
#define SIMT_IMPORT_MIXED(Result, A, B)                                                            \
  SIMT_INLINE Result min(A a, B b) { return min(static_cast<Result>(a), static_cast<Result>(b)); } \
  SIMT_INLINE Result max(A a, B b) { return max(static_cast<Result>(a), static_cast<Result>(b)); }
#define SIMT_IMPORT_MIXTURES(Result, A, B) SIMT_IMPORT_MIXED(Result, A, B) SIMT_IMPORT_MIXED(Result, B, A)
SIMT_IMPORT_MIXTURES(unsigned, int, unsigned)
SIMT_IMPORT_MIXTURES(unsigned long, long, unsigned long)
SIMT_IMPORT_MIXTURES(unsigned long long, long long, unsigned long long)
SIMT_IMPORT_MIXTURES(double, float, double)
#undef SIMT_IMPORT_MIXTURES
#undef SIMT_IMPORT_MIXED
SIMT_INLINE unsigned umin(unsigned a, unsigned b) { return min(a, b); }
SIMT_INLINE unsigned umax(unsigned a, unsigned b) { return max(a, b); }
SIMT_INLINE long long llmin(long long a, long long b) { return min(a, b); }
SIMT_INLINE long long llmax(long long a, long long b) { return max(a, b); }
SIMT_INLINE unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
SIMT_INLINE unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }

// Time passes by one tick per question.
inline long long clock64() {
  static long long ticks = 0;
  return ++ticks;
}
[[noreturn]] inline void __trap() { std::abort(); }

#define SIMT_IMPORT_VECTOR3(Scalar, name) \
  struct name##3 {                        \
    Scalar x, y, z;                       \
  };                                      \
  inline name##3 make_##name##3(Scalar x, Scalar y, Scalar z) { return {x, y, z}; }
SIMT_IMPORT_VECTOR3(double, double)
SIMT_IMPORT_VECTOR3(signed char, char)
SIMT_IMPORT_VECTOR3(unsigned char, uchar)
SIMT_IMPORT_VECTOR3(short, short)
SIMT_IMPORT_VECTOR3(unsigned short, ushort)
#undef SIMT_IMPORT_VECTOR3
