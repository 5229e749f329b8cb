#include "reference/matmul/matmul_parts.hpp"

#include <cmath>
#include <limits>

#include "reference/numerics/logistic.hpp"
#include "reference/numerics/stated_sums.hpp"

namespace warpcheck::reference {
namespace {

double growth(double x, int64_t n) { return power_growth<double>(x, n).value; }

// Sums over the products: their sizes, and the contribution of small operands to N.
struct sums {
  double value = 0, sizes = 0, small = 0;
};

sums sums_of(const matmul_setting& s, const matmul_operands& o) {
  sums all;
  for (size_t l = 0; l < o.a.size(); ++l) {
    all.value += o.a[l] * o.b[l];
    all.sizes += std::fabs(o.a[l] * o.b[l]);
    all.small += small_operand_error(s.arithmetic, o.a[l], o.b[l]);
  }
  return all;
}

// E times the sizes: the products that a split drops, the chain of tensor-core steps, the f32 additions after them.
std::vector<bound_term> sum_terms(const matmul_setting& s, int64_t k, double sizes) {
  const dot_chains chains = chains_of(s.arithmetic, k, s.slices, s.promotion, s.halves);
  const double whole = dot_error<double>(s.arithmetic, chains).value;
  if (!on_tensor_cores(s.arithmetic)) return {{"additions of products in f32, one after another", whole * sizes}};
  const double chi = 1 + part_growth(s.arithmetic), alone = growth(k_unit, chains.additions);
  const double steps = growth(step_kappa(s.arithmetic) * k_unit, chains.steps), added = alone + steps * alone;
  std::vector<bound_term> terms = {{"tensor-core steps, one after another", chi * steps * sizes},
                                   {"additions of their sums in f32", chi * added * sizes}};
  if (part_products(s.arithmetic) > 1)
    terms.push_back({"what splitting the operands leaves out", (whole - chi * (steps + added)) * sizes});
  return terms;
}

// The parts of the bound of v, before a sigmoid.
std::vector<bound_term> linear_terms(const matmul_setting& s, const matmul_operands& o) {
  const auto k = static_cast<int64_t>(o.a.size());
  const sums all = sums_of(s, o);
  const auto [after_sum, after_c, after_bias] = roundings_of(s);
  const double sizes = std::fabs(s.alpha) * all.sizes, grown = growth(k_unit, after_sum);
  std::vector<bound_term> terms = sum_terms(s, k, sizes);
  double of_sum = 0;
  for (const bound_term& t : terms) of_sum += t.value;
  terms.push_back({"what follows the sum: alpha, beta c, bias", grown * (sizes + of_sum) +
                                                                    growth(k_unit, after_c) * std::fabs(s.beta * o.c) +
                                                                    after_bias * k_unit * std::fabs(o.bias)});
  terms.push_back({"underflow and small operands",
                   (1 + grown) * dot_absolute_error<double>(s.arithmetic, s.alpha, k, enclosure(all.small)).value});
  return terms;
}

// The parts of the bound of the sigmoid of v, which may err by `of_v`.
std::vector<bound_term> sigmoid_terms(const matmul_setting& s, const matmul_operands& o, double of_v, double bound) {
  using number = basic_enclosure<double>;
  const number z = (number(s.alpha * sums_of(s, o).value + s.beta * o.c + o.bias) - number(s.mu)) * s.sigma,
               own = logistic_argument_error<double>(z);
  const number from_v = (1.0 + power_growth<double>(k_unit, 2)) * number(std::fabs(s.sigma)) * number(of_v);
  if ((from_v + own).upper() > 0.4) return {{"v errs by so much that any value between 0 and 1 passes", bound}};
  const auto bound_of = [&](const number& argument) { return logistic<double>(z, argument).bound.value; };
  const double quotient = bound_of(number(0)), argument = bound_of(own), all = bound_of(from_v + own);
  return {{"the exponential, the addition and the division", quotient},
          {"the argument of the sigmoid", argument - quotient},
          {"what v may err by", all - argument}};
}

// v of a result, if the sigmoid can be undone.
double before_sigmoid(const matmul_setting& s, double y) {
  if (!s.sigmoid) return y;
  return y > 0 && y < 1 && s.sigma != 0 ? s.mu + std::log(y / (1 - y)) / s.sigma
                                        : std::numeric_limits<double>::quiet_NaN();
}

double single(double x) { return static_cast<double>(static_cast<float>(x)); }

}  // namespace

matmul_roundings roundings_of(const matmul_setting& s) {
  const auto is_rounded = [](double factor) {
    int exponent = 0;
    return factor != 0 && std::fabs(std::frexp(factor, &exponent)) != 0.5;
  };
  const int after_bias = s.has_bias ? 1 : 0, after_addition = after_bias + (s.beta != 0 ? 1 : 0);
  // Kernels with another plan than ours need not add beta c in one operation.
  const bool is_c_rounded = is_rounded(s.beta) && stated_sums::now().any_order;
  return {after_addition + (is_rounded(s.alpha) ? 1 : 0), after_addition + (is_c_rounded ? 1 : 0), after_bias};
}

std::vector<bound_term> matmul_bound_terms(const matmul_setting& s, const matmul_operands& given) {
  const matmul_element element(s, given);
  if (element.contract_value()) return {};
  matmul_operands o = given;
  if (s.alpha == 0) o.a = o.b = {};
  if (s.beta == 0) o.c = 0;
  if (!s.has_bias) o.bias = 0;
  std::vector<bound_term> terms = linear_terms(s, o);
  double of_v = 0;
  for (const bound_term& t : terms) of_v += t.value;
  if (s.sigmoid) terms = sigmoid_terms(s, o, of_v, element.evaluate<double>(0).bound.value);
  return with_output_rounding(s.output, element.expected(), std::move(terms));
}

std::vector<model_step> matmul_steps(const matmul_setting& s, const matmul_operands& o, double actual) {
  const double c = s.beta == 0 ? 0 : s.beta * o.c, bias = s.has_bias ? o.bias : 0, v = before_sigmoid(s, actual);
  double exact = sums_of(s, o).value;
  auto plain = static_cast<double>(chained_value({.slices = {1, static_cast<int64_t>(o.a.size())}}, {o.a, o.b}));
  std::vector<model_step> steps = {{"sum of the products", exact, plain, (v - c - bias) / s.alpha}};
  const auto next = [&](bool is_taken, const char* what, double by_hand, double exactly, double implied) {
    plain = single(by_hand);
    exact = exactly;
    if (is_taken) steps.push_back({what, exact, plain, implied});
  };
  next(s.alpha != 1, "times alpha", s.alpha * plain, s.alpha * exact, v - c - bias);
  next(s.beta != 0, "with beta c", plain + c, exact + c, v - bias);
  next(s.has_bias, "with the bias", plain + bias, exact + bias, v);
  if (s.sigmoid) {
    next(true, "argument of the sigmoid", (plain - s.mu) * s.sigma, (exact - s.mu) * s.sigma, (v - s.mu) * s.sigma);
    plain = single(1 / (1 + std::exp(-plain)));
  }
  steps.push_back({"result", matmul_element(s, o).expected(), round_to(s.output, plain), actual});
  return steps;
}

}  // namespace warpcheck::reference
