#include "reference/logsumexp/logsumexp.hpp"

#include <cmath>
#include <limits>

#include "reference/numerics/exp_row_steps.hpp"
#include "reference/numerics/multiprecision.hpp"

namespace warpcheck::reference {

logsumexp_row::logsumexp_row(std::span<const double> x, dtype output, precision policy)
    : row_(x, logsumexp_allowance(static_cast<int64_t>(x.size()))), output_(output), policy_(policy) {}

std::optional<double> logsumexp_row::contract_value() const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (row_.kind()) {
    case row_kind::empty:
    case row_kind::minus_infinity: return -infinity;
    case row_kind::has_nan: return std::numeric_limits<double>::quiet_NaN();
    case row_kind::has_infinity: return infinity;
    case row_kind::finite: break;
  }
  if (row_.finite_count() == 1) return round_to(output_, row_.max());
  return std::nullopt;
}

template <class Real>
bounded_value<Real> logsumexp_row::evaluate(int64_t) const {
  const exp_sum<Real>& sum = row_.sum<Real>();
  const basic_enclosure<Real> y = row_.max() + sum.log_sum;
  return {y, sum.log_error * (1 + k_unit) + k_unit * abs(y)};
}

template bounded_value<double> logsumexp_row::evaluate<double>(int64_t) const;
template bounded_value<mp50> logsumexp_row::evaluate<mp50>(int64_t) const;
template bounded_value<mp100> logsumexp_row::evaluate<mp100>(int64_t) const;

judgement logsumexp_row::judge(double actual) const {
  if (const auto value = contract_value()) {
    // The result for a lone -0 is x itself, -0, or m + log1p(0), +0. The contract requires x and prescribes the
    // formula, so both pass.
    return judge_fixed(output_, actual, *value == 0 ? std::copysign(0.0, actual) : *value);
  }
  return decide<mp50, mp100>(output_, actual, policy_, *this, 0);
}

double logsumexp_row::expected() const {
  if (const auto value = contract_value()) return *value;
  return evaluate<double>().exact.value;
}

double logsumexp_row::bound() const {
  if (contract_value()) return 0;
  return output_bound(output_, evaluate<double>()).upper();
}

std::vector<bound_term> logsumexp_row::bound_terms() const {
  if (contract_value()) return {};
  const double y = expected();
  return with_output_rounding(
      output_, y,
      {{"the logarithm of the sum of the exponentials", row_.sum<double>().log_error.value * (1 + k_unit)},
       {"adding the maximum", k_unit * std::fabs(y)}});
}

std::vector<model_step> logsumexp_row::steps() const {
  std::vector<model_step> steps = exp_row_steps(row_, row_.argmax());
  steps.erase(steps.begin() + 1, steps.begin() + 3);
  const float maximum = static_cast<float>(steps[0].plain), log = std::log(static_cast<float>(steps[1].plain));
  steps.push_back({"its logarithm", row_.sum<double>().log_sum.value, log});
  steps.push_back({"sum of both", expected(), round_to(output_, maximum + log)});
  return steps;
}

std::string logsumexp_row::expected_text() const {
  if (const auto value = contract_value()) return mp50(*value).str(20);
  return evaluate<mp50>().exact.value.str(20);
}

}  // namespace warpcheck::reference
