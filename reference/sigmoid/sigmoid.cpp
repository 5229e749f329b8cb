#include "reference/sigmoid/sigmoid.hpp"

#include <cmath>
#include <limits>

#include "reference/numerics/logistic.hpp"
#include "reference/numerics/multiprecision.hpp"
#include "reference/numerics/two_sum.hpp"

namespace warpcheck::reference {
namespace {

// One element of the model, in the form that decide() needs.
struct element {
  const sigmoid_model& model;
  double x;
  template <class Real>
  bounded_value<Real> evaluate(int64_t) const {
    return model.evaluate<Real>(x);
  }
};

}  // namespace

std::optional<double> sigmoid_model::contract_value(double x) const {
  // Rounding twice crosses no threshold: a difference of f32 values that needs more than 53 bits has one operand below
  // 2^-28 of the other, and then lies far from the odd multiple of 2^103 where overflow begins.
  const double shift = round_to(dtype::f32, x - mu_);
  // In double a product of two finite f32 values neither overflows nor vanishes.
  const double z = shift * sigma_;
  if (std::isnan(z)) return z;
  if (std::isinf(z)) return z > 0 ? 1.0 : 0.0;
  if (z == 0) return 0.5;
  return std::nullopt;
}

template <class Real>
bounded_value<Real> sigmoid_model::evaluate(double x) const {
  using number = basic_enclosure<Real>;
  const exact_difference shift(x, mu_);
  const number z = (number(shift.high) + shift.low) * sigma_;
  return logistic<Real>(z, logistic_argument_error<Real>(z));
}

template bounded_value<double> sigmoid_model::evaluate<double>(double) const;
template bounded_value<mp50> sigmoid_model::evaluate<mp50>(double) const;
template bounded_value<mp100> sigmoid_model::evaluate<mp100>(double) const;

judgement sigmoid_model::judge(double x, double actual) const {
  if (const auto value = contract_value(x)) return judge_fixed(output_, actual, *value);
  return decide<mp50, mp100>(output_, actual, policy_, element{*this, x}, 0);
}

double sigmoid_model::expected(double x) const {
  if (const auto value = contract_value(x)) return *value;
  return evaluate<double>(x).exact.value;
}

double sigmoid_model::bound(double x) const {
  if (contract_value(x)) return 0;
  return output_bound(output_, evaluate<double>(x)).upper();
}

std::vector<bound_term> sigmoid_model::bound_terms(double x) const {
  if (contract_value(x)) return {};
  const exact_difference shift(x, mu_);
  const basic_enclosure<double> z = (basic_enclosure<double>(shift.high) + shift.low) * sigma_;
  const double y = expected(x), argument = std::expm1(logistic_argument_error<double>(z).value);
  const double t = k_exp_error + (1 + k_exp_error) * argument, quotient = 2 * k_unit / (1 - k_unit);
  // 1 - y without cancellation.
  const double rest = z.value > 0 ? std::exp(-z.value) * y : 1 - y, spread = rest * t / (1 - t);
  const double lost = may_overflow(z, logistic_argument_error<double>(z)) ? y : 0;
  return with_output_rounding(output_, y,
                              {{"the addition and the division", y * quotient},
                               {"the exponential and its argument", y * (spread + quotient * spread)},
                               {"underflow, and overflow of the exponential where it is stated", 4 * k_eta + lost}});
}

std::vector<model_step> sigmoid_model::steps(double x, double actual) const {
  const double z = (x - mu_) * sigma_;
  const float plain_z = (static_cast<float>(x) - static_cast<float>(mu_)) * static_cast<float>(sigma_),
              e = std::exp(-plain_z);
  // The steps before, backwards from a value between 0 and 1.
  const double y = actual > 0 && actual < 1 ? actual : std::numeric_limits<double>::quiet_NaN();
  return {{"argument z", z, plain_z, std::log(y / (1 - y))},
          {"e^-z", std::exp(-z), e, 1 / y - 1},
          {"1 + e^-z", 1 + std::exp(-z), 1 + e, 1 / y},
          {"quotient", expected(x), round_to(output_, 1 / (1 + e)), actual}};
}

std::string sigmoid_model::expected_text(double x) const {
  if (const auto value = contract_value(x)) return mp50(*value).str(20);
  return evaluate<mp50>(x).exact.value.str(20);
}

}  // namespace warpcheck::reference
