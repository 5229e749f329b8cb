// matmul in steps: products, their sum, alpha, beta c, bias, the sigmoid. Bounds: reference/matmul/matmul.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/matmul/matmul_problem.hpp"
#include "properties/rows/explanation_support.hpp"
#include "reference/matmul/matmul_parts.hpp"
#include "reference/numerics/float_value.hpp"

namespace warpcheck {
namespace {

using namespace engine;
using reference::dot_arithmetic;

// Multiplications that a search over elements may take.
constexpr int64_t k_most_products = int64_t{1} << 24;

// An element of C with what it is made of.
struct element {
  int64_t i, j;
  doubles a, b;  // the row of op(A) and the column of op(B)
  double c = 0, bias = 0;

  element(const matmul_problem& p, int64_t row, int64_t col) : i(row), j(col) {
    for (int64_t l = 0; l < p.k(); ++l) {
      a.push_back(p.a.value(i, l));
      b.push_back(p.b.value(l, j));
    }
    if (!p.c.bits.empty()) c = p.c.value(i, j);
    if (p.has_bias()) bias = p.bias.value(0, j);
  }
  reference::matmul_operands operands() const { return {a, b, c, bias}; }
};

doubles products_of(const element& e, double alpha) {
  doubles terms;
  for (size_t l = 0; l < e.a.size(); ++l) terms.push_back(alpha * e.a[l] * e.b[l]);
  return terms;
}

std::string name_of(dot_arithmetic a) {
  switch (a) {
    case dot_arithmetic::ieee: return "f32, one FMA after another";
    case dot_arithmetic::f16: return "f16 products on tensor cores";
    case dot_arithmetic::bf16: return "bf16 products on tensor cores";
    case dot_arithmetic::tf32x3: return "f32 as three products of two tf32 parts";
    case dot_arithmetic::bf16x6: return "f32 as six products of three bf16 parts";
    case dot_arithmetic::tf32x1: return "f32 as one product of tf32 parts";
    case dot_arithmetic::bf16x1: return "f32 as one product of bf16 parts";
  }
  return "";
}

// v of what reached the output, where the sigmoid can be undone.
double before_sigmoid(const reference::matmul_setting& s, double y) {
  if (!s.sigmoid) return y;
  return y > 0 && y < 1 && s.sigma != 0 ? s.mu + std::log(y / (1 - y)) / s.sigma : std::nan("");
}

// ---- the explanation ----

std::string formula_of(const matmul_problem& p, const element& e) {
  std::string v = fmt::format("{}the sum of a[{},l] b[l,{}] over l = 0 to {}", p.alpha == 1 ? "" : "alpha times ", e.i,
                              e.j, p.k() - 1);
  if (p.beta != 0) v += fmt::format(" + beta c_in[{},{}]", e.i, e.j);
  if (p.has_bias()) v += fmt::format(" + bias[{}]", e.j);
  const std::string c = fmt::format("c[{},{}]", e.i, e.j);
  return p.sigmoid ? fmt::format("{} = 1 / (1 + e^-z), z = (v - mu) sigma, v = {}.", c, v)
                   : fmt::format("{} = {}.", c, v);
}

std::string numbers_of(const reference::matmul_setting& s, const element& e) {
  const doubles products = products_of(e, 1);
  const size_t k = products.size();
  std::string text =
      fmt::format("v = {}{}", s.alpha == 1 ? "" : digits(s.alpha) + " * ", digits(plain_sum(dtype::f64, products, k)));
  if (s.beta != 0) text += fmt::format(" + {} * {}", digits(s.beta), digits(e.c));
  if (s.has_bias) text += " + " + digits(e.bias);
  return text + fmt::format("; the sizes of the {} products add up to {}.", k, digits(sum_of_sizes(products, k)));
}

std::vector<explained_step> steps_of(const reference::matmul_setting& s, const element& e, double exact,
                                     double actual) {
  const doubles products = products_of(e, 1);
  const double sum = plain_sum(dtype::f64, products, products.size());
  const auto plain =
      static_cast<double>(reference::ieee_value({.slices = {1, static_cast<int64_t>(products.size())}}, {e.a, e.b}));
  const double c = s.beta == 0 ? 0 : s.beta * e.c, bias = s.has_bias ? e.bias : 0;
  const double v = before_sigmoid(s, actual);
  const auto single = [](double x) { return static_cast<double>(static_cast<float>(x)); };
  std::vector<explained_step> steps = {{"sum of the products", sum, plain, (v - c - bias) / s.alpha}};
  double at = s.alpha * sum, by_hand = single(s.alpha * plain);
  if (s.alpha != 1) steps.push_back({"times alpha", at, by_hand, v - c - bias});
  at += c;
  by_hand = single(by_hand + c);
  if (s.beta != 0) steps.push_back({"with beta c", at, by_hand, v - bias});
  at += bias;
  by_hand = single(by_hand + bias);
  if (s.has_bias) steps.push_back({"with the bias", at, by_hand, v});
  if (s.sigmoid) {
    steps.push_back(
        {"argument of the sigmoid", (at - s.mu) * s.sigma, single((by_hand - s.mu) * s.sigma), (v - s.mu) * s.sigma});
    by_hand = single(1 / (1 + std::exp(-single((by_hand - s.mu) * s.sigma))));
  }
  steps.push_back({"result", exact, reference::round_to(s.output, by_hand), actual});
  return steps;
}

// Exact values and bounds of a row of C.
void fill_row(explained_row& t, const matmul_problem& p, int64_t i) {
  const reference::matmul_setting setting = p.setting();
  for (int64_t j = 0; j < p.n(); ++j) {
    const element each(p, i, j);
    const reference::matmul_element model(setting, each.operands());
    t.exact.push_back(model.expected());
    t.bound.push_back(model.bound());
  }
}

// The element that the report names, else the furthest of the first rows.
std::pair<int64_t, int64_t> place_of(const observed_call& call, const matmul_problem& p) {
  if (call.worst && call.worst->tensor == "c") return {call.worst->row, call.worst->col};
  std::pair<int64_t, int64_t> found = {0, 0};
  double worst = -1;
  const int64_t rows = std::min<int64_t>(p.m(), k_most_products / std::max<int64_t>(1, p.n() * p.k()) + 1);
  for (int64_t i = 0; i < rows && call.outputs; ++i) {
    explained_row row;
    fill_row(row, p, i);
    const doubles actual = call.outputs->at("c").row(i);
    const size_t j = furthest(actual, row.exact, row.bound);
    if (const double s = share_of_bound(actual[j], row.exact[j], row.bound[j]); s > worst) {
      worst = s;
      found = {i, static_cast<int64_t>(j)};
    }
  }
  return found;
}

explained_call explain_matmul(const observed_call& call) {
  explained_call s;
  const matmul_problem p(call.c, call.inputs);
  const reference::matmul_setting setting = p.setting();
  const bool is_finite =
      std::isfinite(p.alpha) && std::isfinite(p.beta) && std::isfinite(p.mu) && std::isfinite(p.sigma);
  if (p.m() == 0 || p.n() == 0 || !is_finite) return s;
  const auto [i, j] = place_of(call, p);
  s.output = "c";
  s.row = i;
  s.element = j;
  s.element_name = fmt::format("c[{},{}]", i, j);
  s.row_name = fmt::format("row {} of c", i);
  if (call.outputs) s.actual = call.outputs->at("c").row(i);
  explained_row& t = s.values;
  fill_row(t, p, i);
  const element e(p, i, j);
  t.formula = formula_of(p, e);
  t.numbers = numbers_of(setting, e);
  t.terms = reference::matmul_bound_terms(setting, e.operands());
  t.bound_formula = fmt::format(
      "((1 + E)(1 + u)^r - 1) times the sum of the products' sizes, and little for what follows; E of {}, with k = {} "
      "in "
      "{} slice{} (docs/numerics.md).",
      name_of(setting.arithmetic), p.k(), setting.slices.count, setting.slices.count == 1 ? "" : "s");
  if (t.terms.empty()) {
    t.bound_formula = "A term is infinite or NaN, and only this value passes.";
    return s;
  }
  if (p.is_ieee() && !p.sigmoid)
    t.numbers += fmt::format(" In the plan's order of additions, f32 gives {}.",
                             digits(static_cast<double>(reference::ieee_value(setting, e.operands()))));
  const auto at = static_cast<size_t>(j);
  const double actual = s.actual.empty() ? std::nan("") : s.actual[at];
  t.steps = steps_of(setting, e, t.exact[at], actual);
  return s;
}

const explainer_registration matmul("matmul", explain_matmul);

}  // namespace
}  // namespace warpcheck
