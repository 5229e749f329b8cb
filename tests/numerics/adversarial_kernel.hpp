// A softmax that uses its whole allowance of errors, in f32 on the host: every exponential is off by 2 ulp in a chosen
// direction, terms pass through a chain of exactly h(n) additions, partial sums are rescaled q times. What it computes
// must stay within the bound, and should come close to it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "reference/numerics/exp_row.hpp"

namespace warpcheck::reference {

// The correctly rounded exponential, moved by `ulps` steps (not below 0). Exact at 0 and -Inf, as the contract
// demands.
inline float shifted_exp(float x, int ulps) {
  if (x == 0) return 1;
  if (std::isinf(x)) return 0;
  auto y = static_cast<float>(std::exp(static_cast<double>(x)));
  const float target = ulps > 0 ? std::numeric_limits<float>::infinity() : 0.0f;
  for (int k = std::abs(ulps); k > 0; --k) y = std::nextafter(y, target);
  return y;
}

struct adversary {
  int numerator_ulps = 2;  // error of the exponential that becomes the output's numerator
  int sum_ulps = -2;       // error of the exponentials in the sum and of the rescale factors
  int rescales = 0;        // each term of the sum reaches the maximum in this many steps after its own exponential
  int64_t chain = 0;       // the longest chain of additions
};

// e^(x - m) in f32 by way of references below m: the first exponential against a reference that lags, then a factor for
// each of the `rescales` raises. A lagging reference never lies below the term itself, so no slack is used.
inline float travelled_exp(float x, float m, int ulps, int rescales) {
  const float d = m - x;
  if (rescales == 0 || !(d > 0) || d > 500) return shifted_exp(x - m, ulps);
  float reference = x + d / static_cast<float>(rescales + 1);
  float e = shifted_exp(x - reference, ulps);
  for (int k = rescales; k >= 1; --k) {
    const float next = k == 1 ? m : reference + (m - reference) / static_cast<float>(k);
    e *= shifted_exp(reference - next, ulps);
    reference = next;
  }
  return e;
}

// Adds `terms` in order with no term in more than `chain` additions: the first `chain` operands of a serial chain, each
// operand the sum of a subtree that is as deep as its place in the chain still allows (at most 2^depth terms).
inline float chained_sum(std::span<const float> terms, int64_t chain) {
  struct tree {
    static float sum(std::span<const float> part) {
      if (part.size() == 1) return part[0];
      const size_t half = part.size() / 2;
      return sum(part.first(half)) + sum(part.subspan(half));
    }
  };
  if (terms.empty()) return 0;
  const auto n = static_cast<int64_t>(terms.size());
  if (n - 1 <= chain) {
    float total = terms[0];
    for (const float t : terms.subspan(1)) total += t;
    return total;
  }
  // The first term takes part in all `chain` additions; operand k (from 1) in chain - k + 1, so its subtree may have
  // depth k - 1. The last operands carry what is left over.
  float total = terms[0];
  int64_t next = 1;
  for (int64_t k = 1; k <= chain && next < n; ++k) {
    const int64_t left = n - next;
    const int64_t capacity = k - 1 < 40 ? int64_t{1} << (k - 1) : left;
    // Leave at least one term for every later operand, so that the chain is as long as it may be.
    const int64_t take = std::max<int64_t>(1, std::min(capacity, left - (chain - k)));
    total += tree::sum(terms.subspan(next, take));
    next += take;
  }
  return next == n ? total : std::numeric_limits<float>::quiet_NaN();
}

// One output: the element whose error is driven. Returns fl(numerator / sum).
inline float adversarial_softmax(std::span<const double> x, int64_t index, const adversary& a) {
  const double m = *std::ranges::max_element(x);
  std::vector<float> terms;
  terms.reserve(x.size());
  for (const double value : x) {
    const auto own = static_cast<float>(value);
    // An expf is a function: the element's own argument has one error only when both use the same one.
    const bool same = value == x[static_cast<size_t>(index)] && a.rescales == 0;
    terms.push_back(travelled_exp(own, static_cast<float>(m), same ? a.numerator_ulps : a.sum_ulps, a.rescales));
  }
  const float numerator = travelled_exp(static_cast<float>(x[static_cast<size_t>(index)]), static_cast<float>(m),
                                        a.numerator_ulps, std::min(a.rescales, 2));
  return numerator / chained_sum(terms, a.chain);
}

// r^, the sum without one maximum, and log1pf with 1 ulp of error on the correctly rounded result.
inline float adversarial_tail(std::span<const double> x, const adversary& a) {
  const auto held_out_max = std::ranges::max_element(x);
  std::vector<float> terms;
  for (auto it = x.begin(); it != x.end(); ++it) {
    if (it == held_out_max) continue;
    terms.push_back(travelled_exp(static_cast<float>(*it), static_cast<float>(*held_out_max), a.sum_ulps, a.rescales));
  }
  return chained_sum(terms, a.chain);
}

inline float shifted_log1p(float x, int ulps) {
  if (x == 0) return 0;
  auto y = static_cast<float>(std::log1p(static_cast<double>(x)));
  const float target = ulps > 0 ? std::numeric_limits<float>::infinity() : 0.0f;
  for (int k = std::abs(ulps); k > 0; --k) y = std::nextafter(y, target);
  return y;
}

}  // namespace warpcheck::reference
