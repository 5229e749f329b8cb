// Exact model and error bound of a row of layer_norm. Derivation and names (m, delta, r, rho): README.md, "The bound".
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "reference/numerics/compare.hpp"
#include "reference/numerics/multiprecision.hpp"

namespace layer_norm {

using warpcheck::reference::basic_enclosure, warpcheck::reference::bounded_value, warpcheck::reference::judgement;
using warpcheck::reference::mp100, warpcheck::reference::mp50;

template <class Real>
struct row_moments {
  basic_enclosure<Real> mean, mean_error, rstd, rstd_error;  // m, delta, r, rho
};

class row_model {
 public:
  row_model(std::vector<double> x, std::vector<double> gamma, std::vector<double> beta, double eps)
      : x_(std::move(x)), gamma_(std::move(gamma)), beta_(std::move(beta)), eps_(eps) {}

  static constexpr int64_t k_mean = -1, k_rstd = -2;  // what is judged if it is no element of y

  judgement judge(int64_t what, double actual) const {
    constexpr auto type = warpcheck::dtype::f32;
    if (const auto value = contract_value(what)) return warpcheck::reference::judge_fixed(type, actual, *value);
    return warpcheck::reference::decide<mp50, mp100>(type, actual, warpcheck::reference::precision::adaptive, *this,
                                                     what);
  }
  std::string text(int64_t what) const {
    if (const auto value = contract_value(what)) return std::isnan(*value) ? "nan" : *value > 0 ? "+inf" : "-inf";
    return evaluate<mp50>(what).exact.value.str(20);
  }

  template <class Real>
  bounded_value<Real> evaluate(int64_t what) const {
    using number = basic_enclosure<Real>;
    const row_moments<Real>& row = moments<Real>();
    if (what == k_mean) return rounded(row.mean, row.mean_error);
    if (what == k_rstd) return rounded(row.rstd, row.rstd * row.rstd_error);
    const auto i = static_cast<size_t>(what);
    const number gap = x_[i] - row.mean, scale = row.rstd * gamma_[i], exact = gap * scale + beta_[i];
    const number more = chain<Real>(3) + row.rstd_error + chain<Real>(3) * row.rstd_error;
    const number before = abs(scale) * (abs(gap) * more + row.mean_error * (1.0 + more));
    return rounded(exact, before + 0x1p-53 * (abs(exact) + before));
  }

 private:
  template <class Real>
  static basic_enclosure<Real> chain(double k) {  // gamma_k of f64
    const basic_enclosure<Real> kw(k * 0x1p-53);
    return kw / (1.0 - kw);
  }
  template <class Real>  // to f32
  static bounded_value<Real> rounded(const basic_enclosure<Real>& exact, const basic_enclosure<Real>& error) {
    return {exact, error + 0x1p-24 * (abs(exact) + error) + 0x1p-150};
  }
  std::optional<double> contract_value(int64_t what) const {
    double sum = x_.empty() ? NAN : 0;
    for (const double v : x_) sum += v;  // of f32 values it does not overflow
    if (std::isfinite(sum)) return std::nullopt;
    return what == k_mean ? sum : NAN;
  }
  template <class Real>
  const row_moments<Real>& moments() const {
    using number = basic_enclosure<Real>;
    std::optional<row_moments<Real>>& known = std::get<std::optional<row_moments<Real>>>(moments_);
    if (known) return *known;
    const auto n = static_cast<double>(x_.size());
    number sum = 0, size = 0, squares = 0;
    for (const double v : x_) sum = sum + v, size = size + std::fabs(v);
    const number mean = sum / n, mean_error = chain<Real>(n) * size / n;
    for (const double v : x_) squares = squares + (v - mean) * (v - mean);
    const number rstd = 1.0 / sqrt(squares / n + eps_), shift = mean_error * rstd;
    const number lowered = shift.value * shift.value < 2 ? shift * shift / 2.0 : number(1);
    return known.emplace(row_moments<Real>{mean, mean_error, rstd, lowered + chain<Real>(n + 6)});
  }

  std::vector<double> x_, gamma_, beta_;
  double eps_;
  template <class... Real>
  using each = std::tuple<std::optional<row_moments<Real>>...>;
  mutable each<double, mp50, mp100> moments_;
};

}  // namespace layer_norm
