#include "reference/matmul/matmul.hpp"

#include <cmath>
#include <stdexcept>

#include "reference/matmul/matmul_parts.hpp"
#include "reference/numerics/exact_sum.hpp"
#include "reference/numerics/logistic.hpp"
#include "reference/numerics/multiprecision.hpp"
#include "reference/sigmoid/sigmoid.hpp"

namespace warpcheck::reference {
namespace {

constexpr double k_overflow = 0x1p128;

// The class of a sum of exact terms: NaN or an infinity.
struct term_class {
  bool nan = false, plus = false, minus = false;

  void add(double term) {
    nan = nan || std::isnan(term);
    if (std::isinf(term)) (term > 0 ? plus : minus) = true;
  }
  // Nothing if all terms are finite.
  std::optional<double> value() const {
    if (nan || (plus && minus)) return std::numeric_limits<double>::quiet_NaN();
    if (plus || minus) return plus ? k_infinity : -k_infinity;
    return std::nullopt;
  }
};

template <class Real>
basic_enclosure<Real> exact_value(const exact_sum& sum) {
  const Real value = Real(Real(sum.units().str()) * pow(Real(2), -1074));
  return {value, 8 * arithmetic<Real>::unit * magnitude(value)};  // the text, the power and the product are rounded
}

}  // namespace

// Sum a_l b_l, Sum abs(a_l b_l), and the contribution of small operands to N.
template <class Real>
struct matmul_element::sums {
  basic_enclosure<Real> value, absolute, small;
};

matmul_element::matmul_element(const matmul_setting& setting, const matmul_operands& operands)
    : setting_(setting), operands_(operands) {
  if (operands.a.size() != operands.b.size())
    throw std::invalid_argument("b has " + std::to_string(operands.b.size()) + " elements, must have those of a, " +
                                std::to_string(operands.a.size()));
  if (setting.alpha == 0) operands_.a = operands_.b = {};
  if (setting.beta == 0) operands_.c = 0;
  if (!setting.has_bias) operands_.bias = 0;
  chains_ = chains_of(setting.arithmetic, static_cast<int64_t>(operands_.a.size()), setting.slices, setting.promotion,
                      setting.halves);
  classify();
}

void matmul_element::classify() {
  term_class products;
  double absolute = 0;
  for (size_t l = 0; l < operands_.a.size(); ++l) {
    const double product = operands_.a[l] * operands_.b[l];
    products.add(product);
    if (std::isfinite(product)) absolute += std::fabs(product);
  }
  const auto finite_size = [](double x) { return std::isfinite(x) ? std::fabs(x) : 0; };
  // alpha P; if alpha is infinite, the sign of P decides.
  const bool by_sign = std::isinf(setting_.alpha) && !products.value();
  const std::optional<double> of_products = by_sign ? sign_of_sum() : products.value().value_or(0);
  const bool is_plain = std::isfinite(setting_.alpha) && !products.value();
  term_class terms;
  terms.add(is_plain ? 0 : setting_.alpha * of_products.value_or(1));
  const double scaled_c = setting_.beta * operands_.c;
  terms.add(scaled_c);
  terms.add(operands_.bias);
  const double grown = 1 + dot_error<double>(setting_.arithmetic, chains_).upper();
  const double whole = (finite_size(setting_.alpha) * absolute + finite_size(scaled_c) + finite_size(operands_.bias)) *
                       (1 + 4 * k_unit);  // the result is rounded three times after the sum
  may_overflow_ = (1 + part_growth(setting_.arithmetic)) * absolute * grown * k_inflate >= k_overflow ||
                  whole * grown * k_inflate >= k_overflow;
  if (setting_.sigmoid) may_overflow_ = may_overflow_ || whole * grown + finite_size(setting_.mu) >= k_overflow;
  fixed_ = terms.value();
  std::optional<double> argument = fixed_;
  if (setting_.sigmoid && !argument && !(std::isfinite(setting_.mu) && std::isfinite(setting_.sigma)))
    argument = beside_mu();
  if (setting_.sigmoid && argument)
    fixed_ = sigmoid_model(setting_.mu, setting_.sigma, setting_.output).contract_value(*argument);
  // Rounding decides the sign of the factor of an infinity, so either infinity or NaN is possible.
  const bool is_open = (!of_products && !terms.nan) || (setting_.sigmoid && !argument && std::isinf(setting_.sigma));
  if (!is_open) return;
  may_overflow_ = true;
  fixed_ = std::numeric_limits<double>::quiet_NaN();
}

// 0 if every product is a zero.
std::optional<double> matmul_element::sign_of_sum() const {
  const sums<double> s = sum<double>();
  if (s.absolute.value == 0) return 0;
  const auto error =
      dot_error<double>(setting_.arithmetic, chains_) * s.absolute +
      dot_absolute_error<double>(setting_.arithmetic, 1, static_cast<int64_t>(operands_.a.size()), s.small);
  if (std::fabs(s.value.value) <= s.value.radius + error.upper()) return std::nullopt;
  return std::copysign(1, s.value.value);
}

// A number on the side of mu on which v lies; any number if the scalars alone decide.
std::optional<double> matmul_element::beside_mu() const {
  if (!std::isfinite(setting_.mu) || std::isnan(setting_.sigma)) return 0;
  const bounded_value<double> v = linear<double>();
  const double away = v.exact.value - setting_.mu, error = v.exact.radius + v.bound.upper();
  if (std::fabs(away) <= error && error > 0) return std::nullopt;
  return setting_.mu + (away == 0 ? 0 : std::copysign(std::fabs(setting_.mu) + 1, away));
}

template <class Real>
matmul_element::sums<Real> matmul_element::sum() const {
  double value = 0, absolute = 0, small = 0;
  for (size_t l = 0; l < operands_.a.size(); ++l) {
    // Products of f32 values are exact in double.
    const double product = operands_.a[l] * operands_.b[l];
    value += product;
    absolute += std::fabs(product);
    small += small_operand_error(setting_.arithmetic, operands_.a[l], operands_.b[l]);
  }
  // Each sum errs by at most this fraction of the sum of absolute values (Higham, section 4.2), with all terms rounded
  // twice.
  const double part = (static_cast<double>(operands_.a.size()) + 8) * k_double_unit * k_inflate;
  const basic_enclosure<Real> small_sum{Real(small), 2 * small * part};
  if constexpr (std::is_same_v<Real, double>) {
    return {{value, 2 * absolute * part}, {absolute, 2 * absolute * part}, small_sum};
  } else {
    exact_sum exact, exact_absolute;
    for (size_t l = 0; l < operands_.a.size(); ++l) {
      const double product = operands_.a[l] * operands_.b[l];
      exact.add(product);
      exact_absolute.add(std::fabs(product));
    }
    return {exact_value<Real>(exact), exact_value<Real>(exact_absolute), small_sum};
  }
}

template <class Real>
bounded_value<Real> matmul_element::linear() const {
  using number = basic_enclosure<Real>;
  const sums<Real> s = sum<Real>();
  const auto k = static_cast<int64_t>(operands_.a.size());
  const number scaled_c = number(setting_.beta) * operands_.c;
  const number v = number(setting_.alpha) * s.value + scaled_c + number(operands_.bias);
  const auto [after_sum, after_c, after_bias] = roundings_of(setting_);
  const number error = dot_error<Real>(setting_.arithmetic, chains_);
  const number grown = power_growth<Real>(k_unit, after_sum);
  number bound = (error + grown + error * grown) * (number(std::fabs(setting_.alpha)) * s.absolute);
  bound = bound + power_growth<Real>(k_unit, after_c) * abs(scaled_c);
  bound = bound + number(after_bias * k_unit) * std::fabs(operands_.bias);
  bound = bound + (1.0 + grown) * dot_absolute_error<Real>(setting_.arithmetic, setting_.alpha, k, s.small);
  return {v, bound};
}

template <class Real>
bounded_value<Real> matmul_element::evaluate(int64_t) const {
  using number = basic_enclosure<Real>;
  const auto [v, bound] = linear<Real>();
  if (!setting_.sigmoid) return {v, bound};
  const number z = (v - number(setting_.mu)) * setting_.sigma;
  const number argument_error = (1.0 + power_growth<Real>(k_unit, 2)) * number(std::fabs(setting_.sigma)) * bound +
                                logistic_argument_error<Real>(z);
  // Beyond 0.4 the bound of the quotient is weaker than the range [0, 1] of a sigmoid.
  if (argument_error.upper() <= 0.4) return logistic<Real>(z, argument_error);
  const number y = logistic<Real>(z, number(0)).exact;
  return {y, (y.value >= 0.5 ? y : 1.0 - y) + 4 * k_unit};
}

template bounded_value<double> matmul_element::evaluate<double>(int64_t) const;
template bounded_value<mp50> matmul_element::evaluate<mp50>(int64_t) const;
template bounded_value<mp100> matmul_element::evaluate<mp100>(int64_t) const;

judgement matmul_element::judge(double actual, precision policy) const {
  if (may_overflow_) {
    // An infinity or NaN, or the sigmoid of one.
    const bool overflowed =
        !std::isfinite(actual) || (setting_.sigmoid && (actual == 0.5 || actual == 1 || actual == 0));
    if (overflowed) return {.accepted = true, .bound = bound(), .expected = expected()};
  }
  if (fixed_) return judge_fixed(setting_.output, actual, *fixed_);
  return decide<mp50, mp100>(setting_.output, actual, policy, *this, 0);
}

double matmul_element::expected() const { return fixed_ ? *fixed_ : evaluate<double>(0).exact.value; }

double matmul_element::bound() const {
  if (fixed_) return 0;
  return output_bound(setting_.output, evaluate<double>(0)).upper();
}

std::string matmul_element::expected_text() const {
  if (fixed_) return mp50(*fixed_).str(20);
  return evaluate<mp50>(0).exact.value.str(20);
}

float chained_value(const matmul_setting& setting, const matmul_operands& operands) {
  const auto alpha = static_cast<float>(setting.alpha), beta = static_cast<float>(setting.beta);
  const auto k = static_cast<int64_t>(alpha == 0 ? 0 : operands.a.size());
  const bool chained = !on_tensor_cores(setting.arithmetic);
  const auto chain = [&](int64_t begin, int64_t end) {
    float sum = 0;
    for (int64_t l = begin; l < end; ++l)
      sum = std::fmaf(static_cast<float>(operands.a[l]), static_cast<float>(operands.b[l]), sum);
    return sum;
  };
  // The sum from +0 of pieces of at most `length` products.
  const auto added = [](int64_t begin, int64_t end, int64_t length, const auto& piece) {
    float sum = 0;
    for (int64_t l = begin; l < end; l += length) sum += piece(l, std::min(end, l + length));
    return sum;
  };
  const bool is_16_bit = setting.arithmetic == dot_arithmetic::f16 || setting.arithmetic == dot_arithmetic::bf16;
  const auto short_chains = [&](int64_t begin, int64_t end) { return added(begin, end, k_16_bit_chain, chain); };
  const auto promoted = [&](int64_t begin, int64_t end) {
    return is_16_bit ? added(begin, end, setting.promotion, short_chains) : added(begin, end, setting.promotion, chain);
  };
  float sum = 0;
  for (int64_t slice = 0; slice < setting.slices.count; ++slice) {
    const int64_t begin = slice * setting.slices.length, end = std::min(k, begin + setting.slices.length);
    const float of_slice = chained ? chain(begin, end) : promoted(begin, end);
    sum = slice == 0 ? of_slice : sum + of_slice;
  }
  float v = alpha * sum;
  if (beta != 0) v = std::fmaf(beta, static_cast<float>(operands.c), v);
  if (setting.has_bias) v += static_cast<float>(operands.bias);
  return v;
}

}  // namespace warpcheck::reference
