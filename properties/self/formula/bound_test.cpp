// The exact value and the bound of formulas: honest kernels of random formulas never exceed it, and those of too little
// precision do.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>
#include <tuple>

#include "reference/formula/evaluate.hpp"
#include "reference/formula/machine.hpp"
#include "reference/formula/parser.hpp"
#include "reference/formula/printer.hpp"

namespace {

using namespace warpcheck::formula;
using warpcheck::reference::judgement;

using draws = std::mt19937_64;

double drawn_value(draws& g, int recipe) {
  std::normal_distribution<double> normal;
  const double x = normal(g);
  const auto wide = [&](int n) { return std::ldexp(x, static_cast<int>(g() % static_cast<uint64_t>(2 * n)) - n); };
  switch (recipe) {
    case 0: return static_cast<float>(x);
    case 1: return static_cast<float>(std::round(4 * x));
    case 2: return static_cast<float>(30 * x);
    case 3: return static_cast<float>(wide(30));
    case 4: return static_cast<float>(wide(145));
    default: {
      const double special[] = {0, 1, -1, k_inf, -k_inf, std::nan(""), 3.4e38, 1e-45, -0.0};
      return g() % 4 == 0 ? static_cast<float>(special[g() % 9]) : static_cast<float>(x);
    }
  }
}

// A random expression over x[i, j] and w[j], with the index that may be reduced.
expr drawn_tree(draws& g, int depth) {
  const auto inner = [&] { return drawn_tree(g, depth - 1); };
  const char* const leaves[] = {"x[i, j]", "w[j]", "x[i, 0]", "s", "0.3", "2", "x[j, i] outside 1"};
  if (depth == 0 || g() % 8 == 0) return parse_expression(leaves[g() % 7]);
  switch (g() % 12) {
    case 0: return make_binary(kind::add, inner(), inner());
    case 1: return make_binary(kind::subtract, inner(), inner());
    case 2:
    case 3: return make_binary(kind::multiply, inner(), inner());
    case 4: return make_binary(kind::divide, inner(), inner());
    case 5: return make_binary(kind::power, inner(), make_number(static_cast<int64_t>(g() % 3 + 2)));
    case 6: {
      const char* const one[] = {"exp", "log", "log1p", "expm1", "sqrt", "rsqrt", "tanh", "erf", "sin", "cos", "abs"};
      return make_call(one[g() % 11], {inner()});
    }
    case 7: return make_call(g() % 2 ? "max" : "fmin", {inner(), inner()});
    case 8: {
      const char* const which[] = {"sum", "max", "mean", "prod", "min"};
      const expr body = substitute(inner(), {{"j", make_name("k")}});
      const expr where = g() % 3 == 0 ? parse_expression("k <= j") : nullptr;
      return make_reduction(which[g() % 5], {{"k", make_name("n")}}, where, body);
    }
    case 9: return make_choice(make_binary(kind::less, inner(), inner()), inner(), inner());
    case 10: return make_unary(kind::negate, inner());
    default: return make_cast(inner(), g() % 2 ? number_type::bf16 : number_type::f16);
  }
}

formula_operator drawn_operator(draws& g, const char* contract = "") {
  while (true) {
    formula_operator op =
        parse_file("operator f(x[m, n], w[n], s = 0.7 in [0, 1]) -> y[m, n]\n  y[i, j] = x[i, j]\n")[0];
    op.contract = contract;
    try {
      op.definitions[0].value = drawn_tree(g, static_cast<int>(g() % 5) + 1);
      // Reductions within each other need names of their own.
      int bound = 0;
      const std::function<expr(const expr&)> rename = [&](const expr& e) -> expr {
        if (!e) return e;
        const expr inside = with_children(e, rename);
        if (inside->what != kind::reduce) return inside;
        const std::string fresh = "k" + std::to_string(bound++);
        const replacements names = {{"k", make_name(fresh)}};
        return make_reduction(inside->text, {{fresh, make_name("n")}}, substitute(inside->other, names),
                              substitute(inside->args[0], names));
      };
      op.definitions[0].value = rename(op.definitions[0].value);
      check(op);
      return op;
    } catch (const formula_error&) {
    }
  }
}

call_data drawn_call(draws& g, int recipe) {
  const int64_t m = static_cast<int64_t>(g() % 3) + 1, n = static_cast<int64_t>(g() % 6) + 1;
  call_data c;
  for (const auto& [name, shape] : {std::pair<const char*, std::vector<int64_t>>{"x", {m, n}}, {"w", {n}}}) {
    array a{shape};
    const int64_t elements = name[0] == 'x' ? m * n : n;
    for (int64_t i = 0; i < elements; ++i) a.values.push_back(drawn_value(g, recipe));
    c.inputs.emplace(name, std::move(a));
  }
  return c;
}

std::string values_of(const call_data& c) {
  std::string all;
  for (const auto& [name, a] : c.inputs) {
    all += " " + name + "(" + std::to_string(a.shape[0]) + "):";
    for (const double v : a.values) all += " " + to_text(v);
  }
  return all;
}

struct outcome {
  int64_t judged = 0, rejected = 0, free = 0;
  std::string first;
};

// Honest kernels of one random formula, with a few calls.
outcome try_tree(draws g, const machine_options& how, const char* contract) {
  outcome o;
  const formula_operator op = drawn_operator(g, contract), plain = expanded(op);
  for (int recipe = 0; recipe < 6; ++recipe) {
    const call_data c = drawn_call(g, recipe);
    evaluation exact(op, c);
    program code(plain, c);
    machine_options honest = how;
    if (how.seed != 0) honest.seed = g() | 1;
    walker<machine_algebra> kernel(code, machine_algebra(honest));
    for (int64_t i = 0; i < code.definitions()[0].elements; ++i) {
      const double actual = round_to_type(number_type::f32, kernel.element(code.definitions()[0], i));
      const bounded b = exact.element("y", i);
      ++o.judged;
      o.free += b.e == k_inf;
      const judgement j = exact.judge("y", i, actual);
      if (j.accepted) continue;
      ++o.rejected;
      o.first += "\n" + to_text(op) + "recipe " + std::to_string(recipe) + " actual " + to_text(actual) + " exact " +
                 exact.text("y", i) + " element " + std::to_string(i) + values_of(c) + " v " + to_text(b.v) + " e " +
                 to_text(b.e) + " s " + std::to_string(b.s);
    }
  }
  return o;
}

// Honest kernels of `trees` random formulas, on all cores. Each tree has a seed of its own, whatever the cores are.
outcome try_trees(uint32_t seed, int trees, const machine_options& how, const char* contract = "") {
  outcome all;
  std::mutex lock;
  std::atomic<int> next = 0;
  const auto work = [&] {
    for (int t = next++; t < trees; t = next++) {
      std::seed_seq tree_seed = {seed, static_cast<uint32_t>(t)};
      const outcome o = try_tree(draws(tree_seed), how, contract);
      const std::lock_guard guard(lock);
      all.judged += o.judged;
      all.free += o.free;
      if (o.rejected > 0 && all.rejected < 4) all.first += "\ntree " + std::to_string(t) + o.first;
      all.rejected += o.rejected;
    }
  };
  std::vector<std::thread> others(std::max(1U, std::thread::hardware_concurrency()) - 1);
  for (std::thread& t : others) t = std::thread(work);
  work();
  for (std::thread& t : others) t.join();
  return all;
}

int trees_to_try() {
  const char* const more = std::getenv("WARPCHECK_FORMULA_TREES");
  return more ? std::atoi(more) : 3000;
}

TEST(FormulaBound, HonestKernelsOfRandomFormulasStayWithinIt) {
  const outcome o = try_trees(1, trees_to_try(), {.seed = 1});
  EXPECT_EQ(o.rejected, 0) << o.rejected << " of " << o.judged << "\n" << o.first;
  EXPECT_LT(static_cast<double>(o.free), 0.5 * static_cast<double>(o.judged));
}

// With so few digits the errors of second order count, too.
TEST(FormulaBound, HonestKernelsInBfloat16StayWithinTheirs) {
  const machine_options how = {
      .format = number_type::bf16, .accumulate = number_type::bf16, .operands = number_type::bf16, .seed = 1};
  const outcome o = try_trees(3, trees_to_try(), how, "arithmetic bf16");
  EXPECT_EQ(o.rejected, 0) << o.rejected << " of " << o.judged << "\n" << o.first;
}

// The reciprocal of the divisor is subnormal: a product with it loses digits that a division would not.
TEST(FormulaBound, ASubnormalReciprocalIsAllowedFor) {
  const formula_operator op = parse_file(
      "operator f(x[n], w[n]) -> y[n]\n  arithmetic f32: slack 0\n"
      "  y[i] = x[i] / w[i]\n")[0];
  draws g(9);
  std::uniform_real_distribution<double> spread(1, 3.4);
  call_data c;
  for (const char* name : {"x", "w"}) {
    array a{{1000}};
    for (int i = 0; i < 1000; ++i) a.values.push_back(static_cast<float>(spread(g) * 1e38));
    c.inputs.emplace(name, std::move(a));
  }
  evaluation e(op, c);
  for (int64_t i = 0; i < 1000; ++i) {
    const auto x = static_cast<float>(c.inputs["x"].values[static_cast<size_t>(i)]);
    const auto w = static_cast<float>(c.inputs["w"].values[static_cast<size_t>(i)]);
    EXPECT_TRUE(e.judge("y", i, static_cast<double>(x * (1 / w))).accepted) << x << " / " << w;
    EXPECT_FALSE(e.judge("y", i, static_cast<double>(x / w) * (1 + 0x1p-20)).accepted) << x << " / " << w;
  }
}

// A kernel of one formula on random data, against a contract that lacks one allowance.
int64_t rejected_by(const std::string& contract, const char* line, bool is_special_free = true) {
  const std::string text = "operator f(x[m, n], w[n]) -> y[m, n]\n  " + contract + "\n  y[i, j] = " + line + "\n";
  const formula_operator op = parse_file(text)[0], plain = expanded(op);
  draws g(5);
  int64_t rejected = 0;
  for (int t = 0; t < 200; ++t) {
    const call_data c = drawn_call(g, is_special_free ? 0 : 4);
    evaluation exact(op, c);
    program code(plain, c);
    walker<machine_algebra> kernel(code, machine_algebra({.seed = g() | 1}));
    for (int64_t i = 0; i < code.definitions()[0].elements; ++i)
      rejected += !exact.judge("y", i, kernel.element(code.definitions()[0], i)).accepted;
  }
  return rejected;
}

TEST(FormulaBound, EachAllowanceOfTheContractIsNeeded) {
  const std::tuple<const char*, const char*, const char*> rules[] = {
      {"functions 2 ulp, slack 0", "functions 0 ulp, slack 0", "exp(x[i, j])"},
      {"pow 4 ulp, slack 0", "pow 0 ulp, slack 0", "pow(abs(x[i, j]), 1.5)"},
      {"division 2, slack 0", "division 1, slack 0", "x[i, j] / w[j]"},
      {"sums in any order, slack 0", "sums of depth 0, slack 0", "sum(k) x[i, k] + 0 * w[j]"}};
  for (const auto& [with, without, line] : rules) {
    EXPECT_EQ(rejected_by(std::string("arithmetic f32: ") + with, line), 0) << with;
    EXPECT_GT(rejected_by(std::string("arithmetic f32: ") + without, line), 0) << without;
  }
}

TEST(FormulaBound, AZeroBesideInfinityAdmitsNaN) {
  const formula_operator op = parse_file("operator f(x[n], w[n], v[n]) -> y[n]\n  y[i] = x[i] * w[i] * v[i]\n")[0];
  call_data c;
  const std::pair<const char*, double> inputs[] = {{"x", 1e-30}, {"w", 1e-30}, {"v", k_inf}};
  for (const auto& [name, value] : inputs)
    c.inputs.emplace(name, array{{1}, {static_cast<double>(static_cast<float>(value))}});
  evaluation e(op, c);
  EXPECT_TRUE(e.judge("y", 0, std::nan("")).accepted);
  EXPECT_TRUE(e.judge("y", 0, k_inf).accepted);
  EXPECT_FALSE(e.judge("y", 0, 1).accepted);
  EXPECT_FALSE(e.judge("y", 0, -k_inf).accepted);
}

TEST(FormulaBound, ExactSpecialsAreDemanded) {
  const formula_operator op = parse_file(
      "operator f(x[n]) -> y[n], z[n]\n  y[i] = max(x[i], 0)\n"
      "  z[i] = fmax(x[i], 0)\n")[0];
  call_data c;
  c.inputs.emplace("x", array{{3}, {std::nan(""), k_inf, -k_inf}});
  evaluation e(op, c);
  EXPECT_TRUE(e.judge("y", 0, std::nan("")).accepted);
  EXPECT_FALSE(e.judge("y", 0, 0).accepted);
  EXPECT_TRUE(e.judge("z", 0, 0).accepted);
  EXPECT_FALSE(e.judge("z", 0, std::nan("")).accepted);
  EXPECT_TRUE(e.judge("y", 1, k_inf).accepted);
  EXPECT_FALSE(e.judge("y", 1, 3e38).accepted);
  EXPECT_TRUE(e.judge("y", 2, 0).accepted);
}

// A value without a bound, as that of a divisor which may be 0.
bounded free_value(double v) {
  bounded y;
  y.v = v;
  y.e = k_inf;
  return y;
}

TEST(FormulaBound, AnOpenConditionAdmitsABranchWithoutBound) {
  const bound_algebra a((contract()));
  const truth open = {true, true, false};
  bounded one;
  one.v = 1;
  EXPECT_EQ(a.choose(open, one, free_value(std::nan(""))).e, k_inf);
  EXPECT_EQ(a.choose(open, one, free_value(k_inf)).e, k_inf);
}

// max(NaN, 1): a kernel that computes -Inf in place of NaN returns 1.
TEST(FormulaBound, ANaNThatMayBeComputedAsInfinityLeavesAMaximumFree) {
  const bound_algebra a((contract()));
  const auto reduced = [&](reduction by, uint8_t instead) {
    bound_algebra::total t(a, by);
    bounded nan, one;
    nan.v = std::nan("");
    nan.s = instead;
    one.v = 1;
    t.add(nan, 0);
    t.add(one, 1);
    return t.result();
  };
  EXPECT_EQ(reduced(reduction::max, minus_infinity).e, k_inf);
  EXPECT_EQ(reduced(reduction::min, plus_infinity).e, k_inf);
  EXPECT_EQ(reduced(reduction::max, plus_infinity).e, 0);
  EXPECT_EQ(reduced(reduction::max, plus_infinity).s, plus_infinity);
  EXPECT_EQ(reduced(reduction::fmax, minus_infinity).v, 1);
  EXPECT_EQ(reduced(reduction::fmax, minus_infinity).e, 0);
}

TEST(FormulaBound, OverflowBeyondDoubleIsOverflow) {
  const formula_operator op = parse_file(
      "operator f(x[n]) -> y[n], z[n]\n  y[i] = sigmoid(x[i])\n"
      "  z[i] = exp(-x[i])\n")[0];
  call_data c;
  c.inputs.emplace("x", array{{2}, {-1000, -3e38}});
  evaluation e(op, c);
  for (int64_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(e.judge("y", i, 0).accepted) << i;
    EXPECT_FALSE(e.judge("y", i, 1e-30).accepted) << i;
    EXPECT_TRUE(e.judge("z", i, k_inf).accepted) << i;
    EXPECT_FALSE(e.judge("z", i, 3e38).accepted) << i;
  }
}

TEST(FormulaBound, ArgmaxAdmitsWhatMayBeTheLargest) {
  const formula_operator op = parse_file(
      "operator f(x[rows, cols]) -> y: i32[rows], z: i32[rows]\n"
      "  y[r] = argmax(c) x[r, c]\n  z[r] = argmax(c) x[r, c] * 0.3\n")[0];
  call_data c;
  c.inputs.emplace("x", array{{1, 3}, {1, 1 + 0x1p-23, 1 + 0x1p-23}});
  evaluation e(op, c);
  EXPECT_TRUE(e.judge("y", 0, 1).accepted);
  EXPECT_FALSE(e.judge("y", 0, 2).accepted);  // the first of the largest
  EXPECT_TRUE(e.judge("z", 0, 0).accepted);   // the products may round alike
  EXPECT_FALSE(e.judge("z", 0, 3).accepted);
}

TEST(FormulaBound, KernelsOfLowerPrecisionExceedIt) {
  const outcome o = try_trees(2, 300, {.format = number_type::bf16, .accumulate = number_type::bf16, .seed = 1});
  EXPECT_GT(o.rejected, o.judged / 5);
}

}  // namespace
