#include "reference/log_softmax/log_softmax.hpp"

#include <cmath>
#include <limits>

#include "reference/numerics/exp_row_steps.hpp"
#include "reference/numerics/multiprecision.hpp"

namespace warpcheck::reference {

log_softmax_row::log_softmax_row(std::span<const double> x, dtype output, precision policy)
    : row_(x, softmax_allowance(static_cast<int64_t>(x.size()))), output_(output), policy_(policy) {}

std::optional<double> log_softmax_row::contract_value(int64_t i) const {
  if (row_.kind() != row_kind::finite) return std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(row_.x()[static_cast<size_t>(i)])) return -std::numeric_limits<double>::infinity();
  if (row_.finite_count() == 1) return 0.0;
  return std::nullopt;
}

template <class Real>
bounded_value<Real> log_softmax_row::evaluate(int64_t i) const {
  const exp_sum<Real>& sum = row_.sum<Real>();
  const basic_enclosure<Real> d = row_.gap<Real>(i);
  const basic_enclosure<Real> z = -d - sum.log_sum;
  return {z, (k_unit * d + sum.log_error) * (1 + k_unit) + k_unit * abs(z)};
}

template bounded_value<double> log_softmax_row::evaluate<double>(int64_t) const;
template bounded_value<mp50> log_softmax_row::evaluate<mp50>(int64_t) const;
template bounded_value<mp100> log_softmax_row::evaluate<mp100>(int64_t) const;

judgement log_softmax_row::judge(int64_t i, double actual) const {
  if (const auto value = contract_value(i)) return judge_fixed(output_, actual, *value);
  return decide<mp50, mp100>(output_, actual, policy_, *this, i);
}

double log_softmax_row::expected(int64_t i) const {
  if (const auto value = contract_value(i)) return *value;
  return evaluate<double>(i).exact.value;
}

double log_softmax_row::bound(int64_t i) const {
  if (contract_value(i)) return 0;
  return output_bound(output_, evaluate<double>(i)).upper();
}

std::vector<bound_term> log_softmax_row::bound_terms(int64_t i) const {
  if (contract_value(i)) return {};
  const double z = expected(i);
  return with_output_rounding(
      output_, z,
      {{"the difference from the maximum", k_unit * row_.gap<double>(i).value * (1 + k_unit)},
       {"the logarithm of the sum of the exponentials", row_.sum<double>().log_error.value * (1 + k_unit)},
       {"the last subtraction", k_unit * std::fabs(z)}});
}

std::vector<model_step> log_softmax_row::steps(int64_t i) const {
  std::vector<model_step> steps = exp_row_steps(row_, i);
  const float gap = static_cast<float>(steps[1].plain), log = std::log(static_cast<float>(steps[3].plain));
  steps.push_back({"its logarithm", row_.sum<double>().log_sum.value, log});
  steps.push_back({"difference", expected(i), round_to(output_, gap - log)});
  return steps;
}

std::string log_softmax_row::expected_text(int64_t i) const {
  if (const auto value = contract_value(i)) return std::isnan(*value) ? "nan" : *value == 0 ? "0" : "-inf";
  return evaluate<mp50>(i).exact.value.str(20);
}

}  // namespace warpcheck::reference
