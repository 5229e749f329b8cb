// CUDA names that foreign sources use and our own kernels do not. Fast approximations are accurate functions of the
// host; their error on a GPU is larger.
#pragma once

#include <cmath>
#include <cstdlib>

#include "simt/emulated/certificate.hpp"
#include "simt/import/launch.hpp"
#include "simt/simt.hpp"

#define SIMT_IMPORT_FAST(name, parameters, value) \
  SIMT_INLINE float name parameters { return simt::import::approximate(#name, static_cast<float>(value)); }
SIMT_IMPORT_FAST(__expf, (float x), std::exp(x))
SIMT_IMPORT_FAST(__exp10f, (float x), std::pow(10.0f, x))
SIMT_IMPORT_FAST(__logf, (float x), std::log(x))
SIMT_IMPORT_FAST(__log2f, (float x), std::log2(x))
SIMT_IMPORT_FAST(__log10f, (float x), std::log10(x))
SIMT_IMPORT_FAST(__powf, (float x, float y), std::pow(x, y))
SIMT_IMPORT_FAST(__sinf, (float x), std::sin(x))
SIMT_IMPORT_FAST(__cosf, (float x), std::cos(x))
SIMT_IMPORT_FAST(__tanf, (float x), std::tan(x))
SIMT_IMPORT_FAST(__fdividef, (float x, float y), x / y)
SIMT_IMPORT_FAST(fdividef, (float x, float y), x / y)
#undef SIMT_IMPORT_FAST
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

// CUDA has min and max of mixed types, too; for integers of the same size the result is unsigned.
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
// Templates, because a program may define host functions of these names.
#define SIMT_IMPORT_EXTREMES(name, T) \
  template <class A = T>              \
  SIMT_INLINE T name##min(A a, T b) { \
    return min(static_cast<T>(a), b); \
  }                                   \
  template <class A = T>              \
  SIMT_INLINE T name##max(A a, T b) { \
    return max(static_cast<T>(a), b); \
  }
SIMT_IMPORT_EXTREMES(u, unsigned)
SIMT_IMPORT_EXTREMES(ll, long long)
SIMT_IMPORT_EXTREMES(ull, unsigned long long)
#undef SIMT_IMPORT_EXTREMES

SIMT_INLINE int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
SIMT_INLINE int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
SIMT_INLINE double __hiloint2double(int high, int low) {
  return __longlong_as_double(static_cast<long long>(high) << 32 | static_cast<unsigned>(low));
}
SIMT_INLINE unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}
SIMT_INLINE double __drcp_rn(double x) { return 1 / x; }
SIMT_INLINE double __dsqrt_rn(double x) { return std::sqrt(x); }
#define SIMT_IMPORT_CONVERSIONS(name, Real, round, suffix)                                                      \
  SIMT_INLINE int __##name##2int_##suffix(Real x) { return simt::emu::detail::saturating_cast<int>(round(x)); } \
  SIMT_INLINE unsigned __##name##2uint_##suffix(Real x) {                                                       \
    return simt::emu::detail::saturating_cast<unsigned>(round(x));                                              \
  }                                                                                                             \
  SIMT_INLINE unsigned long long __##name##2ull_##suffix(Real x) {                                              \
    return simt::emu::detail::saturating_cast<unsigned long long>(round(x));                                    \
  }
SIMT_IMPORT_CONVERSIONS(double, double, std::nearbyint, rn)
SIMT_IMPORT_CONVERSIONS(double, double, std::trunc, rz)
SIMT_IMPORT_CONVERSIONS(double, double, std::floor, rd)
SIMT_IMPORT_CONVERSIONS(double, double, std::ceil, ru)
#undef SIMT_IMPORT_CONVERSIONS
#define SIMT_IMPORT_CONVERSION(round, suffix)                                \
  SIMT_INLINE unsigned long long __float2ull_##suffix(float x) {             \
    return simt::emu::detail::saturating_cast<unsigned long long>(round(x)); \
  }
