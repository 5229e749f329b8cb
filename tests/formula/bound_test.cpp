// The exact value and the bound of formulas: honest kernels of random formulas never exceed it, and those of too little
// precision do.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <limits>
#include <mutex>
#include <random>
#include <thread>

#include "reference/formula/evaluate.hpp"
#include "reference/formula/gradient.hpp"
#include "reference/formula/machine.hpp"
#include "reference/formula/printer.hpp"
#include "tests/formula/random_formulas.hpp"

namespace {

using namespace warpcheck::formula;
using namespace warpcheck::formula_test;
using warpcheck::dtype, warpcheck::reference::judgement;

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

// Honest kernels of one random formula, with a few calls. `reorders`: they multiply its products in another order.
outcome try_tree(draws g, const machine_options& how, const char* contract, bool reorders) {
  outcome o;
  const formula_operator op = drawn_operator(g, contract), other = reorders ? reordered(g, op) : op;
  const formula_operator plain = expanded(other);
  for (int recipe = 0; recipe < 6; ++recipe) {
    const call_data c = drawn_call(g, recipe);
    evaluation exact(op, c);
    program code(plain, c);
    machine_options honest = how;
    if (how.seed != 0) honest.seed = g() | 1;
    walker<machine_algebra> kernel(code, machine_algebra(honest));
    const definition_code& y = *code.find("y");
    for (int64_t i = 0; i < y.elements; ++i) {
      const double actual = round_to_type(op.outputs[0].type, round_to_type(number_type::f32, kernel.element(y, i)));
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
outcome try_trees(uint32_t seed, int trees, const machine_options& how, const char* contract = "",
                  bool reorders = false) {
  outcome all;
  std::mutex lock;
  std::atomic<int> next = 0;
  const auto work = [&] {
    for (int t = next++; t < trees; t = next++) {
      std::seed_seq tree_seed = {seed, static_cast<uint32_t>(t)};
      const outcome o = try_tree(draws(tree_seed), how, contract, reorders);
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
  std::printf("%d trees: %lld elements judged, %lld free, %lld rejected\n", trees, static_cast<long long>(all.judged),
              static_cast<long long>(all.free), static_cast<long long>(all.rejected));
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

TEST(FormulaBound, HonestKernelsThatReorderProductsStayWithinIt) {
  const outcome o = try_trees(2, trees_to_try(), {.seed = 1}, "", true);
  EXPECT_EQ(o.rejected, 0) << o.rejected << " of " << o.judged << "\n" << o.first;
  EXPECT_GT(o.judged, trees_to_try());
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

// Attention that divides the weights first: each product with a subnormal value is rounded to a multiple of eta.
TEST(FormulaBound, AnEarlyDivisionOfSubnormalsIsAllowedFor) {
  const auto is_accepted = [](const char* contract, float v) {
    const std::string text = "operator f(p[n], v[n]) -> y\n  arithmetic f32: " + std::string(contract) +
                             "\n  y = sum(j) p[j] * v[j] / (sum(j) p[j])\n";
    call_data c;
    c.inputs.emplace("p", array{{16}, std::vector<double>(16, 1.0)});
    c.inputs.emplace("v", array{{16}, std::vector<double>(16, static_cast<double>(v))});
    float sum = 0;
    for (int i = 0; i < 16; ++i) sum += (1.0f / 16) * v;
    evaluation e(parse_file(text)[0], c);
    return e.judge("y", 0, static_cast<double>(sum)).accepted;
  };
  const float subnormal = 150 * 0x1p-149f;  // a sixteenth of it is 9.375 eta
  EXPECT_TRUE(is_accepted("slack 1", subnormal));
  EXPECT_FALSE(is_accepted("slack 0", subnormal));
  EXPECT_TRUE(is_accepted("slack 0", 0x1p-100f));
}

// How many elements of an honest kernel of `line` on data of a recipe a contract rejects for the formula.
int64_t rejected_by(const std::string& contract, const std::string& formula, const std::string& line, int recipe) {
  const auto read = [&](const std::string& value) {
    return parse_file("operator f(x[m, n], w[n]) -> y[m, n]\n  arithmetic f32: " + contract + "\n  y[i, j] = " + value +
                      "\n")[0];
  };
  const formula_operator op = read(formula), plain = expanded(read(line));
  draws g(5);
  int64_t rejected = 0;
  for (int t = 0; t < 400; ++t) {
    const call_data c = drawn_call(g, recipe);
    evaluation exact(op, c);
    program code(plain, c);
    walker<machine_algebra> kernel(code, machine_algebra({.seed = g() | 1}));
    for (int64_t i = 0; i < code.definitions()[0].elements; ++i)
      rejected += !exact.judge("y", i, kernel.element(code.definitions()[0], i)).accepted;
  }
  return rejected;
}

TEST(FormulaBound, EachAllowanceOfTheContractIsNeeded) {
  constexpr int k_randn = 0, k_integers = 1, k_wide = 2;
  struct allowed {
    std::string with, without, formula, kernel;
    int recipe;
  };
  const std::string division = "x[i, j] / w[j]", sum = "sum(k) x[i, k] + 0 * w[j]";
  const allowed rules[] = {
      {"functions 2 ulp, slack 0", "functions 0 ulp, slack 0", "exp(x[i, j])", "exp(x[i, j])", k_randn},
      {"pow 4 ulp, slack 0", "pow 0 ulp, slack 0", "pow(abs(x[i, j]), 1.5)", "pow(abs(x[i, j]), 1.5)", k_randn},
      {"division 2, slack 0", "division 1, slack 0", division, division, k_randn},
      {"division 1, slack 1", "division 1, slack 0", division, division, k_randn},
      {"sums in any order, slack 0", "sums of depth 0, slack 0", sum, sum, k_randn},
      {"slack 0, exp by exp2", "slack 0", "exp(x[i, j])", "pow(2, x[i, j] * 1.4426950408889634)", k_wide},
      // The differences are exact.
      {"slack 0, rescales 1", "slack 0", "exp(x[i, j])", "exp(x[i, j] - 4) * exp(4)", k_integers}};
  for (const allowed& r : rules) {
    EXPECT_EQ(rejected_by(r.with, r.formula, r.kernel, r.recipe), 0) << r.with;
    EXPECT_GT(rejected_by(r.without, r.formula, r.kernel, r.recipe), 0) << r.without;
  }
}

// Whether a contract accepts a value for the formula of x.
bool accepts(const std::string& contract, const std::string& line, const std::vector<double>& x, double actual) {
  call_data c;
  c.inputs.emplace("x", array{{static_cast<int64_t>(x.size())}, x});
  evaluation e(parse_file("operator f(x[n]) -> y\n  arithmetic f32: " + contract + "\n  y = " + line + "\n")[0], c);
  return e.judge("y", 0, actual).accepted;
}

// Added to 1, each other term is cut off as a whole, as tensor cores do it.
TEST(FormulaBound, SumsThatTruncateNeedTwoUnits) {
  std::vector<double> x(1000, 0x1.ff8p-24);
  x[0] = 1;
  EXPECT_TRUE(accepts("sums 2u", "sum(k) x[k]", x, 1));
  EXPECT_FALSE(accepts("sums in any order", "sum(k) x[k]", x, 1));
}

// The product alone overflows in no order of its two factors; with the third one it may.
TEST(FormulaBound, AProductsFactorsMayOverflowWithAnotherOne) {
  const std::string line = "(prod(k) x[k]) * x[0]";
  constexpr double k_inf = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(accepts("slack 1", line, {0x1p100, 0x1p-100}, k_inf));
  EXPECT_FALSE(accepts("slack 0", line, {0x1p100, 0x1p-100}, k_inf));
  EXPECT_FALSE(accepts("slack 1", line, {0x1p60, 0x1p-100}, k_inf));
}

TEST(FormulaBound, SubnormalResultsAreZeroOnlyIfTheContractFlushes) {
  EXPECT_TRUE(accepts("flush", "x[0] * x[1]", {0x1p-70, 0x1p-60}, 0));
  EXPECT_FALSE(accepts("slack 1", "x[0] * x[1]", {0x1p-70, 0x1p-60}, 0));
  EXPECT_FALSE(accepts("flush", "x[0] * x[1]", {0x1p-60, 0x1p-60}, 0));
}

TEST(FormulaBound, ExactSumsAreDemandedOnlyWhereEveryOrderIsExact) {
  const std::string line = "sum(k) x[k] * x[k]";
  EXPECT_TRUE(accepts("exact", line, {3, 5, 0.5}, 34.25));
  EXPECT_FALSE(accepts("exact", line, {3, 5, 0.5}, 34.25F + 0x1p-18F));
  EXPECT_TRUE(accepts("slack 1", line, {3, 5, 0.5}, 34.25F + 0x1p-18F));
  EXPECT_TRUE(accepts("exact", "sum(k) x[k]", {0x1p24, 1, 1}, 0x1p24));
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

evaluation evaluation_of(const char* text, const std::vector<double>& x) {
  static std::deque<call_data> calls;
  call_data& c = calls.emplace_back();
  c.inputs.emplace("x", array{{static_cast<int64_t>(x.size())}, x});
  return {parse_file(text)[0], c};
}

// The product of an infinite weight with a value beyond the input is NaN, or no term; a guard makes it no term.
TEST(FormulaBound, ATermBeyondATensorMayBeLeftOut) {
  const std::string head = "operator f(x[n]) -> y[n]\n  y[i] = sum(k < 2";
  evaluation either = evaluation_of((head + ") x[i + k] * (inf * (1 - k * 0.5))\n").c_str(), {1, 2});
  EXPECT_FALSE(either.judge("y", 0, std::nan("")).accepted);  // no term is beyond
  EXPECT_TRUE(either.judge("y", 0, k_inf).accepted);
  EXPECT_TRUE(either.judge("y", 1, std::nan("")).accepted);
  EXPECT_TRUE(either.judge("y", 1, k_inf).accepted);
  evaluation guarded = evaluation_of((head + " where i + k < n) x[i + k] * (inf * (1 - k * 0.5))\n").c_str(), {1, 2});
  EXPECT_FALSE(guarded.judge("y", 1, std::nan("")).accepted);
  EXPECT_TRUE(guarded.judge("y", 1, k_inf).accepted);
  evaluation absent = evaluation_of((head + ") x[i + k] outside none * (inf * (1 - k * 0.5))\n").c_str(), {1, 2});
  EXPECT_FALSE(absent.judge("y", 1, std::nan("")).accepted);
  EXPECT_TRUE(absent.judge("y", 1, k_inf).accepted);
  EXPECT_EQ(absent.text("y", 1), "+inf");
  // A finite weight leaves nothing open.
  evaluation finite = evaluation_of((head + ") x[i + k] * 2\n").c_str(), {1, 2});
  EXPECT_FALSE(finite.judge("y", 1, std::nan("")).accepted);
  EXPECT_FALSE(finite.judge("y", 1, 5).accepted);
  EXPECT_TRUE(finite.judge("y", 1, 4).accepted);
}

// In all: exact values, bounds, interpreters and gradients of the library's transposed convolutions.
TEST(FormulaBound, ATransposedConvolutionHasNoTermBeyondItsInput) {
  for (const std::string name : {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}) {
    const formula_operator op = library_formula(name);
    for (const formula_operator& of : {op, gradient(op)}) {
      const formula_operator plain = expanded(of);
      draws g(5);
      const auto value = [&](const tensor& t, int64_t) { return t.name == "f" ? k_inf : 1 + 0.25 * double(g() % 4); };
      const auto call = drawn_call_of(g, plain, 3, value, [](const call_data&) { return true; });
      ASSERT_TRUE(call) << of.name;
      evaluation exact(of, *call);
      program code(plain, *call);
      walker<machine_algebra> kernel(code, machine_algebra({}));
      for (const tensor& t : of.outputs)
        for (int64_t i = 0; i < code.find(t.name)->elements; ++i) {
          const double actual = kernel.element(*code.find(t.name), i);
          EXPECT_FALSE(std::isnan(actual)) << of.name << t.name << i;
          EXPECT_TRUE(exact.judge(t.name, i, actual).accepted) << of.name << t.name << i;
          EXPECT_FALSE(exact.judge(t.name, i, std::nan("")).accepted) << of.name << t.name << i;
        }
    }
  }
}

// Every value that a conversion to 8 bits may give, and no other.
TEST(FormulaBound, AnOutputOf8BitsIsARoundingOfWhatTheBoundAdmits) {
  evaluation e4m3 = evaluation_of("operator f(x[n]) -> y: e4m3[n]\n  y[i] = x[i] * 1\n", {17, 17.01, 300, 1e6, k_inf});
  const auto admitted = [](evaluation& e, int64_t i, dtype type) {
    std::vector<double> list;
    for (uint32_t bits = 0; bits < 0x100; ++bits) {
      const double x = warpcheck::reference::decode(type, bits);
      if (!std::isnan(x) && e.judge("y", i, x).accepted) list.push_back(x);
    }
    if (e.judge("y", i, std::nan("")).accepted) list.push_back(-1);
    return list;
  };
  using list = std::vector<double>;
  EXPECT_EQ(admitted(e4m3, 0, dtype::e4m3), (list{16, 18}));  // a tie, which an error of f32 may move
  EXPECT_EQ(admitted(e4m3, 1, dtype::e4m3), list{18});
  EXPECT_EQ(admitted(e4m3, 2, dtype::e4m3), list{288});
  EXPECT_EQ(admitted(e4m3, 3, dtype::e4m3), (list{448, -1}));  // saturated, or NaN
  EXPECT_EQ(admitted(e4m3, 4, dtype::e4m3), (list{448, -1}));
  evaluation e5m2 = evaluation_of("operator f(x[n]) -> y: e5m2[n]\n  y[i] = x[i] * 1\n", {5.6, -1e6, std::nan("")});
  EXPECT_EQ(admitted(e5m2, 0, dtype::e5m2), list{6});
  EXPECT_EQ(admitted(e5m2, 1, dtype::e5m2), (list{-57344, -k_inf}));
  EXPECT_EQ(admitted(e5m2, 2, dtype::e5m2), list{-1});
  // An exact value is rounded once.
  evaluation exact = evaluation_of("operator f(x[n]) -> y: e4m3[n]\n  y[i] = x[i]\n", {17, 19});
  EXPECT_EQ(admitted(exact, 0, dtype::e4m3), list{16});
  EXPECT_EQ(admitted(exact, 1, dtype::e4m3), list{20});
}

// What is rounded to a whole number may go to either side of a middle that an error can move, and no further.
TEST(FormulaBound, AnOutputOfIntegersIsOneThatTheBoundAdmits) {
  evaluation e = evaluation_of("operator f(x[n]) -> y: i8[n]\n  y[i] = round(x[i] / 3)\n", {7.5, 9, std::nan("")});
  for (const int y : {1, 2, 3, 4}) {
    EXPECT_EQ(e.judge("y", 0, y).accepted, y == 2 || y == 3) << y;
    EXPECT_EQ(e.judge("y", 1, y).accepted, y == 3) << y;
    EXPECT_TRUE(e.judge("y", 2, y).accepted);  // NaN as an integer is not specified
  }
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

// The radius of a product's exact value may exceed double.
TEST(FormulaBound, AProductWithoutEnclosureIsFree) {
  const bound_algebra a((contract()));
  bound_algebra::total t(a, reduction::prod);
  bounded wide;
  wide.v = 1e-60;
  wide.r = 1e200;
  t.add(wide, 0);
  t.add(wide, 1);
  EXPECT_EQ(t.result().e, k_inf);
}

TEST(FormulaBound, AFunctionWithinOneIsWithinTwoOfItsValue) {
  const bound_algebra a((contract()));
  bounded wide;
  wide.v = 1e60;
  wide.r = wide.e = 1e40;
  for (const function f : {function::tanh, function::erf, function::sin, function::cos}) {
    EXPECT_LT(a.call(f, wide).r, 2.1);
    EXPECT_LT(a.call(f, wide).e, 2.1);
  }
}

// fmin drops NaN, which a kernel may have in place of the least: another element is its result then.
TEST(FormulaBound, AnElementThatMayBeDroppedBoundsNoMinimum) {
  const bound_algebra a((contract()));
  bound_algebra::total t(a, reduction::fmin);
  bounded least, other;
  least.v = -1;
  least.high = 0;
  least.s = not_a_number;
  other.v = 2;
  t.add(least, 0);
  t.add(other, 1);
  EXPECT_GE(t.result().upper(), 2);
}

TEST(FormulaBound, ProductsOfIntegersBeyond64BitsAreRefused) {
  EXPECT_TRUE(accepts("slack 1", "x[0] * (4294967296 * 2147483647)", {1}, 0x1p63));
  EXPECT_TRUE(accepts("slack 1", "x[0] * (4294967296.0 * 2147483648)", {1}, 0x1p63));
  EXPECT_THROW(accepts("slack 1", "x[0] * (4294967296 * 2147483648)", {1}, 0x1p63), formula_error);
}

// 50 decimal digits enclose 1 in an interval, whose floor is 0 or 1.
TEST(FormulaBound, StepsAreTakenOfTheMiddle) {
  const formula_operator op = parse_file("operator f(x[n]) -> y[n]\n  y[i] = rsqrt(floor(tanh(x[i]) as bf16))\n")[0];
  call_data c;
  c.inputs.emplace("x", array{{1}, {22}});
  evaluation e(op, c);
  EXPECT_EQ(e.text("y", 0), "1");
  EXPECT_TRUE(e.judge("y", 0, 1, warpcheck::reference::precision::digits100).accepted);
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

call_data call_of_squares(int64_t rows, int64_t cols) {
  call_data c;
  array x{{rows, cols}};
  for (int64_t i = 0; i < rows * cols; ++i) x.values.push_back(static_cast<double>(i * i % 17) / 4 - 2);
  c.inputs.emplace("x", std::move(x));
  return c;
}

// Elements that share a reduction do not evaluate it again.
TEST(FormulaCost, OfSoftmaxIsLinearInTheElements) {
  const formula_operator op = parse_file(
      "operator f(x[rows, cols]) -> y[rows, cols]\n  e[r, c] = exp(x[r, c] - (max(k) x[r, k]))\n"
      "  y[r, c] = e[r, c] / (sum(k) e[r, k])\n")[0];
  const call_data c = call_of_squares(8, 256);
  evaluation e(op, c);
  for (int64_t i = 0; i < 8 * 256; ++i) e.element("y", i);
  EXPECT_LT(e.operations(), 20 * 8 * 256);
}

// A reduction inside of an expression is the same as one with a name, whichever indices it depends on.
TEST(FormulaCost, ASharedReductionIsThatOfTheSameElements) {
  const std::string head = "operator f(x[rows, cols]) -> y[rows, cols]\n";
  const formula_operator inside = parse_file(
      head +
      "  y[r, c] = x[r, c] * (sum(k) x[r, k]^2) + (sum(q) x[q, c]) + (max(q, k) x[q, k]) +"
      " (sum(k where k <= c and k > r) x[r, k] * (sum(q) x[q, k])) + (sum(k) (sum(q) x[q, k] * x[q, c]))\n")[0];
  const formula_operator named =
      parse_file(head +
                 "  a[r] = sum(k) x[r, k]^2\n  b[c] = sum(q) x[q, c]\n  m = max(q, k) x[q, k]\n"
                 "  d[r < rows, c < cols] = sum(k where k <= c and k > r) x[r, k] * b[k]\n"
                 "  g[k, c] = sum(q) x[q, k] * x[q, c]\n  h[c] = sum(k) g[k, c]\n"
                 "  y[r, c] = x[r, c] * a[r] + b[c] + m + d[r, c] + h[c]\n")[0];
  const call_data c = call_of_squares(5, 7);
  evaluation first(inside, c), second(named, c);
  for (const int64_t i : {34, 0, 13, 7, 21, 33, 3, 13}) {
    const bounded a = first.element("y", i), b = second.element("y", i);
    EXPECT_EQ(a.v, b.v) << i;
    EXPECT_EQ(a.r, b.r) << i;
    EXPECT_EQ(a.e, b.e) << i;
    EXPECT_EQ(first.text("y", i), second.text("y", i)) << i;
  }
}

// The squares underflow, and the constant holds the divisor up.
TEST(FormulaBound, AConstantKeepsADivisorFromZero) {
  const formula_operator op =
      parse_file("operator f(x[n]) -> y[n]\n  y[i] = x[i] / max(sqrt(sum(k) x[k]^2), 1e-12)\n")[0];
  call_data c;
  c.inputs.emplace("x", array{{2}, {1e-36F, 2e-36F}});
  evaluation e(op, c);
  EXPECT_TRUE(e.judge("y", 0, 1e-24F).accepted);
  EXPECT_FALSE(e.judge("y", 0, 1.001e-24F).accepted);
  EXPECT_FALSE(e.judge("y", 1, 0).accepted);
}

// Whatever the scores are, weights lie in [0, 1] and one of them is 1.
TEST(FormulaBound, AttentionIsBoundedWhateverItsScoresAre) {
  const formula_operator op = parse_file(
      "operator f(q[n, d], k[n, d], v[n, d]) -> o[n, d]\n  score[i, j] = sum(e) q[i, e] * k[j, e] / sqrt(d)\n"
      "  top[i] = max(j where j <= i) score[i, j]\n  p[i, j] = exp(score[i, j] - top[i])\n"
      "  o[i, e] = sum(j where j <= i) p[i, j] * v[j, e] / (sum(j where j <= i) p[i, j])\n")[0];
  const int64_t n = 5, d = 3;
  draws g(11);
  int64_t bounded_elements = 0;
  for (int call = 0; call < 300; ++call) {
    call_data c;
    for (const char* name : {"q", "k", "v"}) {
      array a{{n, d}};
      const int recipe = *name == 'v' ? 0 : call % 6;
      const double scale = call % 3 == 0 ? 1e20 : 1;
      for (int64_t i = 0; i < n * d; ++i) a.values.push_back(static_cast<float>(drawn_value(g, recipe) * scale));
      if (*name == 'v')
        for (double& x : a.values) x = static_cast<float>(x / scale);
      c.inputs.emplace(name, std::move(a));
    }
    evaluation e(op, c);
    program code(op, c);
    walker<machine_algebra> kernel(code, machine_algebra({.seed = g() | 1}));
    for (int64_t i = 0; i < n * d; ++i) {
      const double actual = kernel.element(*code.find("o"), i);
      const judgement j = e.judge("o", i, actual);
      EXPECT_TRUE(j.accepted) << "call " << call << " element " << i << " actual " << actual << " v "
                              << e.element("o", i).v << " e " << e.element("o", i).e;
      const bool is_refused = !e.judge("o", i, 1e30).accepted;
      EXPECT_TRUE(is_refused || call % 6 >= 4) << "call " << call << " element " << i;
      bounded_elements += e.element("o", i).e < k_inf;
    }
  }
  EXPECT_GT(bounded_elements, 200 * n * d);
}

// x - max(x) is at most 0 whatever the errors of x are, if the maximum is over several indices or has no name, too.
TEST(FormulaBound, AnExponentialBelowTheMaximumIsAtMostOne) {
  const auto bound_of = [](const std::string& top, const std::string& lines) {
    const std::string text = "operator f(x[n, m]) -> y[n, m]\n  s[i, j] = x[i, j] * 3 * 7\n" + lines +
                             "  y[i, j] = exp(s[i, j] - " + top + ")\n";
    call_data c;
    c.inputs.emplace("x", array{{2, 2}, {1e12, 1e12 + 0x1p20, -1e12, 5}});
    evaluation e(parse_file(text)[0], c);
    return e.element("y", 0).e;
  };
  EXPECT_LT(bound_of("top", "  top = max(p, q) s[p, q]\n"), 2);
  EXPECT_LT(bound_of("top[i]", "  top[i] = max(q) s[i, q]\n"), 2);
  EXPECT_LT(bound_of("(max(p, q) s[p, q])", ""), 2);
  EXPECT_LT(bound_of("(max(q) s[i, q])", ""), 2);
  EXPECT_GT(bound_of("top[i]", "  top[i] = max(q where q >= 1) s[i, q]\n"), 2);  // s[i, 0] is not among them
  EXPECT_GT(bound_of("top[i]", "  top: bf16[i] = max(q) s[i, q]\n"), 2);         // and may be rounded below s
}

TEST(FormulaBound, KernelsOfLowerPrecisionExceedIt) {
  const outcome o = try_trees(2, 300, {.format = number_type::bf16, .accumulate = number_type::bf16, .seed = 1});
  EXPECT_GT(o.rejected, o.judged / 5);
}

}  // namespace
