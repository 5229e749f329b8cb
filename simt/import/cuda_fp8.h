// Stands in for CUDA's header of this name: the two 8-bit types, vectors of two and four of them, and conversions.
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"

using __nv_fp8_storage_t = unsigned char;
using __nv_fp8x2_storage_t = unsigned short;
using __nv_fp8x4_storage_t = unsigned;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace simt::import {

// E4M3 has no infinity and one NaN of each sign, 0x7f; E5M2 is the upper half of f16 (Micikevicius et al., FP8 formats
// for deep learning, arXiv 2209.05433).
inline float fp8_to_float(unsigned char bits, __nv_fp8_interpretation_t kind) {
  if (kind == __NV_E5M2) return to_float(f16{static_cast<uint16_t>(bits << 8)});
  const int exponent = (bits >> 3) & 15, fraction = bits & 7;
  const float sign = bits & 0x80 ? -1.0f : 1.0f;
  if (exponent == 15 && fraction == 7) return sign * NAN;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -9);
  return sign * std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
}
// Rounds to nearest, ties to even. A number beyond the largest becomes that one or the type's special value.
inline unsigned char fp8_from(double x, __nv_saturation_t saturation, __nv_fp8_interpretation_t kind) {
  const int digits = kind == __NV_E4M3 ? 3 : 2, least = kind == __NV_E4M3 ? -6 : -14;
  const double most = kind == __NV_E4M3 ? 448 : 57344;
  const unsigned char sign = std::signbit(x) ? 0x80 : 0;
  const unsigned char beyond = kind == __NV_E4M3 ? 0x7f : 0x7c, largest = kind == __NV_E4M3 ? 0x7e : 0x7b;
  if (x != x) return 0x7f;
  const double magnitude = std::fabs(x);
  int exponent = magnitude > 0 ? std::ilogb(magnitude) : least;
  if (exponent < least || exponent == INT_MAX) exponent = least;
  const double rounded = std::isinf(magnitude)
                             ? magnitude
                             : std::ldexp(std::nearbyint(std::ldexp(magnitude, digits - exponent)), exponent - digits);
  if (rounded > most) return static_cast<unsigned char>(sign | (saturation == __NV_SATFINITE ? largest : beyond));
  if (rounded == 0) return sign;
  const int e = std::ilogb(rounded);
  if (e < least) return static_cast<unsigned char>(sign | static_cast<int>(std::ldexp(rounded, digits - least)));
  const int fraction = static_cast<int>(std::ldexp(rounded, digits - e)) - (1 << digits);
  return static_cast<unsigned char>(sign | ((e - least + 1) << digits) | fraction);
}

template <__nv_fp8_interpretation_t Kind>
struct fp8 {
  __nv_fp8_storage_t __x;

  fp8() = default;
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  explicit fp8(T x) : __x(fp8_from(static_cast<double>(x), __NV_SATFINITE, Kind)) {}
  explicit fp8(__half x) : fp8(static_cast<float>(x)) {}
  explicit fp8(__nv_bfloat16 x) : fp8(static_cast<float>(x)) {}
  explicit operator float() const { return fp8_to_float(__x, Kind); }
  explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
  explicit operator __half() const { return static_cast<float>(*this); }
  explicit operator __nv_bfloat16() const { return static_cast<float>(*this); }
};
// The first component is in the low byte.
template <__nv_fp8_interpretation_t Kind>
struct fp8x2 {
  __nv_fp8x2_storage_t __x;

  fp8x2() = default;
  explicit fp8x2(float2 v) : __x(static_cast<unsigned short>(fp8<Kind>(v.x).__x | fp8<Kind>(v.y).__x << 8)) {}
  explicit fp8x2(__half2 v) : fp8x2(__half22float2(v)) {}
  explicit fp8x2(__nv_bfloat162 v) : fp8x2(__bfloat1622float2(v)) {}
  explicit operator float2() const {
    return {fp8_to_float(static_cast<unsigned char>(__x), Kind),
            fp8_to_float(static_cast<unsigned char>(__x >> 8), Kind)};
  }
  explicit operator __half2() const { return __float22half2_rn(static_cast<float2>(*this)); }
};
template <__nv_fp8_interpretation_t Kind>
struct fp8x4 {
  __nv_fp8x4_storage_t __x;

  fp8x4() = default;
  explicit fp8x4(float4 v)
      : __x(fp8x2<Kind>(float2{v.x, v.y}).__x | static_cast<unsigned>(fp8x2<Kind>(float2{v.z, v.w}).__x) << 16) {}
  template <class Pair>  // of 16-bit elements
  fp8x4(Pair low, Pair high) : __x(fp8x2<Kind>(low).__x | static_cast<unsigned>(fp8x2<Kind>(high).__x) << 16) {}
  explicit operator float4() const {
    fp8x2<Kind> low, high;
    low.__x = static_cast<unsigned short>(__x);
    high.__x = static_cast<unsigned short>(__x >> 16);
    const auto a = static_cast<float2>(low), b = static_cast<float2>(high);
    return {a.x, a.y, b.x, b.y};
  }
};

}  // namespace simt::import

using __nv_fp8_e4m3 = simt::import::fp8<__NV_E4M3>;
using __nv_fp8_e5m2 = simt::import::fp8<__NV_E5M2>;
using __nv_fp8x2_e4m3 = simt::import::fp8x2<__NV_E4M3>;
using __nv_fp8x2_e5m2 = simt::import::fp8x2<__NV_E5M2>;
using __nv_fp8x4_e4m3 = simt::import::fp8x4<__NV_E4M3>;
using __nv_fp8x4_e5m2 = simt::import::fp8x4<__NV_E5M2>;

inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t s, __nv_fp8_interpretation_t k) {
  return simt::import::fp8_from(x, s, k);
}
inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t s, __nv_fp8_interpretation_t k) {
  return simt::import::fp8_from(x, s, k);
}
inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 v, __nv_saturation_t s, __nv_fp8_interpretation_t k) {
  return static_cast<unsigned short>(simt::import::fp8_from(v.x, s, k) | simt::import::fp8_from(v.y, s, k) << 8);
}
inline __half __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t k) {
  return simt::import::fp8_to_float(x, k);
}
