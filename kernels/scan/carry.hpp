// Carries between tiles of a scan: wider than the elements, so that the error does not grow with the row.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/primitives/two_sum.hpp"
#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// The unevaluated sum of two doubles; lo is 0 beside an infinity or NaN.
struct double_double {
  double hi;
  double lo;
};

template <class T>
struct carry_of;

template <>
struct carry_of<float> {
  using type = double;
  __device__ static double widen(float x) { return x; }
  __device__ static double add(double a, double b) { return a + b; }
  __device__ static float finish(double before, float local) { return static_cast<float>(before + local); }
};

template <>
struct carry_of<double> {
  using type = double_double;
  __device__ static double_double widen(double x) { return {x, 0}; }
  // hi + lo == a + b exactly.
  __device__ static double_double two_sum(double a, double b) {
    const double sum = a + b;
    return {sum, sum_error(a, b, sum)};
  }
  __device__ static double_double add(const double_double& a, const double_double& b) {
    const double_double high = two_sum(a.hi, b.hi);
    if (!std::isfinite(high.hi)) return {high.hi, 0};
    const double low = high.lo + (a.lo + b.lo);
    const double sum = high.hi + low;
    return {sum, std::isfinite(sum) ? low - (sum - high.hi) : 0};
  }
  __device__ static double finish(const double_double& before, double local) {
    const double_double sum = two_sum(before.hi, local);
    return std::isfinite(sum.hi) ? sum.hi + (sum.lo + before.lo) : sum.hi;
  }
};

// int64_t as unsigned numbers, which wrap.
template <>
struct carry_of<uint64_t> {
  using type = uint64_t;
  __device__ static uint64_t widen(uint64_t x) { return x; }
  __device__ static uint64_t add(uint64_t a, uint64_t b) { return a + b; }
  __device__ static uint64_t finish(uint64_t before, uint64_t local) { return before + local; }
};

template <class T>
struct plus_carry {
  using V = typename carry_of<T>::type;
  __host__ __device__ static V neutral() { return V{}; }
  __device__ V operator()(const V& a, const V& b) const { return carry_of<T>::add(a, b); }
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