SIMT_IMPORT_CONVERSION(std::nearbyint, rn)
SIMT_IMPORT_CONVERSION(std::trunc, rz)
SIMT_IMPORT_CONVERSION(std::floor, rd)
SIMT_IMPORT_CONVERSION(std::ceil, ru)
#undef SIMT_IMPORT_CONVERSION
SIMT_INLINE long long __float2ll_ru(float x) { return simt::emu::detail::saturating_cast<long long>(std::ceil(x)); }
SIMT_INLINE long long __double2ll_ru(double x) { return simt::emu::detail::saturating_cast<long long>(std::ceil(x)); }
SIMT_INLINE unsigned __float2uint_rd(float x) { return simt::emu::detail::saturating_cast<unsigned>(std::floor(x)); }
SIMT_INLINE unsigned __float2uint_ru(float x) { return simt::emu::detail::saturating_cast<unsigned>(std::ceil(x)); }
SIMT_INLINE long long __float2ll_rz(float x) { return simt::emu::detail::saturating_cast<long long>(x); }
SIMT_INLINE long long __float2ll_rd(float x) { return simt::emu::detail::saturating_cast<long long>(std::floor(x)); }
SIMT_INLINE long long __double2ll_rz(double x) { return simt::emu::detail::saturating_cast<long long>(x); }
SIMT_INLINE long long __double2ll_rd(double x) { return simt::emu::detail::saturating_cast<long long>(std::floor(x)); }
SIMT_INLINE float __double2float_rn(double x) { return static_cast<float>(x); }
SIMT_INLINE double __int2double_rn(int x) { return x; }
SIMT_INLINE double __uint2double_rn(unsigned x) { return x; }
SIMT_INLINE double __ll2double_rn(long long x) { return static_cast<double>(x); }
SIMT_INLINE double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }
SIMT_INLINE float __ll2float_rn(long long x) { return static_cast<float>(x); }
SIMT_INLINE float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }

// Rounds up, down or towards zero: the error of the nearest number, or its sign, selects the neighbour.
namespace simt::import {
enum class direction { up, down, zero };
template <class Real>
SIMT_INLINE Real directed(Real nearest, double lacks, direction to) {
  if (lacks == 0 || !std::isfinite(lacks) || !std::isfinite(nearest)) return nearest;
  const bool exact_below_zero = nearest < 0 || (nearest == 0 && lacks < 0);
  const bool upwards = to == direction::up || (to == direction::zero && exact_below_zero);
  if ((lacks > 0) != upwards) return nearest;
  return std::nextafter(nearest, static_cast<Real>(upwards ? INFINITY : -INFINITY));
}
// The error of a sum is a float (Knuth, TAOCP 2, 4.2.2); products and remainders of floats are exact in double.
SIMT_INLINE float directed_sum(float a, float b, direction to) {
  const float sum = a + b, b_in_it = sum - a;
  return directed(sum, double{a - (sum - b_in_it)} + double{b - b_in_it}, to);
}
SIMT_INLINE float directed_product(float a, float b, direction to) {
  return directed(a * b, double{a} * double{b} - double{a * b}, to);
}
SIMT_INLINE float directed_quotient(float a, float b, direction to) {
  const double remainder = std::fma(-double{a / b}, double{b}, double{a});
  return directed(a / b, b < 0 ? -remainder : remainder, to);
}
// The host's long double represents each 64-bit integer.
template <class Real, class Integer>
SIMT_INLINE Real directed_integer(Integer x, direction to) {
  const auto nearest = static_cast<Real>(x);
  return directed(nearest, static_cast<double>(static_cast<long double>(x) - static_cast<long double>(nearest)), to);
}
}  // namespace simt::import
#define SIMT_IMPORT_DIRECTED_INTEGER(name, Integer, Real)                          \
  SIMT_INLINE Real name##_ru(Integer x) {                                          \
    return simt::import::directed_integer<Real>(x, simt::import::direction::up);   \
  }                                                                                \
  SIMT_INLINE Real name##_rd(Integer x) {                                          \
    return simt::import::directed_integer<Real>(x, simt::import::direction::down); \
  }                                                                                \
  SIMT_INLINE Real name##_rz(Integer x) {                                          \
    return simt::import::directed_integer<Real>(x, simt::import::direction::zero); \
  }
