// Stands in for CUDA's header of this name: the two 8-bit types, vectors of two and four of them, and conversions.
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "simt/import/fp8_values.hpp"

using __nv_fp8_storage_t = unsigned char;
using __nv_fp8x2_storage_t = unsigned short;
using __nv_fp8x4_storage_t = unsigned;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace simt::import {

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
