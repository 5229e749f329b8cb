// Sums of products as tensor cores make them, on the host: one step of K products, chains of steps with promotion, and
// the splits of f32 operands, right ones and wrong ones.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/numerics/dot_bound.hpp"

namespace warpcheck::reference {

// x cut towards zero to a multiple of 2^exponent.
inline double cut(double x, int exponent) { return std::ldexp(std::trunc(std::ldexp(x, -exponent)), exponent); }

// sum + Sum a_l b_l of compute capability 9.0: products and sum aligned to the largest exponent, as that of a product
// counting the sum of its factors', cut to 25 bits below it, added, and cut to 24 bits. Operands are normal or zero.
inline float tensor_core_step(std::span<const float> a, std::span<const float> b, float sum) {
  int top = sum == 0 ? -1000 : std::ilogb(sum);
  for (size_t l = 0; l < a.size(); ++l)
    if (a[l] != 0 && b[l] != 0) top = std::max(top, std::ilogb(a[l]) + std::ilogb(b[l]));
  if (top == -1000) return 0;
  double total = cut(static_cast<double>(sum), top - 25);
  for (size_t l = 0; l < a.size(); ++l) total += cut(static_cast<double>(a[l]) * static_cast<double>(b[l]), top - 25);
  return total == 0 ? 0.0f : static_cast<float>(cut(total, std::ilogb(total) - 23));
}

// x rounded to `bits` significant bits, ties away from zero (cvt.rna) or to even; or cut.
enum class narrowing : uint8_t { ties_away, ties_to_even, towards_zero };
inline float narrow(float x, int bits, narrowing how) {
  const int dropped = 24 - bits;
  auto u = std::bit_cast<uint32_t>(x);
  const uint32_t mask = (1u << dropped) - 1;
  if (how == narrowing::ties_away) u += 1u << (dropped - 1);
  if (how == narrowing::ties_to_even) u += (1u << (dropped - 1)) - 1 + (u >> dropped & 1);
  return std::bit_cast<float>(u & ~mask);
}

// The parts of a value: `count` of them, each what is left narrowed.
inline std::vector<float> split(float x, int count, int bits, narrowing how) {
  std::vector<float> parts;
  for (int p = 0; p < count; ++p) {
    parts.push_back(narrow(x, bits, how));
    x -= parts.back();  // exact
  }
  return parts;
}

// A part of a and one of b.
struct part_pair {
  int a = 0, b = 0;
};

// A way to multiply on tensor cores: the first `count` products of parts, smallest first.
struct split_product {
  int parts = 2, bits = 11, step = 8;
  narrowing how = narrowing::ties_away;
  std::array<part_pair, 6> products = {part_pair{1, 0}, part_pair{0, 1}, part_pair{0, 0}};
  size_t count = 3;
  int64_t promotion = k_promotion;

  std::span<const part_pair> pairs() const { return std::span(products).first(count); }
};
inline split_product tf32x3_product() { return {}; }
inline split_product bf16x6_product() {
  split_product six;
  six.parts = 3, six.bits = 8, six.step = 16, six.count = 6;
  six.how = narrowing::ties_to_even;
  six.products = {part_pair{2, 0}, part_pair{0, 2}, part_pair{1, 1}, part_pair{1, 0}, part_pair{0, 1}, part_pair{0, 0}};
  return six;
}

inline float tensor_core_dot(const split_product& way, std::span<const float> a, std::span<const float> b) {
  const auto k = static_cast<int64_t>(a.size());
  std::vector<std::vector<float>> as(way.parts, std::vector<float>(a.size())), bs(as);
  for (size_t l = 0; l < a.size(); ++l) {
    const auto of_a = split(a[l], way.parts, way.bits, way.how), of_b = split(b[l], way.parts, way.bits, way.how);
    for (int p = 0; p < way.parts; ++p) as[p][l] = of_a[p], bs[p][l] = of_b[p];
  }
  float sum = 0;
  for (int64_t begin = 0; begin < k; begin += way.promotion) {
    const int64_t end = std::min(k, begin + way.promotion);
    float accumulator = 0;
    for (int64_t l = begin; l < end; l += way.step) {
      const auto n = static_cast<size_t>(std::min<int64_t>(way.step, end - l));
      for (const auto& [p, q] : way.pairs())
        accumulator = tensor_core_step(std::span(as[p]).subspan(l, n), std::span(bs[q]).subspan(l, n), accumulator);
    }
    sum += accumulator;
  }
  return sum;
}

}  // namespace warpcheck::reference