SIMT_IMPORT_DIRECTED_INTEGER(__int2float, int, float)
SIMT_IMPORT_DIRECTED_INTEGER(__uint2float, unsigned, float)
SIMT_IMPORT_DIRECTED_INTEGER(__ll2float, long long, float)
SIMT_IMPORT_DIRECTED_INTEGER(__ull2float, unsigned long long, float)
SIMT_IMPORT_DIRECTED_INTEGER(__ll2double, long long, double)
SIMT_IMPORT_DIRECTED_INTEGER(__ull2double, unsigned long long, double)
#undef SIMT_IMPORT_DIRECTED_INTEGER
#define SIMT_IMPORT_DIRECTED(name, function, second)                         \
  SIMT_INLINE float name##_ru(float a, float b) {                            \
    return simt::import::function(a, second, simt::import::direction::up);   \
  }                                                                          \
  SIMT_INLINE float name##_rd(float a, float b) {                            \
    return simt::import::function(a, second, simt::import::direction::down); \
  }                                                                          \
  SIMT_INLINE float name##_rz(float a, float b) {                            \
    return simt::import::function(a, second, simt::import::direction::zero); \
  }
SIMT_IMPORT_DIRECTED(__fadd, directed_sum, b)
SIMT_IMPORT_DIRECTED(__fsub, directed_sum, -b)
SIMT_IMPORT_DIRECTED(__fmul, directed_product, b)
SIMT_IMPORT_DIRECTED(__fdiv, directed_quotient, b)
#undef SIMT_IMPORT_DIRECTED

// The argument is in half turns; whole half turns give exact results.
SIMT_INLINE double sinpi(double x) {
  const double r = std::fmod(x, 2.0);
  return std::fabs(r) == 1 || r == 0 ? std::copysign(0.0, x) : std::sin(r * 3.14159265358979323846);
}
SIMT_INLINE double cospi(double x) {
  const double r = std::fmod(std::fabs(x), 2.0);
  return r == 0.5 || r == 1.5 ? 0.0 : std::cos(r * 3.14159265358979323846);
}
SIMT_INLINE float sinpif(float x) { return static_cast<float>(sinpi(x)); }
SIMT_INLINE float cospif(float x) { return static_cast<float>(cospi(x)); }
SIMT_INLINE void sincospif(float x, float* s, float* c) { *s = sinpif(x), *c = cospif(x); }
SIMT_INLINE void sincospi(double x, double* s, double* c) { *s = sinpi(x), *c = cospi(x); }
// The error of a rounded x / sqrt(2) would grow by x^2.
SIMT_INLINE double normcdf(double x) { return static_cast<double>(0.5L * std::erfc(-x * 0.70710678118654752440084L)); }
SIMT_INLINE float normcdff(float x) { return static_cast<float>(normcdf(x)); }
SIMT_INLINE float norm3df(float a, float b, float c) {
  return static_cast<float>(std::hypot(double{a}, double{b}, double{c}));
}
SIMT_INLINE float rnorm3df(float a, float b, float c) {
  return static_cast<float>(1 / std::hypot(double{a}, double{b}, double{c}));
}
SIMT_INLINE void __sincosf(float x, float* s, float* c) { *s = __sinf(x), *c = __cosf(x); }

// Operations on each lane of a word.
namespace simt::import {
template <int Bits, class Lane, class Operation>
SIMT_INLINE unsigned by_lanes(unsigned a, unsigned b, Operation operation) {
  unsigned result = 0;
  for (int at = 0; at < 32; at += Bits)
    result |= static_cast<unsigned>(static_cast<std::make_unsigned_t<Lane>>(operation(
                  static_cast<int>(static_cast<Lane>(a >> at)), static_cast<int>(static_cast<Lane>(b >> at)))))
              << at;
  return result;
}
}  // namespace simt::import
#define SIMT_IMPORT_LANES(name, Wide, Narrow, expression)                                    \
  SIMT_INLINE unsigned __v##name##2(unsigned x, unsigned y) {                                \
    return simt::import::by_lanes<16, Wide>(x, y, [](int a, int b) { return expression; });  \
  }                                                                                          \
  SIMT_INLINE unsigned __v##name##4(unsigned x, unsigned y) {                                \
    return simt::import::by_lanes<8, Narrow>(x, y, [](int a, int b) { return expression; }); \
  }
