#include "reference/softmax.hpp"

#include <cmath>
#include <limits>

#include "reference/numerics/multiprecision.hpp"

namespace warpcheck::reference {

// The claim about one element at each precision, for decide().
struct softmax_row::element {
  const softmax_row& row;
  int64_t index;
  claim<double> at_double() const { return row.evaluate<double>(index); }
  claim<mp50> at_50() const { return row.evaluate<mp50>(index); }
  claim<mp100> at_100() const { return row.evaluate<mp100>(index); }
};

softmax_row::softmax_row(std::span<const double> x, dtype output, precision policy)
    : row_(x, softmax_budget(static_cast<int64_t>(x.size()))), output_(output), policy_(policy) {}

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
claim<Real> softmax_row::evaluate(int64_t i) const {
  using number = basic_enclosure<Real>;
  const exp_sum<Real>& sum = row_.sum<Real>();
  const number g = row_.exponential<Real>(i) / (1.0 + sum.tail);
  const number tau = exponential_error<Real>(row_.gap<Real>(i));
  // (1 + tau)(1 + u)/(1 - D) - 1 = (tau + u + tau u + D)/(1 - D): no cancellation.
  const number left = 1.0 - sum.sum_error;
  const number relative = (tau + k_unit + tau * k_unit + sum.sum_error) / left;
  return {g, g * relative + 4 * k_eta / (left * left)};
}

judgement softmax_row::judge(int64_t i, double actual) const {
  if (const auto value = fixed(i)) return judge_fixed(output_, actual, *value);
  return decide(output_, actual, policy_, element{*this, i});
}

double softmax_row::expected(int64_t i) const {
  if (const auto value = fixed(i)) return *value;
  return evaluate<double>(i).exact.value;
}

double softmax_row::bound(int64_t i) const {
  if (fixed(i)) return 0;
  return output_bound(output_, evaluate<double>(i)).upper();
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
