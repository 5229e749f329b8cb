// Mutated formulas, each run in f32, exceed the bound of the formula on drawn inputs.
#include "reference/formula/mutation.hpp"

#include <gtest/gtest.h>

#include <set>

#include "reference/formula/evaluate.hpp"
#include "reference/formula/machine.hpp"
#include "reference/formula/printer.hpp"
#include "tests/formula/random_formulas.hpp"

namespace {

using namespace warpcheck::formula;
using namespace warpcheck::formula_test;

constexpr int k_recipes = 8;

double value_of_recipe(draws& g, int recipe, int64_t place) {
  const double x = std::normal_distribution<double>()(g);
  switch (recipe) {
    case 0: return x;
    case 1: return std::round(3 * x);
    case 2: return 20 * x;
    case 3: return std::ldexp(x, static_cast<int>(g() % 40) - 20);
    case 4: return std::ldexp(x, -120);
    case 5: return g() % 3 == 0 ? std::round(x) : 0;  // rows of zeros, ties, and terms that count alone
    case 6: return 100 * static_cast<double>(place) + x;
    default: return 12 * static_cast<double>(place) + x;
  }
}

// One call and what the formula demands of its outputs.
struct trial_call {
  call_data call;
  std::unique_ptr<evaluation> exact;
};

// Calls whose inputs are those of a recipe, and then some whose inputs lie beside a number of the formula, or are 0.
std::vector<trial_call> calls_of(const formula_operator& op, int draws_of_each) {
  std::vector<trial_call> calls;
  const auto add = [&](draws& g, uint64_t largest, const auto& value, const auto& scalar_value) {
    std::optional<call_data> c = drawn_call_of(g, op, largest, value, [](const call_data&) { return true; });
    if (!c) return;
    const uint64_t choice = g() % 3;
    for (const scalar& of : op.scalars)
      if (!of.is_integer) c->scalars[of.name] = scalar_value(of, choice);
    calls.push_back({std::move(*c), nullptr});
  };
  draws g(8), beside(9);
  for (int n = 0; n < draws_of_each * k_recipes; ++n) {
    const auto value = [&](const tensor& t, int64_t place) {
      const double x = value_of_recipe(g, n % k_recipes, place);
      if (!t.range) return static_cast<double>(static_cast<float>(x));
      const auto [least, most] = *t.range;
      const double inside = least + std::fmin(most - least, 4) * std::fabs(x) / (1 + std::fabs(x));
      return static_cast<double>(static_cast<float>(inside));
    };
    add(g, op.free_extents().size() > 4 ? 2 : 4, value, [](const scalar& of, uint64_t choice) {
      return choice == 0 ? of.fallback : choice == 1 ? of.least : (of.least + of.most) / 3;
    });
  }
  for (const double number : numbers_of(op))
    for (const double by : {1 + 0x1p-10, 1 - 0x1p-10}) {
      const auto value = [&](const tensor& t, int64_t) {
        const double x = (&t - op.inputs.data()) % 2 == 0 ? number * by : 0;
        return static_cast<double>(static_cast<float>(t.range ? std::clamp(x, t.range->first, t.range->second) : x));
      };
      add(beside, 1, value, [](const scalar& of, uint64_t) { return of.least; });
    }
  for (trial_call& c : calls) c.exact = std::make_unique<evaluation>(op, c.call);
  return calls;
}

// True if an output of the mutant's interpreter is rejected.
bool is_rejected(const formula_operator& op, const formula_operator& mutant, trial_call& c) {
  program code(mutant, c.call);
  walker<machine_algebra> kernel(code, machine_algebra({}));
  for (const tensor& t : op.outputs) {
    const definition_code& d = *code.find(t.name);
    for (int64_t i = 0; i < d.elements; ++i) {
      double actual = kernel.element(d, i);
      if (!is_integer(t.type)) actual = round_to_type(t.type, actual);
      if (!c.exact->judge(t.name, i, actual).accepted) return true;
    }
  }
  return false;
}

// Mutants that give the same values for every input, and why.
constexpr std::pair<const char*, const char*> k_equivalent[] = {
    // Both branches agree where the condition changes.
    {"leaky_relu", "comparison: y = if x[i] > 0"},
    {"selu", "comparison: y"},
    {"elu", "comparison: y"},
    {"huber", "comparison: loss"},
    // Adding one number to all scores of a row changes no softmax.
    {"alibi_attention", "first term dropped: score = sum(e) q[h, i, e] * k[h, j, e] / sqrt(d) - slope[h] * -j"},
    // p is 0 where the condition fails, or is used where it holds alone.
    {"causal_attention_backward", "always then: p"},
    {"causal_attention_backward", "condition dropped: dot"},
    {"causal_attention_backward", "condition dropped: dq"},
    {"causal_attention_backward", "condition dropped: dk"},
    {"causal_attention_backward", "condition dropped: dv"},
    // The stride is 2, and signs do not matter modulo 2.
    {"conv_transpose3d", "sign: y = sum(c, k, i, j where (r + pad + k) % stride"},
    {"conv_transpose3d", "sign: y = sum(c, k, i, j where (r - pad - k) % stride"},
    {"conv_transpose3d", "sign: y = sum(c, k, i, j where (r + pad - k) % stride == 0 and (p + pad + i) % stride"},
    {"conv_transpose3d", "sign: y = sum(c, k, i, j where (r + pad - k) % stride == 0 and (p - pad - i) % stride"},
    {"conv_transpose3d",
     "sign: y = sum(c, k, i, j where (r + pad - k) % stride == 0 and (p + pad - i) % stride == 0 "
     "and (q + pad + j) % stride"},
    {"conv_transpose3d",
     "sign: y = sum(c, k, i, j where (r + pad - k) % stride == 0 and (p + pad - i) % stride == 0 "
     "and (q - pad - j) % stride"},
    // A term beyond the input that is 0, and not absent, differs beside an infinite weight alone.
    {"conv_transpose1d", "padding is 0"},
    {"conv_transpose2d", "padding is 0"},
    {"conv_transpose3d", "padding is 0"},
    // A sum over all rows, or elements, may take one of its terms in another order.
    {"smooth_cross_entropy", "index reversed: hit = norm[rows"},
    {"smooth_cross_entropy", "index reversed: hit = norm[r] - (x[r, target[r]] - top[rows"},
    {"smooth_cross_entropy", "index reversed: all = sum(c) (norm[rows"},
    {"smooth_cross_entropy", "index reversed: all = sum(c) (norm[r] - (x[rows"},
    {"smooth_cross_entropy", "index reversed: all = sum(c) (norm[r] - (x[r, c] - top[rows"},
    {"smooth_cross_entropy", "index reversed: loss"},
    {"binary_cross_entropy", "index reversed: loss = sum(i) (softplus(x[n - 1 - i])"},
    {"frobenius_norm", "index reversed: y = x[i, j, k] / sqrt(sum(p < a, q < b, r < c) x["},
    // The scale is that of the largest element, so that no quotient exceeds 127.
    {"quantise_rows", "max dropped: q"},
    {"quantise_rows", "min dropped: q"},
    {"quantise_rows", "constant off by 0.1 %: q = max(min(round(x[r, c] / scale[r]), 127.12"},
    {"quantise_rows", "constant off by 0.1 %: q = max(min(round(x[r, c] / scale[r]), 127), -127.12"},
    {"quantise_e4m3_rows", "max dropped: q"},
    {"quantise_e4m3_rows", "min dropped: q"},
    {"quantise_e4m3_rows", "constant off by 0.1 %: q = max(min(x[r, c] / scale[r], 448.448"},
    {"quantise_e4m3_rows", "constant off by 0.1 %: q = max(min(x[r, c] / scale[r], 448), -448.448"},
};

bool is_equivalent(const std::string& op, const std::string& change) {
  return std::any_of(std::begin(k_equivalent), std::end(k_equivalent),
                     [&](const auto& e) { return op == e.first && change.starts_with(e.second); });
}

TEST(FormulaMutants, AreKilled) {
  int all = 0, killed = 0;
  std::string alive;
  for (const formula_operator& given : library_of_formulas()) {
    const formula_operator op = expanded(given);
    std::vector<trial_call> calls = calls_of(op, 8);
    ASSERT_FALSE(calls.empty()) << op.name;
    for (trial_call& c : calls) EXPECT_FALSE(is_rejected(op, op, c)) << op.name;
    for (const formula_mutant& m : mutants_of(given)) {
      const formula_operator mutant = expanded(m.op);
      bool is_killed = false, runs = false;
      for (size_t i = 0; i < calls.size() && !is_killed; ++i) {
        try {
          is_killed = is_rejected(op, mutant, calls[i]);
          runs = true;
        } catch (const formula_error&) {
          // A division of extents by 0.
        }
      }
      if (is_equivalent(given.name, m.change)) {
        EXPECT_FALSE(is_killed) << given.name << " is not equivalent: " << m.change;
        continue;
      }
      if (!runs) continue;
      ++all;
      killed += is_killed;
      if (!is_killed) alive += "\n  " + given.name + ": " + m.change;
    }
  }
  std::printf("%d of %d mutants are killed%s\n", killed, all, alive.c_str());
  EXPECT_GT(all, 5000);
  EXPECT_EQ(killed, all) << alive;
}

}  // namespace
