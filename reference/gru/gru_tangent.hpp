// The derivative of a gated recurrent unit along a direction, by dual numbers in a loop of its own: independent of the
// gradients of gru_backward.hpp, and as cheap as a forward pass at any size.
//
// Source: Griewank and Walther, Evaluating Derivatives, 2nd ed. 2008, section 3.1 (forward mode).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "reference/gru/gru.hpp"

namespace warpcheck::reference {

// value + slope epsilon, epsilon^2 = 0.
template <class S>
struct dual {
  S value{0}, slope{0};

  dual() = default;
  dual(int v) : value(v) {}  // NOLINT(google-explicit-constructor): formulas mix duals and small integers
  dual(S v, S s) : value(std::move(v)), slope(std::move(s)) {}

  friend dual operator-(const dual& a) { return {S(-a.value), S(-a.slope)}; }
  friend dual operator+(const dual& a, const dual& b) { return {S(a.value + b.value), S(a.slope + b.slope)}; }
  friend dual operator-(const dual& a, const dual& b) { return {S(a.value - b.value), S(a.slope - b.slope)}; }
  friend dual operator*(const dual& a, const dual& b) {
    return {S(a.value * b.value), S(a.slope * b.value + a.value * b.slope)};
  }
  friend dual operator/(const dual& a, const dual& b) {
    const S quotient = a.value / b.value;
    return {quotient, S((a.slope - quotient * b.slope) / b.value)};
  }
  friend dual exp(const dual& a) {
    using std::exp;
    const S value = exp(a.value);
    return {value, S(value * a.slope)};
  }
  friend dual tanh(const dual& a) {
    using std::tanh;
    const S value = tanh(a.value);
    return {value, S((1 - value * value) * a.slope)};
  }
};

template <class S>
std::vector<dual<S>> with_slope(const std::vector<S>& value, const std::vector<S>& slope) {
  std::vector<dual<S>> out(value.size());
  for (size_t i = 0; i < value.size(); ++i) out[i] = {value[i], slope[i]};
  return out;
}

// y and hn with their slopes along `v`, whose tensors have the sizes of the problem's (its shape, lengths and marks are
// not read). The walk is indexed by times, and the blend is written as n + z (h - n).
template <class S>
std::pair<std::vector<dual<S>>, std::vector<dual<S>>> gru_tangent(const gru_problem<S>& p, const gru_problem<S>& v) {
  const gru_shape& s = p.shape;
  const auto x = with_slope(p.x, v.x), w_ih = with_slope(p.w_ih, v.w_ih), w_hh = with_slope(p.w_hh, v.w_hh);
  const auto b_ih = with_slope(p.b_ih, v.b_ih), b_hh = with_slope(p.b_hh, v.b_hh);
  const auto h0 = with_slope(p.h0, v.h0), h_reset = with_slope(p.h_reset, v.h_reset);
  std::vector<dual<S>> y(static_cast<size_t>(s.y_size())), hn(static_cast<size_t>(s.state_size()));
  std::vector<dual<S>> h(static_cast<size_t>(s.hidden)), next(h);
  for (int d = 0; d < s.directions; ++d)
    for (int64_t b = 0; b < s.batch; ++b) {
      const auto load = [&](const std::vector<dual<S>>& from) {
        for (int64_t k = 0; k < s.hidden; ++k) h[static_cast<size_t>(k)] = element_or_zero(from, s.state(d, b, k));
      };
      const auto marked = [&](int64_t t) {
        return !p.reset.empty() && p.reset[static_cast<size_t>(t * s.batch + b)] != 0;
      };
      int64_t length = s.time;
      if (!p.lengths.empty()) length = std::min(s.time, std::max<int64_t>(0, p.lengths[static_cast<size_t>(b)]));
      load(h0);
      for (int64_t i = 0; i < length; ++i) {
        const int64_t t = d == 0 ? i : length - 1 - i;
        if (d == 0 ? marked(t) : t + 1 < length && marked(t + 1)) load(h_reset);
        for (int64_t k = 0; k < s.hidden; ++k) {
          dual<S> of_x[3], of_h[3];
          for (int gate = 0; gate < 3; ++gate) {
            of_x[gate] = element_or_zero(b_ih, s.bias(d, gate, k));
            of_h[gate] = element_or_zero(b_hh, s.bias(d, gate, k));
            for (int64_t j = 0; j < s.input; ++j)
              of_x[gate] = of_x[gate] + w_ih[s.w_ih(d, gate, k, j)] * x[s.x(t, b, j)];
            for (int64_t j = 0; j < s.hidden; ++j)
              of_h[gate] = of_h[gate] + w_hh[s.w_hh(d, gate, k, j)] * h[static_cast<size_t>(j)];
          }
          const dual<S> r = logistic(of_x[0] + of_h[0]), z = logistic(of_x[1] + of_h[1]);
          const dual<S> n = tanh(of_x[2] + r * of_h[2]);
          next[static_cast<size_t>(k)] = n + z * (h[static_cast<size_t>(k)] - n);
        }
        h = next;
        for (int64_t k = 0; k < s.hidden; ++k) y[s.y(t, b, d, k)] = h[static_cast<size_t>(k)];
      }
      for (int64_t k = 0; k < s.hidden; ++k) hn[s.state(d, b, k)] = h[static_cast<size_t>(k)];
    }
  return {y, hn};
}

}  // namespace warpcheck::reference
