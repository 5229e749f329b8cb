// Images of sort keys: unsigned integers in the order of the keys.
#pragma once

#include <cstdint>
#include <cstring>

#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// NaN comes last in either direction. For a floating-point Key only NaN has the image of all ones; -0 and +0 have one
// image. (The flip of the bits: M. Herf, Radix tricks, 2001.)
template <class Key>
struct sort_image;

template <class Key, class Bits>
struct float_sort_image {
  using type = Bits;
  __host__ __device__ static type of(Key key, bool descending) {
    constexpr int k_sign = 8 * sizeof(type) - 1;
    if (key != key) return ~type{0};
    const Key value = key + Key{0};  // -0 becomes +0
    type bits;
    memcpy(&bits, &value, sizeof bits);
    bits ^= bits >> k_sign ? ~type{0} : type{1} << k_sign;
    return descending ? ~bits : bits;
  }
};

template <>
struct sort_image<float> : float_sort_image<float, uint32_t> {};
template <>
struct sort_image<double> : float_sort_image<double, uint64_t> {};

template <>
struct sort_image<int32_t> {
  using type = uint32_t;
  __host__ __device__ static type of(int32_t key, bool descending) {
    const type bits = static_cast<type>(key) ^ type { 1 } << 31;
    return descending ? ~bits : bits;
  }
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
