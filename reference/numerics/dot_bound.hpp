// Error bounds of a sum of k products, for each arithmetic that a kernel may use: E, N_sub and N_zero, defined only
// here. Derivation: docs/numerics.md, "Sums of products".
//
//   abs(computed - Sum a_l b_l) <= E Sum abs(a_l b_l) + N
//
//   ieee          E = (1+u)^p - 1                                                        (<= gamma_p)
//   f16, bf16     E = (1 + kappa u)^s (1+u)^p - 1
//   tf32x3        E = 8u + 4u^2  + chi [(1 + kappa u)^s (1+u)^p - 1],   chi = 1 + 2^-9 + 3 2^-22
//   bf16x6        E = u + 2^-32  + chi [(1 + kappa u)^s (1+u)^p - 1],   chi = (1 + 2^-7 + 2^-17)^2
//   tf32x1        E = chi - 1    + chi [(1 + kappa u)^s (1+u)^p - 1],   chi = (1 + 2^-11)^2
//   bf16x1        E = chi - 1    + chi [(1 + kappa u)^s (1+u)^p - 1],   chi = (1 + 2^-8)^2
//
// with u = 2^-24, kappa = K/2 + 2 for tensor-core steps of K products, s the longest chain of such steps before the
// accumulator is added to an f32, and p the longest chain of f32 roundings.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "reference/numerics/enclosure.hpp"
#include "reference/numerics/exp_row.hpp"

