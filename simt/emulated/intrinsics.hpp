// CUDA's per-thread functions: bits, conversions, pinned roundings, cached loads. Accurate mathematics is the host's
// libm; __expf and its like are deliberately absent, since their error differs from the GPU's.
#pragma once

#include <cmath>
#include <limits>

#include "simt/emulated/kernel_api.hpp"
#include "simt/half_types.hpp"

SIMT_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
SIMT_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
SIMT_INLINE int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
SIMT_INLINE int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
SIMT_INLINE int __ffs(int x) { return __builtin_ffs(x); }
SIMT_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
SIMT_INLINE unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= ((x >> i) & 1u) << (31 - i);
  return reversed;
}
SIMT_INLINE unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
SIMT_INLINE int __mulhi(int a, int b) { return static_cast<int>((static_cast<long long>(a) * b) >> 32); }
SIMT_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
SIMT_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  const unsigned long long both = (static_cast<unsigned long long>(high) << 32) | low;
  return static_cast<unsigned>((both << (shift & 31)) >> 32);
}
SIMT_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(((static_cast<unsigned long long>(high) << 32) | low) >> (shift & 31));
}
SIMT_INLINE unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const unsigned long long both = (static_cast<unsigned long long>(b) << 32) | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned nibble = (selector >> (4 * i)) & 0xf;
    const auto byte = static_cast<unsigned>((both >> (8 * (nibble & 7))) & 0xff);
    result |= (nibble & 8 ? (byte & 0x80 ? 0xffu : 0u) : byte) << (8 * i);
  }
  return result;
}

SIMT_INLINE int __float_as_int(float x) { return simt::emu::from_bits<int>(simt::emu::to_bits(x)); }
SIMT_INLINE unsigned __float_as_uint(float x) { return simt::emu::from_bits<unsigned>(simt::emu::to_bits(x)); }
SIMT_INLINE float __int_as_float(int x) { return simt::emu::from_bits<float>(simt::emu::to_bits(x)); }
SIMT_INLINE float __uint_as_float(unsigned x) { return simt::emu::from_bits<float>(simt::emu::to_bits(x)); }
SIMT_INLINE long long __double_as_longlong(double x) { return simt::emu::from_bits<long long>(simt::emu::to_bits(x)); }
SIMT_INLINE double __longlong_as_double(long long x) { return simt::emu::from_bits<double>(simt::emu::to_bits(x)); }

// Roundings pinned by name: never contracted, on either device.
SIMT_INLINE float __fadd_rn(float a, float b) { return a + b; }
SIMT_INLINE float __fsub_rn(float a, float b) { return a - b; }
SIMT_INLINE float __fmul_rn(float a, float b) { return a * b; }
SIMT_INLINE float __fdiv_rn(float a, float b) { return a / b; }
SIMT_INLINE float __frcp_rn(float a) { return 1.0f / a; }
SIMT_INLINE float __fsqrt_rn(float a) { return std::sqrt(a); }
SIMT_INLINE float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
SIMT_INLINE double __dadd_rn(double a, double b) { return a + b; }
SIMT_INLINE double __dsub_rn(double a, double b) { return a - b; }
SIMT_INLINE double __dmul_rn(double a, double b) { return a * b; }
SIMT_INLINE double __ddiv_rn(double a, double b) { return a / b; }
SIMT_INLINE double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
SIMT_INLINE float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
SIMT_INLINE float rsqrtf(float x) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))); }
SIMT_INLINE double rsqrt(double x) { return 1.0 / std::sqrt(x); }

namespace simt {
inline namespace emu {

// The quotient itself: what the hardware approximates.
SIMT_INLINE float reciprocal_approx(float x) { return 1.0f / x; }
SIMT_INLINE float exp2_approx(float x) {
  const float power = std::exp2(x);
  return power < std::numeric_limits<float>::min() ? 0.0f : power;
}
// Used only by nvcc and a GPU's cache.
template <class T>
SIMT_INLINE void compiler_barrier(T&) {}
SIMT_INLINE void prefetch(const void*) {}
// The larger of two; NaN if either is.
SIMT_INLINE float max_nan(float a, float b) { return a != a || b != b ? a + b : std::fmax(a, b); }

namespace detail {

// CUDA's float-to-integer conversions saturate, and NaN gives 0.
template <class Integer, class Real>
SIMT_INLINE Integer saturating_cast(Real x) {
  if (!(x == x)) return 0;
  constexpr auto least = std::numeric_limits<Integer>::min();
  constexpr auto greatest = std::numeric_limits<Integer>::max();
  if (x <= static_cast<Real>(least)) return least;
  if (x >= static_cast<Real>(greatest)) return greatest;
  return static_cast<Integer>(x);
}

// A vectorised access needs natural alignment on the GPU, whatever the host tolerates.
void check_alignment(const void* p, size_t align);
template <class T>
SIMT_INLINE const T* aligned(const T* p) {
  if (reinterpret_cast<uintptr_t>(p) % alignof(T) != 0) check_alignment(p, alignof(T));
  return p;
}

}  // namespace detail
}  // namespace emu
}  // namespace simt

