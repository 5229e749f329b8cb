#include "reference/numerics/exp_row.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <type_traits>

#include "reference/numerics/multiprecision.hpp"
#include "reference/numerics/stated_sums.hpp"
#include "reference/numerics/two_sum.hpp"

namespace warpcheck::reference {
namespace {

// (1 + eps_e)^(q+1) (1 + u)^q e^(2 T u) - 1, without cancellation.
template <class Real>
basic_enclosure<Real> fixed_error(int rescales, int slack) {
  basic_enclosure<Real> product(0.0);
  const auto times = [&](const basic_enclosure<Real>& error) { product = product + error + product * error; };
  for (int k = 0; k <= rescales; ++k) times(k_exp_error);
  for (int k = 0; k < rescales; ++k) times(k_unit);
  times(expm1(basic_enclosure<Real>(2 * slack * k_unit)));
  return product;
}

// The absolute error per term, in units of eta, that subnormal exponentials and products add: docs/numerics.md,
// "Underflow". With T = 0 and q = 2 it is 2.5 + 2/2 and a little, so 4.
double underflow_units(const row_allowance& allowance) {
  return std::ceil(2.5 * std::exp(allowance.slack) + allowance.rescales / 2.0 + 0.01);
}

}  // namespace

int64_t chain_length(int64_t n) {
  if (n <= 1) return 0;
  const int64_t log2_up = std::bit_width(static_cast<uint64_t>(n - 1));
  return stated_chain(n, std::min(n - 1, 32 + 2 * log2_up + (n + (1 << 14) - 1) / (1 << 14)));
}

row_allowance softmax_allowance(int64_t n) {
  return n <= (int64_t{1} << 22) ? row_allowance{chain_length(n), 2, 0} : row_allowance{chain_length(n), 16, 8};
}

row_allowance logsumexp_allowance(int64_t n) {
  return n <= 1024 ? row_allowance{chain_length(n), 2, 0} : row_allowance{chain_length(n), 16, 8};
}

template <class Real>
struct exp_row::moments {
  basic_enclosure<Real> tail;  // r
  basic_enclosure<Real> tilt;  // sum over i != a of e^(-d_i) expm1(u min(d_i, 104))
};

struct exp_row::slow_sums {
  std::optional<exp_sum<mp50>> digits50;
  std::optional<exp_sum<mp100>> digits100;
};

exp_row::~exp_row() = default;
exp_row::exp_row(exp_row&&) noexcept = default;
exp_row& exp_row::operator=(exp_row&&) noexcept = default;

exp_row::exp_row(std::span<const double> x, const row_allowance& allowance)
    : x_(x), allowance_(allowance), slow_(std::make_unique<slow_sums>()) {
  const auto n = static_cast<int64_t>(x.size());
  if (n == 0) return;
  argmax_ = 0;
  double second = max_;  // the largest of the others
  for (int64_t i = 0; i < n; ++i) {
    if (std::isnan(x[i])) {
      kind_ = row_kind::has_nan;
      argmax_ = i;
      return;
    }
    finite_ += std::isfinite(x[i]);
    if (x[i] > max_) {
      second = max_;
      max_ = x[i];
      argmax_ = i;
      ties_ = 1;
    } else if (i != argmax_) {
      second = std::max(second, x[i]);
      ties_ += x[i] == max_;
    }
  }
  if (std::isinf(max_)) {
    kind_ = max_ > 0 ? row_kind::has_infinity : row_kind::minus_infinity;
    return;
  }
  kind_ = row_kind::finite;
  second_gap_ = max_ - second;
  fast_ = with_errors(moments_in_double());
}

// Compensated (Ogita, Rump, Oishi 2005, Sum2) sum of the exponentials; two plain sums of moments for the tilt.
exp_row::moments<double> exp_row::moments_in_double() const {
  double sum = 0, low = 0;          // sum + low ~ r
  double moment1 = 0, moment2 = 0;  // of e^-d min(d, 104)^k
  const auto n = static_cast<double>(x_.size());
  const auto count = static_cast<int64_t>(x_.size());
  for (int64_t i = 0; i < count; ++i) {
    if (i == argmax_) continue;
    const double d = max_ - x_[i];
    const double e = std::exp(-d);
    const double total = sum + e;
    const double shadow = total - sum;
    low += (sum - (total - shadow)) + (e - shadow);
    sum = total;
    const double capped = std::min(d, k_exp_range);
    const double first = e * capped;
    moment1 += first;
    moment2 += first * capped;
  }
  const double r = sum + low;
  constexpr double v = k_double_unit;
  // One exponential, d <= 700: e^-d (1 + theta), |theta| <= v d + 8 v (the rounding of d, then exp) to first order;
  // d <= 7 min(d, 104). Sum2: v r + (n v)^2 r. Further terms: k_far_value each.
  // The moments: n additions and products of relative error v, on terms whose relative error is at most 708 v.
  const double loose = (n + 720) * v;
  const double gamma = n * v / (1 - n * v);
  const double spread = v * (7 * moment1 + 9 * r) + gamma * gamma * r;
  const enclosure tail(r, spread * (1 + 1e-9 + 2 * loose) + n * k_far_value);
  const double linear = k_unit * moment1, quadratic = k_unit * k_unit / 2 * moment2;
  // e^w - 1 - w - w^2/2 <= 1.00001 w^3/6 for 0 <= w <= 104 u.
  const double cubic = k_unit * k_unit * k_unit / 6 * k_exp_range * moment2;
  const enclosure tilt(linear + quadratic,
                       ((linear + quadratic) * loose + cubic) * (1 + 1e-4) + n * k_exp_range * k_far_value);
  return {tail, tilt};
}

// `cut`: terms whose gap exceeds the least gap by more than `cut` are left out; together they are at most
// n e^-cut r. `taylor_terms` of expm1(w), w <= 104 u, leave a remainder of w^K / (K+1)! relatively.
template <class Real>
exp_row::moments<Real> exp_row::moments_in_digits(double cut, int taylor_terms) const {
  const auto n = static_cast<double>(x_.size());
  const auto count = static_cast<int64_t>(x_.size());
  if (second_gap_ > k_far_gap) {
    return {basic_enclosure<Real>(Real(0), n * k_far_value), basic_enclosure<Real>(Real(0), n * k_far_value)};
  }
  Real tail = 0, tilt = 0;
  for (int64_t i = 0; i < count; ++i) {
    const exact_difference d(max_, x_[i]);
    if (i == argmax_ || !(d.high <= second_gap_ + cut)) continue;
    const Real gap = Real(d.high) + d.low;
    const Real e = exp(Real(-gap));
    tail += e;
    const Real w = (d.high < k_exp_range ? gap : Real(k_exp_range)) * k_unit;
    Real series = 1;
    for (int k = taylor_terms; k >= 2; --k) series = 1 + series * w / k;
    tilt += e * w * series;
  }
  // Every gap is below 1000 and carries two roundings; then one exp, one series and n additions per term.
  const double relative = arithmetic<Real>::elementary + (n + 2100) * arithmetic<Real>::unit + 2 * n * std::exp(-cut);
  return {basic_enclosure<Real>(tail, magnitude(tail) * relative + k_tiny),
          basic_enclosure<Real>(tilt, (magnitude(tilt) + magnitude(tail) * 1e-5) * relative + k_tiny)};
}

template <class Real>
const exp_sum<Real>& exp_row::sum() const {
  if constexpr (std::is_same_v<Real, double>) {
    return fast_;
  } else if constexpr (std::is_same_v<Real, mp50>) {
    if (!slow_->digits50) slow_->digits50 = with_errors(moments_in_digits<mp50>(160, 10));
    return *slow_->digits50;
  } else {
    if (!slow_->digits100) slow_->digits100 = with_errors(moments_in_digits<mp100>(280, 18));
    return *slow_->digits100;
  }
}

template <class Real>
basic_enclosure<Real> exp_row::gap(int64_t i) const {
  const exact_difference d(max_, x_[static_cast<size_t>(i)]);
  const Real value = Real(d.high) + Real(d.low);
  return {value, magnitude(value) * 2 * arithmetic<Real>::unit};
}

template <class Real>
basic_enclosure<Real> exp_row::exponential(int64_t i) const {
  const basic_enclosure<Real> d = gap<Real>(i);
  if (d.value > k_far_gap) return {Real(0), k_far_value};
  return exp(-d);
}

template <class Real>
exp_sum<Real> exp_row::with_errors(const moments<Real>& row) const {
  const basic_enclosure<Real> fixed = fixed_error<Real>(allowance_.rescales, allowance_.slack);
  const double underflow = underflow_units(allowance_) * static_cast<double>(finite_) * k_eta;
  const basic_enclosure<Real> rho_tail = fixed * row.tail + (1.0 + fixed) * row.tilt + underflow;
  const basic_enclosure<Real> rho_sum = rho_tail + fixed;  // the held-out maximum: d = 0
  const basic_enclosure<Real> sum = 1.0 + row.tail;
  // gamma_h = h u / (1 - h u); numerator and denominator are exact doubles.
  const double hu = static_cast<double>(allowance_.chain) * k_unit;
  const basic_enclosure<Real> gamma = basic_enclosure<Real>(hu) / basic_enclosure<Real>(1 - hu);
  const basic_enclosure<Real> tail_error = (gamma * (row.tail + rho_tail) + rho_tail) / sum;  // Delta_r / (1 + r)
  const basic_enclosure<Real> sum_error = (gamma * (sum + rho_sum) + rho_sum) / sum;
  const basic_enclosure<Real> log_sum = log1p(row.tail);
  const basic_enclosure<Real> inside = stated_sums::now().log_of_sum ? sum_error : tail_error;
  return {row.tail, sum_error, log_sum, -(1 + k_log_error) * log1p(-inside) + k_log_error * log_sum + k_eta};
}

template <class Real>
basic_enclosure<Real> exponential_error(const basic_enclosure<Real>& gap) {
  static const basic_enclosure<Real> fixed = fixed_error<Real>(2, 0);
  const basic_enclosure<Real> capped = gap.value < k_exp_range ? gap : basic_enclosure<Real>(k_exp_range);
  return fixed + (1.0 + fixed) * expm1(k_unit * capped);
}

#define WARPCHECK_INSTANTIATE(Real)                                         \
  template const exp_sum<Real>& exp_row::sum<Real>() const;                 \
  template basic_enclosure<Real> exp_row::gap<Real>(int64_t) const;         \
  template basic_enclosure<Real> exp_row::exponential<Real>(int64_t) const; \
  template basic_enclosure<Real> exponential_error<Real>(const basic_enclosure<Real>&);
WARPCHECK_INSTANTIATE(double)
WARPCHECK_INSTANTIATE(mp50)
WARPCHECK_INSTANTIATE(mp100)
#undef WARPCHECK_INSTANTIATE

}  // namespace warpcheck::reference