SIMT_IMPORT_LANES(add, short, signed char, a + b)
SIMT_IMPORT_LANES(sub, short, signed char, a - b)
SIMT_IMPORT_LANES(maxs, short, signed char, a < b ? b : a)
SIMT_IMPORT_LANES(mins, short, signed char, b < a ? b : a)
SIMT_IMPORT_LANES(maxu, unsigned short, unsigned char, a < b ? b : a)
SIMT_IMPORT_LANES(minu, unsigned short, unsigned char, b < a ? b : a)
SIMT_IMPORT_LANES(absdiffs, short, signed char, a < b ? b - a : a - b)
SIMT_IMPORT_LANES(absdiffu, unsigned short, unsigned char, a < b ? b - a : a - b)
#undef SIMT_IMPORT_LANES
SIMT_INLINE unsigned __vsadu4(unsigned x, unsigned y) {
  const unsigned d = __vabsdiffu4(x, y);
  return (d & 255) + (d >> 8 & 255) + (d >> 16 & 255) + (d >> 24);
}
SIMT_INLINE unsigned __vabs2(unsigned x) { return __vabsdiffs2(x, 0); }
SIMT_INLINE unsigned __vabs4(unsigned x) { return __vabsdiffs4(x, 0); }
SIMT_INLINE int __dp4a(int a, int b, int c) {
  for (int at = 0; at < 32; at += 8) c += static_cast<signed char>(a >> at) * static_cast<signed char>(b >> at);
  return c;
}
SIMT_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int at = 0; at < 32; at += 8) c += ((a >> at) & 0xff) * ((b >> at) & 0xff);
  return c;
}

// Forms before Volta, for all lanes of the warp that exist in the block.
namespace simt::import {
inline unsigned whole_warp() {
  const dim3 b = ::simt::emu::block_dimensions();
  const uint3 t = ::simt::emu::thread_index();
  const unsigned threads = b.x * b.y * b.z, first = ((t.z * b.y + t.y) * b.x + t.x) / 32 * 32;
  return threads - first >= 32 ? 0xffffffffu : (1u << (threads - first)) - 1;
}
}  // namespace simt::import
#define SIMT_IMPORT_SHUFFLE(name, Argument)                                       \
  template <class T>                                                              \
  SIMT_INLINE T name(T value, Argument argument, int width = 32, SIMT_SITE) {     \
    return name##_sync(simt::import::whole_warp(), value, argument, width, site); \
  }
SIMT_IMPORT_SHUFFLE(__shfl, int)
SIMT_IMPORT_SHUFFLE(__shfl_up, unsigned)
SIMT_IMPORT_SHUFFLE(__shfl_down, unsigned)
SIMT_IMPORT_SHUFFLE(__shfl_xor, int)
#undef SIMT_IMPORT_SHUFFLE
inline unsigned __ballot(int predicate, SIMT_SITE) {
  return __ballot_sync(simt::import::whole_warp(), predicate, site);
}
inline int __any(int predicate, SIMT_SITE) { return __any_sync(simt::import::whole_warp(), predicate, site); }
inline int __all(int predicate, SIMT_SITE) { return __all_sync(simt::import::whole_warp(), predicate, site); }

namespace simt::import {
// atomicExch whose result is unused; the old value may be unwritten.
template <class T, class Value>
SIMT_INLINE void exchange_unused(T* p, Value value) {
  mark_initialized(p, sizeof *p);
  atomicExch(p, static_cast<T>(value));
}
}  // namespace simt::import

