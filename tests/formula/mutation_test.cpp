// The table of the library by operator: honest kernels stay within the bound, those of one precision lower and mutated
// formulas exceed it, and the gradient is derived. `--gtest_filter=FormulaLibrary.*` prints it.
#include "reference/formula/mutation.hpp"

#include <gtest/gtest.h>

#include "reference/formula/evaluate.hpp"
#include "reference/formula/gradient.hpp"
#include "reference/formula/machine.hpp"
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

// Calls `take(output, element, value)` for each output element of a kernel of `plain`, until it returns false.
template <class Take>
void run(const formula_operator& plain, const call_data& call, const machine_options& how, Take take) {
  program code(plain, call);
  walker<machine_algebra> kernel(code, machine_algebra(how));
  for (const tensor& t : plain.outputs) {
    const definition_code& d = *code.find(t.name);
    for (int64_t i = 0; i < d.elements; ++i) {
      const double actual = kernel.element(d, i);
      if (!take(t.name, i, is_integer(t.type) ? actual : round_to_type(t.type, actual))) return;
    }
  }
}

// True if an output of the mutant's interpreter is rejected.
bool is_rejected(const formula_operator& mutant, trial_call& c) {
  bool is_accepted = true;
  run(mutant, c.call, {}, [&](const std::string& name, int64_t i, double actual) {
    return is_accepted = c.exact->judge(name, i, actual).accepted;
  });
  return !is_accepted;
}

// The largest error of a kernel as a fraction of the bound, and whether it differs from the interpreter at all.
struct kernel_errors {
  double worst = 0;
  bool differs = false;
};
kernel_errors errors_of(const formula_operator& plain, const machine_options& how, std::vector<trial_call>& calls) {
  kernel_errors e;
  for (trial_call& c : calls) {
    std::vector<double> usual;
    run(plain, c.call, {}, [&](const std::string&, int64_t, double y) { return usual.push_back(y), true; });
    size_t n = 0;
    run(plain, c.call, how, [&](const std::string& name, int64_t i, double actual) {
      const double due = usual[n++];
      e.differs |= actual != due && !(std::isnan(actual) && std::isnan(due));
      e.worst = std::fmax(e.worst, c.exact->judge(name, i, actual).error_ratio());
      return true;
    });
  }
  return e;
}

double worst_of_honest(const formula_operator& plain, std::vector<trial_call>& calls) {
  double worst = 0;
  for (const uint64_t seed : {0, 1, 2, 3, 4}) worst = std::fmax(worst, errors_of(plain, {.seed = seed}, calls).worst);
  return worst;
}

// Of the kernels with something in a lower precision, the one that exceeds the bound least.
double worst_of_weakest_control(const formula_operator& plain, std::vector<trial_call>& calls) {
  const machine_options controls[] = {{.operands = number_type::tf32},
                                      {.format = number_type::tf32, .accumulate = number_type::tf32},
                                      {.accumulate = number_type::bf16},
                                      {.accumulate = number_type::f16}};
  double weakest = k_inf;
  for (const machine_options& how : controls)
    if (const kernel_errors e = errors_of(plain, how, calls); e.differs) weakest = std::fmin(weakest, e.worst);
  return weakest;
}

// Mutants that give the same values for every input, and why.
constexpr std::pair<const char*, const char*> k_equivalent[] = {
    // Both branches agree where the condition changes.
    {"leaky_relu", "comparison: y = if x[i] > 0"},
    {"selu", "comparison: y"},
    {"elu", "comparison: y"},
    {"huber", "comparison: loss"},
    {"linear_leaky_relu", "comparison: y = if h[i, j] > 0"},
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

struct mutant_counts {
  int all = 0, killed = 0;
  std::string alive;
};

mutant_counts try_mutants(const formula_operator& given, std::vector<trial_call>& calls) {
  mutant_counts n;
  for (const formula_mutant& m : mutants_of(given)) {
    const formula_operator mutant = expanded(m.op);
    bool is_killed = false, runs = false;
    for (size_t i = 0; i < calls.size() && !is_killed; ++i) {
      try {
        is_killed = is_rejected(mutant, calls[i]);
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
    ++n.all;
    n.killed += is_killed;
    if (!is_killed) n.alive += "\n  " + given.name + ": " + m.change;
  }
  return n;
}

TEST(FormulaLibrary, EachOperatorIsJudged) {
  mutant_counts all;
  std::printf("%-32s %12s %14s %9s  %s\n", "operator", "honest", "lower", "mutants", "inputs with gradient");
  for (const formula_operator& given : library_of_formulas()) {
    const formula_operator op = expanded(given);
    std::vector<trial_call> calls = calls_of(op, 8);
    ASSERT_FALSE(calls.empty()) << op.name;
    const double honest = worst_of_honest(op, calls), lower = worst_of_weakest_control(op, calls);
    EXPECT_LE(honest, 1) << op.name;
    EXPECT_GT(lower, 1) << op.name;
    const mutant_counts n = try_mutants(given, calls);
    std::printf("%-32s %12.2f %14.3g %4d/%4d  %zu\n", op.name.c_str(), honest, lower, n.killed, n.all,
                gradient(given).outputs.size());
    all.all += n.all;
    all.killed += n.killed;
    all.alive += n.alive;
  }
  std::printf("%d of %d mutants are killed%s\n", all.killed, all.all, all.alive.c_str());
  EXPECT_GT(all.all, 5000);
  EXPECT_EQ(all.killed, all.all) << all.alive;
}

}  // namespace