SIMT_INLINE int __float2int_rz(float x) { return simt::emu::detail::saturating_cast<int>(x); }
SIMT_INLINE int __float2int_rn(float x) { return simt::emu::detail::saturating_cast<int>(std::nearbyint(x)); }
SIMT_INLINE int __float2int_rd(float x) { return simt::emu::detail::saturating_cast<int>(std::floor(x)); }
SIMT_INLINE int __float2int_ru(float x) { return simt::emu::detail::saturating_cast<int>(std::ceil(x)); }
SIMT_INLINE unsigned __float2uint_rz(float x) { return simt::emu::detail::saturating_cast<unsigned>(x); }
SIMT_INLINE unsigned __float2uint_rn(float x) {
  return simt::emu::detail::saturating_cast<unsigned>(std::nearbyint(x));
}
SIMT_INLINE long long __float2ll_rn(float x) {
  return simt::emu::detail::saturating_cast<long long>(std::nearbyint(x));
}
SIMT_INLINE long long __double2ll_rn(double x) {
  return simt::emu::detail::saturating_cast<long long>(std::nearbyint(x));
}
SIMT_INLINE float __int2float_rn(int x) { return static_cast<float>(x); }
SIMT_INLINE float __uint2float_rn(unsigned x) { return static_cast<float>(x); }

namespace simt {
inline namespace emu {
namespace detail {

// A load through the cache that no write of the same launch reaches (PTX ld.global.nc) is about to read them.
#ifdef SIMT_FLAVOUR_RACE
void note_read_only(const void* p, size_t bytes);
#else
SIMT_INLINE void note_read_only(const void*, size_t) {}
#endif

}  // namespace detail
}  // namespace emu
}  // namespace simt

template <class T>
SIMT_INLINE T __ldg(const T* address) {
  simt::emu::detail::note_read_only(simt::emu::detail::aligned(address), sizeof(T));
  return *address;
}
// Cached loads and stores: cache hints do not change results.
#define SIMT_CACHED_LOAD(name)                   \
  template <class T>                             \
  SIMT_INLINE T name(const T* address) {         \
    return *simt::emu::detail::aligned(address); \
  }
SIMT_CACHED_LOAD(__ldca)
SIMT_CACHED_LOAD(__ldcg)
SIMT_CACHED_LOAD(__ldcs)
SIMT_CACHED_LOAD(__ldlu)
SIMT_CACHED_LOAD(__ldcv)
namespace simt {
inline namespace emu {
SIMT_CACHED_LOAD(load_keep_in_l2)
}  // namespace emu
}  // namespace simt
#undef SIMT_CACHED_LOAD
// As CUDA's overloads do, they convert the value to the type that is stored.
#define SIMT_CACHED_STORE(name)                                    \
  template <class T>                                               \
  SIMT_INLINE void name(T* address, std::common_type_t<T> value) { \
    simt::emu::detail::aligned(address);                           \
    *address = value;                                              \
  }
SIMT_CACHED_STORE(__stwb)
SIMT_CACHED_STORE(__stcg)
SIMT_CACHED_STORE(__stcs)
SIMT_CACHED_STORE(__stwt)
#undef SIMT_CACHED_STORE

inline void __nanosleep(unsigned, SIMT_SITE) { simt::emu::spin_yield(site); }

// CUDA declares these in the global namespace for all arithmetic types.
#define SIMT_MIN_MAX(T)                                 \
  SIMT_INLINE T min(T a, T b) { return b < a ? b : a; } \
  SIMT_INLINE T max(T a, T b) { return a < b ? b : a; }
SIMT_MIN_MAX(int)
SIMT_MIN_MAX(unsigned)
SIMT_MIN_MAX(long)
SIMT_MIN_MAX(unsigned long)
SIMT_MIN_MAX(long long)
SIMT_MIN_MAX(unsigned long long)
#undef SIMT_MIN_MAX
SIMT_INLINE float min(float a, float b) { return std::fmin(a, b); }
SIMT_INLINE float max(float a, float b) { return std::fmax(a, b); }
SIMT_INLINE double min(double a, double b) { return std::fmin(a, b); }
SIMT_INLINE double max(double a, double b) { return std::fmax(a, b); }
