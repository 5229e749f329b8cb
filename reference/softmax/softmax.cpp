#include "reference/softmax/softmax.hpp"

#include <cmath>
#include <limits>

#include "reference/numerics/exp_row_steps.hpp"
#include "reference/numerics/multiprecision.hpp"

namespace warpcheck::reference {

softmax_row::softmax_row(std::span<const double> x, dtype output, precision policy)
    : row_(x, softmax_allowance(static_cast<int64_t>(x.size()))), output_(output), policy_(policy) {}

std::optional<double> softmax_row::fixed(int64_t i) const {
  if (row_.kind() != row_kind::finite) return std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(row_.x()[static_cast<size_t>(i)])) return 0.0;
  if (row_.finite_count() == 1) return 1.0;
  return std::nullopt;
}

std::optional<double> softmax_row::contract_value(int64_t i) const {
  if (const auto value = fixed(i)) return value;
  if (row_.max_count() != row_.finite_count() || row_.max_count() > (int64_t{1} << 24)) return std::nullopt;
  const float share = 1.0f / static_cast<float>(row_.max_count());
  return round_to(output_, static_cast<double>(share));
}

template <class Real>
bounded_value<Real> softmax_row::evaluate(int64_t i) const {
  using number = basic_enclosure<Real>;
  const exp_sum<Real>& sum = row_.sum<Real>();
  const number g = row_.exponential<Real>(i) / (1.0 + sum.tail);
  const number tau = exponential_error<Real>(row_.gap<Real>(i));
  // (1 + tau)(1 + u)/(1 - D) - 1 = (tau + u + tau u + D)/(1 - D): no cancellation.
  const number left = 1.0 - sum.sum_error;
  const number relative = (tau + k_unit + tau * k_unit + sum.sum_error) / left;
  return {g, g * relative + 4 * k_eta / (left * left)};
}

template bounded_value<double> softmax_row::evaluate<double>(int64_t) const;
template bounded_value<mp50> softmax_row::evaluate<mp50>(int64_t) const;
template bounded_value<mp100> softmax_row::evaluate<mp100>(int64_t) const;

judgement softmax_row::judge(int64_t i, double actual) const {
  if (const auto value = fixed(i)) return judge_fixed(output_, actual, *value);
  return decide<mp50, mp100>(output_, actual, policy_, *this, i);
}

double softmax_row::expected(int64_t i) const {
  if (const auto value = fixed(i)) return *value;
  return evaluate<double>(i).exact.value;
}

double softmax_row::bound(int64_t i) const {
  if (fixed(i)) return 0;
  return output_bound(output_, evaluate<double>(i)).upper();
}

std::vector<bound_term> softmax_row::bound_terms(int64_t i) const {
  if (fixed(i)) return {};
  const double g = expected(i), tau = exponential_error<double>(row_.gap<double>(i)).value;
  const double sum_error = row_.sum<double>().sum_error.value, left = 1 - sum_error;
  return with_output_rounding(output_, g,
                              {{"the exponential: its argument, expf, two rescalings", g * tau / left},
                               {"the division", g * (k_unit + tau * k_unit) / left},
                               {"the sum of the exponentials", g * sum_error / left},
                               {"underflow", 4 * k_eta / (left * left)}});
}

std::vector<model_step> softmax_row::steps(int64_t i) const {
  std::vector<model_step> steps = exp_row_steps(row_, i);
  const auto exponential = static_cast<float>(steps[2].plain), sum = static_cast<float>(steps[3].plain);
  steps.push_back({"quotient", expected(i), round_to(output_, exponential / sum)});
  return steps;
}

double softmax_row::sum_of_bounds() const {
  double sum = 0;
  for (int64_t i = 0; i < size(); ++i) sum += bound(i);
  return sum * (1 + (static_cast<double>(size()) + 2) * 2 * k_double_unit);
}

std::string softmax_row::expected_text(int64_t i) const {
  if (const auto value = fixed(i)) return std::isnan(*value) ? "nan" : *value == 0 ? "0" : "1";
  return evaluate<mp50>(i).exact.value.str(20);
}

}  // namespace warpcheck::reference
