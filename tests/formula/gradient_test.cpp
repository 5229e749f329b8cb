// Derived backward operators: their values against differences of the formula in 50 digits, and their text.
#include "reference/formula/gradient.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "reference/formula/evaluate.hpp"
#include "reference/formula/exact.hpp"
#include "reference/formula/parser.hpp"
#include "reference/formula/printer.hpp"
#include "tests/formula/random_formulas.hpp"

namespace {

using namespace warpcheck::formula;
using namespace warpcheck::formula_test;
using digits50 = warpcheck::reference::mp50;
// A multiple of 2^-12 between the ends, so that a step of 2^-38 more or less is a double, too.
double drawn_between(draws& g, double low, double high) {
  const double x = std::uniform_real_distribution<double>(low, high)(g);
  return std::fmax(std::nearbyint(x * 4096) / 4096, 0x1p-12 + low);
}

using values_by_name = std::map<std::string, std::vector<digits50>, std::less<>>;

values_by_name values_of_outputs(const formula_operator& op, const call_data& c) {
  program p(op, c);
  walker<exact_algebra<digits50>> w(p, exact_algebra<digits50>{});
  values_by_name all;
  for (const tensor& t : op.outputs) {
    const definition_code& d = *p.find(t.name);
    for (int64_t i = 0; i < d.elements; ++i) {
      const auto v = w.element(d, i);
      all[t.name].push_back(v.special != 0 ? digits50(v.special) : v.x.value);
    }
  }
  return all;
}

bool are_finite(const values_by_name& outputs) {
  for (const auto& [name, values] : outputs)
    for (const digits50& v : values)
      if (!isfinite(v)) return false;
  return true;
}

// A call whose outputs are finite.
std::optional<call_data> drawn_finite_call(draws& g, const formula_operator& op) {
  const auto value = [&](const tensor& t, int64_t) {
    return drawn_between(g, t.range ? std::fmax(t.range->first, -2) : -2, t.range ? std::fmin(t.range->second, 2) : 2);
  };
  return drawn_call_of(g, op, 2, value, [&](const call_data& c) { return are_finite(values_of_outputs(op, c)); });
}

expr without_casts(const expr& e) {
  if (!e) return e;
  const expr inside = with_children(e, without_casts);
  return inside->what == kind::cast ? inside->args[0] : inside;
}
// A rounding has derivative 1 by convention, and 0 nearly everywhere: differences are of the formula without roundings.
formula_operator without_roundings(const formula_operator& op) {
  formula_operator now = expanded(op);
  for (definition& d : now.definitions) d.value = without_casts(d.value);
  return now;
}

// The inner product of all outputs with seeds that are called d_OUTPUT.
digits50 weighted(const values_by_name& outputs, const call_data& seeds) {
  digits50 sum = 0;
  for (const auto& [name, values] : outputs) {
    const auto seed = seeds.inputs.find("d_" + name);
    for (size_t i = 0; seed != seeds.inputs.end() && i < values.size(); ++i)
      sum += values[i] * digits50(seed->second.values[i]);
  }
  return sum;
}

// How far the derived gradient is from central differences along one random direction per input, relatively.
double distance_from_differences(draws& g, const formula_operator& given, const formula_operator& derived) {
  const formula_operator op = without_roundings(given), back = without_roundings(derived);
  const std::optional<call_data> call = drawn_finite_call(g, op);
  if (!call) return k_inf;
  call_data seeded = *call;
  program p(op, *call);
  for (const tensor& t : back.inputs) {
    if (op.find_input(t.name)) continue;
    array a{p.find(t.name.substr(2))->sizes};
    for (int64_t i = 0; i < p.find(t.name.substr(2))->elements; ++i) a.values.push_back(drawn_between(g, -2, 2));
    seeded.inputs.emplace(t.name, std::move(a));
  }
  const values_by_name mine = values_of_outputs(back, seeded);
  double worst = 0;
  for (const tensor& t : op.inputs) {
    if (is_integer(t.type)) continue;
    const std::vector<digits50>& adjoint = mine.at("d_" + t.name);
    std::vector<double> direction;
    digits50 product = 0, size = 1;
    for (const digits50& a : adjoint) {
      direction.push_back(static_cast<double>(g() % 17) - 8);
      product += a * direction.back();
      size += abs(a * direction.back());
    }
    const auto difference = [&](double h) {
      const auto moved = [&](double step) {
        call_data c = *call;
        for (size_t i = 0; i < adjoint.size(); ++i) c.inputs[t.name].values[i] += step * direction[i];
        return weighted(values_of_outputs(op, c), seeded);
      };
      return digits50((moved(h) - moved(-h)) / (2 * h));
    };
    // Two steps, so that the error is of order h^4 (Richardson).
    const digits50 slope = (4 * difference(0x1p-38) - difference(0x1p-37)) / 3;
    const auto error = static_cast<double>(digits50(abs(slope - product) / size));
    worst = std::isnan(error) ? k_inf : std::fmax(worst, error);
  }
  return worst;
}

int calls_to_try() {
  const char* const more = std::getenv("WARPCHECK_FORMULA_CALLS");
  return more ? std::atoi(more) : 1;
}

TEST(FormulaGradient, AgreesWithDifferencesForEachFormulaOfTheLibrary) {
  int derived = 0, refused = 0;
  for (const formula_operator& op : library_of_formulas()) {
    SCOPED_TRACE(op.name);
    draws g(5);
    try {
      const formula_operator back = gradient(op);
      ++derived;
      for (int call = 0; call < calls_to_try(); ++call)
        EXPECT_LT(distance_from_differences(g, op, back), 1e-26) << to_text(op) << to_text(back);
    } catch (const formula_error& e) {
      ++refused;
      std::printf("refused: %s\n", e.what());
      EXPECT_NE(std::string(e.what()).find("no rule for"), std::string::npos) << e.what();
    }
  }
  std::printf("%d derived, %d refused\n", derived, refused);
  EXPECT_GE(derived, 100);
}

TEST(FormulaGradient, EachRuleAgreesWithDifferences) {
  for (const char* value : {"exp(x[i])",
                            "log(x[i])",
                            "log1p(x[i])",
                            "expm1(x[i])",
                            "sqrt(x[i])",
                            "rsqrt(x[i])",
                            "tanh(x[i])",
                            "erf(x[i])",
                            "sin(x[i])",
                            "cos(x[i])",
                            "abs(x[i] - w[i])",
                            "floor(x[i]) * x[i]",
                            "round(x[i]) * x[i]",
                            "sigmoid(x[i])",
                            "silu(x[i])",
                            "relu(x[i] - w[i])",
                            "softplus(x[i])",
                            "pow(x[i], w[i])",
                            "x[i]^3",
                            "x[i]^2",
                            "1 / x[i]^1",
                            "x[i]^w[i]",
                            "max(x[i], w[i])",
                            "min(x[i], w[i])",
                            "fmax(x[i], w[i])",
                            "fmin(x[i], w[i])",
                            "-x[i] / w[i]",
                            "x[i] - w[i] * x[i]",
                            "sum(k where k <= i) x[k] * w[i]",
                            "mean(k) x[k] * w[k]",
                            "mean(k where k >= i) x[k]^2",
                            "prod(k) x[k]",
                            "prod(k where k != i) (x[k] + w[i])",
                            "max(k) x[k] * w[i]",
                            "min(k where k <= i) x[k]",
                            "fmax(k) x[k]",
                            "fmin(k) x[k]",
                            "if x[i] < w[i] then x[i]^2 else w[i]",

                            "x[i + 1] * w[n - 1 - i]",
                            "sum(k < 2, j < 2) x[2 * k + j] * w[k]",
                            "x[i / 2]^2",
                            "sum(k) exp(x[k] - w[i])"}) {
    SCOPED_TRACE(value);
    draws g(6);
    formula_operator op =
        parse_file(std::string("operator f(x[n] in [0.1, 2], w[n] in [0.1, 2]) -> y[n]\n  y[i] = ") + value)[0];
    EXPECT_LT(distance_from_differences(g, op, gradient(op)), 1e-26) << to_text(gradient(op));
  }
}

// Position 1 is so much alike position 0's query that exp(score - maximum) above the diagonal is beyond every format.
TEST(FormulaGradient, WhatAMaskLeavesOutIsNotComputed) {
  const formula_operator back = gradient(library_formula("causal_attention"));
  call_data c;
  c.inputs.emplace("q", array{{1, 2, 1}, {100, 1}});
  c.inputs.emplace("k", array{{1, 2, 1}, {1, 100}});
  c.inputs.emplace("v", array{{1, 2, 1}, {1, 2}});
  c.inputs.emplace("d_o", array{{1, 2, 1}, {1, 1}});
  evaluation e(back, c);
  for (const char* name : {"d_q", "d_k", "d_v"})
    for (int64_t i = 0; i < 2; ++i) {
      const demand d = e.demand_of(name, i);
      EXPECT_FALSE(d.is_free) << name << i;
      EXPECT_EQ(d.specials, 0) << name << i;
      EXPECT_TRUE(std::isfinite(d.expected)) << name << i;
    }
  EXPECT_EQ(e.demand_of("d_q", 0).expected, 0);  // the first position sees itself alone
}

TEST(FormulaGradient, ReadsLikeOneByHand) {
  const std::pair<const char*, const char*> lines[] = {
      {"causal_attention", "  d_k[h, j, e] = sum(i where j <= i) d_score_sum[h, i, j] * q[h, i, e]\n"},
      {"upper_matmul", "  d_a[i, l] = sum(j where i <= j) d_c[i, j] * b[l, j]\n"},
      {"matmul_bias", "  d_b[l, j] = sum(i) d_y[i, j] * a[i, l]\n  d_bias[j] = sum(i) d_y[i, j]\n"},
      {"leaky_relu", "  d_x[i] = if x[i] >= 0 then d_y[i] else d_y[i] * slope\n"},
      {"softmax", "  d_y_sum[r] = -(sum(c) (d_y[r, c] * y[r, c] / y_sum[r]))\n"},
      {"cumsum_exclusive", "  d_x[r, k] = sum(j where k < j) d_y[r, j]\n"},
      {"conv_transpose1d",
       "  d_x[b, c, t2] = sum(o, i where t2 * stride - pad + i * dilation >= 0 and t2 * stride - pad + i * dilation < "
       "(l - 1) * stride - 2 * pad + dilation * (kl - 1) + 1) d_y[b, o, t2 * stride - pad + i * dilation] * "
       "f[c, o, i]\n"}};
  for (const auto& [name, line] : lines) {
    const std::string text = to_text(gradient(library_formula(name)));
    EXPECT_NE(text.find(line), std::string::npos) << text;
  }
}

std::string refusal_of_gradient(const std::string& text) {
  try {
    gradient(parse_file(text)[0]);
  } catch (const formula_error& e) {
    return e.what();
  }
  return "";
}

TEST(FormulaGradient, SaysWhyItHasNone) {
  EXPECT_EQ(refusal_of_gradient("operator f(x[n], w[n]) -> y[n]\n  y[i] = x[i + 1] outside w[i]\n"),
            "gradient of f: no rule for a variable value outside of a tensor in 'x[i + 1] outside w[i]'");
  EXPECT_EQ(refusal_of_gradient("operator f(x[n], d_x[n]) -> y[n]\n  y[i] = x[i] * d_x[i]\n"),
            "gradient of f: line 1: the name 'd_x' is used; rename it, for the adjoints are called d_NAME");
}

TEST(FormulaGradient, ReadsBackAsPrinted) {
  for (const formula_operator& op : library_of_formulas()) {
    SCOPED_TRACE(op.name);
    try {
      const std::string text = to_text(gradient(op));
      EXPECT_EQ(to_text(parse_file(text, op.name)[0]), text);
    } catch (const formula_error& e) {
      EXPECT_NE(std::string(e.what()).find("no rule for"), std::string::npos) << e.what();
    }
  }
}

}  // namespace
