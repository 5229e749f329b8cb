// The formulas of docs/numerics.md as they stand there, in 100 digits, by another path than reference/: no
// rearrangement, no truncation, no series; the sum from the smallest term up, softmax as exp(x_i - lse).
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "reference/numerics/enclosure.hpp"
#include "reference/numerics/exp_row.hpp"
#include "reference/numerics/multiprecision.hpp"

namespace warpcheck::reference {

struct plain_row {
  std::span<const double> x;
  int q, slack;
  mp100 m, r, s, lse, delta_s, delta_r;

  // Some element must be finite.
  plain_row(std::span<const double> row, int rescales, int lag) : x(row), q(rescales), slack(lag) {
    const auto held_out_max = std::ranges::max_element(x);
    m = *held_out_max;
    std::vector<mp100> terms, errors;
    int finite = 1;
    for (auto it = x.begin(); it != x.end(); ++it) {
      if (it == held_out_max || std::isinf(*it)) continue;
      ++finite;
      const mp100 d = m - mp100(*it), e = exp(mp100(-d));
      terms.push_back(e);
      errors.push_back(e * tau(d, q, slack));
    }
    r = sorted_sum(terms);
    s = 1 + r;
    lse = m + mp_log1p(r);
    const mp100 underflow = mp100(finite) * k_eta * (slack == 0 ? 4 : 7461);
    const mp100 rho_r = sorted_sum(errors) + underflow;
    const mp100 rho_s = rho_r + tau(0, q, slack);
    const auto n = static_cast<double>(x.size());
    const mp100 h = std::min(n - 1, 32 + 2 * std::ceil(std::log2(n)) + std::ceil(n / 16384));
    const mp100 gamma = h * k_unit / (1 - h * k_unit);
    delta_s = gamma * (s + rho_s) + rho_s;
    delta_r = gamma * (r + rho_r) + rho_r;
  }

  static mp100 tau(const mp100& d, int q, int slack) {
    const mp100 u = k_unit;
    return pow(mp100(1 + 5 * u), q + 1) * pow(mp100(1 + u), q) *
               exp(mp100(u * (d < 104 ? d : mp100(104)) + 2 * u * slack)) -
           1;
  }
  mp100 gap(size_t i) const { return m - mp100(x[i]); }

  mp100 softmax(size_t i) const { return exp(mp100(mp100(x[i]) - lse)); }
  mp100 softmax_bound(size_t i) const {
    const mp100 left = 1 - delta_s / s;
    return softmax(i) * ((1 + tau(gap(i), 2, 0)) * (1 + mp100(k_unit)) / left - 1) + 4 * mp100(k_eta) / (left * left);
  }

  // E_L
  mp100 log_error() const {
    const mp100 eps = 3 * k_unit;
    return -(1 + eps) * log(mp100(1 - delta_r / (1 + r))) + eps * mp_log1p(r) + k_eta;
  }
  mp100 log_softmax(size_t i) const { return -gap(i) - mp_log1p(r); }
  mp100 log_softmax_bound(size_t i) const {
    const mp100 u = k_unit;
    return (u * gap(i) + log_error()) * (1 + u) + u * abs(log_softmax(i));
  }
  mp100 logsumexp_bound() const { return log_error() * (1 + mp100(k_unit)) + k_unit * abs(lse); }

 private:
  static mp100 sorted_sum(std::vector<mp100> terms) {
    std::ranges::sort(terms);
    return std::accumulate(terms.begin(), terms.end(), mp100(0));
  }
};

// True if `truth` lies in `e`, when truth itself is off by at most `slack`.
template <class Real>
bool contains(const basic_enclosure<Real>& e, const mp100& truth, const mp100& slack = 0) {
  return abs(mp100(e.value) - truth) <= mp100(e.radius) + slack;
}

}  // namespace warpcheck::reference