namespace warpcheck::reference {

// ieee: f32 FMA. f16, bf16: exact products of 16-bit operands on tensor cores. tf32x3, bf16x6: f32 operands split into
// two or three parts, three or six products of parts on tensor cores. tf32x1, bf16x1: f32 operands rounded to one part.
enum class dot_arithmetic : uint8_t { ieee, f16, bf16, tf32x3, bf16x6, tf32x1, bf16x1 };

constexpr bool on_tensor_cores(dot_arithmetic a) { return a != dot_arithmetic::ieee; }
// K: products of one tensor-core step.
constexpr int step_products(dot_arithmetic a) {
  return a == dot_arithmetic::tf32x3 || a == dot_arithmetic::tf32x1 ? 8 : 16;
}
constexpr int step_kappa(dot_arithmetic a) { return step_products(a) / 2 + 2; }
// True if operands are rounded to a single part.
constexpr bool is_rounded_once(dot_arithmetic a) { return a == dot_arithmetic::tf32x1 || a == dot_arithmetic::bf16x1; }
// Products of parts for one product of operands.
constexpr int part_products(dot_arithmetic a) {
  return a == dot_arithmetic::tf32x3 ? 3 : a == dot_arithmetic::bf16x6 ? 6 : 1;
}
// A bound of the sum of the absolute products of parts, relative to that of the operands; minus 1.
constexpr double part_growth(dot_arithmetic a) {
  constexpr double bf16_parts = 0x1p-7 + 0x1p-17;
  return a == dot_arithmetic::tf32x3   ? 0x1p-9 + 3 * 0x1p-22
         : a == dot_arithmetic::bf16x6 ? bf16_parts * (2 + bf16_parts)
         : a == dot_arithmetic::tf32x1 ? 0x1p-10 + 0x1p-22
         : a == dot_arithmetic::bf16x1 ? 0x1p-7 + 0x1p-16
                                       : 0;
}

// The slices of k products: `count` slices of `length`, except that the last one has the rest; added in order.
struct dot_slices {
  int64_t count = 1;
  int64_t length = 0;
};

// s and p.
struct dot_chains {
  int64_t steps = 0;
  int64_t additions = 0;
};

// The most products that go into a tensor core's accumulator before it is added to an f32.
inline constexpr int64_t k_promotion = 64;

// True if a GPU of this compute capability (sm_80, sm_86, sm_89) adds the products of a step in two halves, one after
// the other.
constexpr bool adds_in_halves(int compute_capability) { return compute_capability >= 80 && compute_capability < 90; }

// `halves`: adds_in_halves() of the machine.
inline dot_chains chains_of(dot_arithmetic a, int64_t k, dot_slices slices, int64_t promotion = k_promotion,
                            bool halves = false) {
  if (k == 0) return {};
  const auto pieces = [](int64_t n, int64_t size) { return (n + size - 1) / size; };
  // The first product of a chain is rounded, each later one with its sum, and each slice but the first is one addition.
  if (!on_tensor_cores(a)) return {0, slices.length + slices.count - 1};
  const int64_t steps = part_products(a) * pieces(std::min(k, promotion), step_products(a));
  return {halves ? 2 * steps : steps, pieces(k, promotion) + slices.count};
}

// (1+x)^n - 1.
template <class Real>
basic_enclosure<Real> power_growth(double x, int64_t n) {
  return expm1(basic_enclosure<Real>(static_cast<double>(n)) * log1p(basic_enclosure<Real>(x)));
}

// E.
template <class Real>
basic_enclosure<Real> dot_error(dot_arithmetic a, const dot_chains& chains) {
  using number = basic_enclosure<Real>;
  const number rounded = power_growth<Real>(k_unit, chains.additions);
  if (!on_tensor_cores(a)) return rounded;
  const number stepped = power_growth<Real>(step_kappa(a) * k_unit, chains.steps);
  const number summed = stepped + rounded + stepped * rounded;
  if (a == dot_arithmetic::tf32x3)
    return number(8 * k_unit + 4 * k_unit * k_unit) + (1.0 + number(part_growth(a))) * summed;
  if (a == dot_arithmetic::bf16x6) return number(k_unit + 0x1p-32) + (1.0 + number(part_growth(a))) * summed;
  if (is_rounded_once(a)) return number(part_growth(a)) + (1.0 + number(part_growth(a))) * summed;
  return summed;
}

// The contribution of one product to N beside k eta: operands so small that a split loses their last part, or that a
// tensor core aligns with the least exponent of their type. A zero has no exponent (measured, docs/numerics.md).
inline double small_operand_error(dot_arithmetic arithmetic, double a, double b) {
  const double x = std::fabs(a), y = std::fabs(b);
  const auto below = [](double size, double limit) { return size > 0 && size < limit; };
  double error = 0;
  switch (arithmetic) {
    case dot_arithmetic::ieee: return 0;
    case dot_arithmetic::f16:
      if (below(x, 0x1p-14)) error += 0x1p-35 * std::max(y, 0x1p-14);
      if (below(y, 0x1p-14)) error += 0x1p-35 * std::max(x, 0x1p-14);
      return error;
    case dot_arithmetic::bf16: break;
    case dot_arithmetic::tf32x3:
      if (below(x, 0x1p-113)) error += 0x1p-137 * y;
      if (below(y, 0x1p-113)) error += 0x1p-137 * x;
      break;
    case dot_arithmetic::bf16x6:
      if (below(x, 0x1p-110)) error += 0x1p-134 * y;
      if (below(y, 0x1p-110)) error += 0x1p-134 * x;
      break;
    case dot_arithmetic::tf32x1:
    case dot_arithmetic::bf16x1: {
      const bool tf32 = arithmetic == dot_arithmetic::tf32x1;
      const double quantum = tf32 ? 0x1p-137 : 0x1p-134;  // half of the least
      if (below(x, 0x1p-126)) error += quantum * y;
      if (below(y, 0x1p-126)) error += quantum * x;
      // A value that would round to infinity is cut, which loses twice as much.
      if (std::max(x, y) >= (tf32 ? 0x1.ffep127 : 0x1.ffp127)) error += (tf32 ? 0x1p-10 : 0x1p-7) * x * y;
      break;
    }
  }
  if (below(x, 0x1p-103) || below(y, 0x1p-103))
    error += step_products(arithmetic) * part_products(arithmetic) * 0x1p-151 * (x + y);
  return error;
}

// N for k products whose small_operand_error adds up to `small`, before the factor alpha. The three eta are those of
// the roundings after the sum: the product with alpha, the addition of beta c, and that of a bias.
template <class Real>
basic_enclosure<Real> dot_absolute_error(dot_arithmetic a, double alpha, int64_t k,
                                         const basic_enclosure<Real>& small) {
  using number = basic_enclosure<Real>;
  const number underflow = number(static_cast<double>(part_products(a)) * k_eta) * static_cast<double>(k);
  return number(std::fabs(alpha)) * (small + underflow) + 3 * k_eta;
}

}  // namespace warpcheck::reference
