// matmul in steps: products, their sum, alpha, beta c, bias, the sigmoid. Bounds: reference/matmul/matmul.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/matmul/matmul_problem.hpp"
#include "properties/rows/explanation_support.hpp"
#include "reference/matmul/matmul_parts.hpp"

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

// ---- the explanation ----

std::string formula_of(const matmul_problem& p, const element& e) {
  std::string v = fmt::format("{}the sum of a[{},l] b[l,{}] over l = 0 to {}", p.alpha == 1 ? "" : "alpha times ", e.i,
                              e.j, p.k() - 1);
  if (p.alpha == 0) v = "+0 for the product: alpha is 0, so a and b are not read, whatever they hold (as in BLAS)";
  if (p.beta != 0) v += fmt::format(" + beta c_in[{},{}]", e.i, e.j);
  if (p.has_bias()) v += fmt::format(" + bias[{}]", e.j);
  const std::string c = fmt::format("c[{},{}]", e.i, e.j);
  return p.sigmoid ? fmt::format("{} = 1 / (1 + e^-z), z = (v - mu) sigma, v = {}.", c, v)
                   : fmt::format("{} = {}.", c, v);
}

std::string numbers_of(const reference::matmul_setting& s, const element& e) {
  doubles products;
  for (size_t l = 0; l < e.a.size(); ++l) products.push_back(e.a[l] * e.b[l]);
  std::string text = fmt::format("v = {}{}", s.alpha == 1 ? "" : digits(s.alpha) + " * ",
                                 digits(reference::plain_sum(dtype::f64, products)));
  if (s.beta != 0) text += fmt::format(" + {} * {}", digits(s.beta), digits(e.c));
  if (s.has_bias) text += " + " + digits(e.bias);
  return text + fmt::format("; the sizes of the {} products add up to {}.", products.size(),
                            digits(reference::sum_of_sizes(products)));
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
                             digits(static_cast<double>(reference::chained_value(setting, e.operands()))));
  t.steps = reference::matmul_steps(setting, e.operands(),
                                    s.actual.empty() ? std::nan("") : s.actual[static_cast<size_t>(j)]);
  return s;
}

const explainer_registration matmul("matmul", explain_matmul);

}  // namespace
}  // namespace warpcheck