// The atomic loads of CUDA 12.8.
enum { __NV_ATOMIC_RELAXED, __NV_ATOMIC_CONSUME, __NV_ATOMIC_ACQUIRE, __NV_ATOMIC_SEQ_CST = 5 };
enum {
  __NV_THREAD_SCOPE_THREAD,
  __NV_THREAD_SCOPE_BLOCK,
  __NV_THREAD_SCOPE_CLUSTER,
  __NV_THREAD_SCOPE_DEVICE,
  __NV_THREAD_SCOPE_SYSTEM
};
template <class T>
SIMT_INLINE T __nv_atomic_load_n(const T* p, int order, int thread_scope = __NV_THREAD_SCOPE_SYSTEM) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "an atomic of 4 or 8 bytes");
  using word = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;
  const word* bits = reinterpret_cast<const word*>(p);
  const auto scope = thread_scope <= __NV_THREAD_SCOPE_BLOCK     ? ::simt::memory_scope::block
                     : thread_scope == __NV_THREAD_SCOPE_CLUSTER ? ::simt::memory_scope::cluster
                                                                 : ::simt::memory_scope::device;
  if (order == __NV_ATOMIC_SEQ_CST) ::simt::fence(scope, ::simt::fence_order::sequential);
  const word value = ::simt::load_relaxed(bits, scope);
  if (order != __NV_ATOMIC_RELAXED) ::simt::fence(scope, ::simt::fence_order::acquire_release);
  return ::simt::emu::from_bits<T>(value);
}

// The clock advances by one tick per call.
inline long long clock64() {
  static long long ticks = 0;
  ::simt::hb_choice(::simt::choice::clock, nullptr);
  return simt::import::approximate("clocks", ++ticks);
}
namespace simt::import {
clock_t host_clock(const void* pc);
}
// What objcopy makes of clock(), which kernels and the host call by the same name.
extern "C" __attribute__((used)) inline clock_t simt_kernel_clock() {
  return simt::in_kernel() ? static_cast<clock_t>(clock64()) : simt::import::host_clock(SIMT_CALLER);
}
[[noreturn]] inline void __trap() { std::abort(); }

// Vector types that our own kernels do not use (CUDA C++ Programming Guide, table "Alignment requirements").
#define SIMT_IMPORT_VECTOR3(Scalar, name) \
  struct name##3 {                        \
    Scalar x, y, z;                       \
  };                                      \
  inline name##3 make_##name##3(Scalar x, Scalar y, Scalar z) { return {x, y, z}; }
#define SIMT_IMPORT_VECTORS(Scalar, name)                              \
  SIMT_IMPORT_VECTOR3(Scalar, name)                                    \
  struct name##1 {                                                     \
    Scalar x;                                                          \
  };                                                                   \
  struct alignas(16) name##2 {                                         \
    Scalar x, y;                                                       \
  };                                                                   \
  struct alignas(16) name##4 {                                         \
    Scalar x, y, z, w;                                                 \
  };                                                                   \
  inline name##1 make_##name##1(Scalar x) { return {x}; }              \
  inline name##2 make_##name##2(Scalar x, Scalar y) { return {x, y}; } \
  inline name##4 make_##name##4(Scalar x, Scalar y, Scalar z, Scalar w) { return {x, y, z, w}; }
SIMT_IMPORT_VECTOR3(double, double)
SIMT_IMPORT_VECTOR3(signed char, char)
SIMT_IMPORT_VECTOR3(unsigned char, uchar)
SIMT_IMPORT_VECTOR3(short, short)
SIMT_IMPORT_VECTOR3(unsigned short, ushort)
SIMT_IMPORT_VECTOR3(long long, longlong)
SIMT_IMPORT_VECTOR3(unsigned long long, ulonglong)
SIMT_IMPORT_VECTORS(long, long)
SIMT_IMPORT_VECTORS(unsigned long, ulong)
#undef SIMT_IMPORT_VECTORS
#undef SIMT_IMPORT_VECTOR3

// Sums of vectors in global memory (compute capability 9.0): each element is added by itself.
#define SIMT_ATOMIC_VECTORS(name)                                                                   \
  SIMT_INLINE float2 name(float2* p, float2 v) { return {::name(&p->x, v.x), ::name(&p->y, v.y)}; } \
  SIMT_INLINE float4 name(float4* p, float4 v) {                                                    \
    return {::name(&p->x, v.x), ::name(&p->y, v.y), ::name(&p->z, v.z), ::name(&p->w, v.w)};        \
  }
SIMT_ATOMIC_VECTORS(atomicAdd)
SIMT_ATOMIC_VECTORS(atomicAdd_block)
SIMT_ATOMIC_VECTORS(atomicAdd_system)
#undef SIMT_ATOMIC_VECTORS
