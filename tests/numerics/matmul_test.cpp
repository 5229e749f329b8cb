// Sums of products and the model of matmul: known answers, how tight the bounds are, and what they reject.
#include "reference/matmul/matmul.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "reference/numerics/multiprecision.hpp"
#include "reference/sigmoid/sigmoid.hpp"
#include "tests/numerics/special_values.hpp"
#include "tests/numerics/tensor_core.hpp"

namespace warpcheck::reference {
namespace {

using values = std::vector<double>;

double error_in_units(dot_arithmetic a, int64_t k, int64_t promotion = k_promotion) {
  return dot_error<double>(a, chains_of(a, k, {1, k}, promotion)).value / k_unit;
}

// Worked out by hand from the formulas of the header.
TEST(dot_bound, sizes) {
  EXPECT_NEAR(error_in_units(dot_arithmetic::ieee, 4096), 4096, 1);
  EXPECT_NEAR(error_in_units(dot_arithmetic::tf32x3, 4096), 217, 1);
  EXPECT_NEAR(error_in_units(dot_arithmetic::tf32x3, 4096, 32), 209, 1);
  EXPECT_NEAR(error_in_units(dot_arithmetic::bf16x6, 4096), 311, 1);
  EXPECT_NEAR(error_in_units(dot_arithmetic::bf16x6, 4096, 32), 254, 1);
  EXPECT_NEAR(error_in_units(dot_arithmetic::f16, 4096), 105, 0.1);
  EXPECT_NEAR(error_in_units(dot_arithmetic::bf16, 4096, 32), 149, 0.1);
  EXPECT_NEAR(error_in_units(dot_arithmetic::ieee, 1), 1, 1e-6);
  EXPECT_NEAR(error_in_units(dot_arithmetic::tf32x3, 1), 28, 0.1);
  EXPECT_NEAR(error_in_units(dot_arithmetic::bf16x6, 1), 64, 1);
  EXPECT_NEAR(error_in_units(dot_arithmetic::bf16, 1), 12, 0.1);
  EXPECT_EQ(error_in_units(dot_arithmetic::ieee, 0), 0);
  // Slices: each product's chain and the additions of the slices; halves: twice the steps.
  EXPECT_EQ(chains_of(dot_arithmetic::ieee, 1000, {8, 128}).additions, 135);
  EXPECT_EQ(chains_of(dot_arithmetic::tf32x3, 1000, {1, 1000}, 64, true).steps, 48);
  for (const auto a : {dot_arithmetic::ieee, dot_arithmetic::tf32x3, dot_arithmetic::bf16x6}) {
    const auto c = chains_of(a, 4096, {1, 4096});
    EXPECT_NEAR(static_cast<double>(dot_error<mp50>(a, c).value / dot_error<double>(a, c).value), 1, 1e-12);
  }
  // Chains of 64 FMAs in f32, added one by one, lose less than the modes that split allow.
  for (int64_t k = 1; k <= 4096; ++k)
    for (const auto a : {dot_arithmetic::tf32x3, dot_arithmetic::bf16x6})
      EXPECT_LE(static_cast<double>(std::min<int64_t>(k, 64) + (k - 1) / 64), error_in_units(a, k)) << k;
  // So do chains of 8 that are added by eights, in 16-bit types.
  for (int64_t k = 1; k <= 4096; ++k)
    EXPECT_LE(static_cast<double>(std::min<int64_t>(k, 8) + std::min<int64_t>((k - 1) / 8, 7) + (k - 1) / 64),
              error_in_units(dot_arithmetic::f16, k))
        << k;
  // Higham's gamma is never smaller.
  EXPECT_LE(power_growth<double>(k_unit, 1 << 20).upper(), 0x1p20 * k_unit / (1 - 0x1p20 * k_unit));
}

// What the products of parts lose of one product, by search near the operands that lose most.
TEST(dot_bound, splits_lose_what_is_said_and_nearly_that) {
  double worst_of_three = 0, worst_of_six = 0;
  const auto lost = [](const split_product& way, float x, float y) {
    const auto a = split(x, way.parts, way.bits, way.how), b = split(y, way.parts, way.bits, way.how);
    double product = static_cast<double>(x) * static_cast<double>(y), rest = product;
    // Every term is a multiple of 2^-46 below 8: exact in double.
    for (const auto& [p, q] : way.pairs()) rest -= static_cast<double>(a[p]) * static_cast<double>(b[q]);
    return std::fabs(rest / product) / k_unit;
  };
  for (int i = 0xf00; i <= 0x1100; ++i)
    for (int j = i; j <= 0x1100; ++j)
      worst_of_three = std::max(worst_of_three, lost(tf32x3_product(), 1 + static_cast<float>(i) * 0x1p-23f,
                                                     1 + static_cast<float>(j) * 0x1p-23f));
  for (int i = 0x7e00; i <= 0x8200; ++i)
    for (int j = i; j <= 0x8200; j += 3)
      worst_of_six = std::max(worst_of_six, lost(bf16x6_product(), 1 + static_cast<float>(i) * 0x1p-23f,
                                                 1 + static_cast<float>(j) * 0x1p-23f));
  std::printf("tf32x3 loses up to %.4f u, bf16x6 %.4f u\n", worst_of_three, worst_of_six);
  EXPECT_LE(worst_of_three, 8 + 4 * k_unit);
  EXPECT_GE(worst_of_three, 7.98);
  EXPECT_LE(worst_of_six, 1 + 0x1p-8);
  EXPECT_GE(worst_of_six, 0.98);
  // A split that drops bits instead of rounding loses far more, and one product of tf32 thousands.
  split_product dropping = tf32x3_product();
  dropping.how = narrowing::towards_zero;
  EXPECT_GT(lost(dropping, 1 + 0x1p-10f - 0x1p-23f, 1 + 0x1p-10f - 0x1p-23f), 27.9);
  split_product single = tf32x3_product();
  single.products[0] = {0, 0}, single.count = 1;
  EXPECT_GT(lost(single, 1 + 0x1p-11f - 0x1p-23f, 1 + 0x1p-11f - 0x1p-23f), 16000);
}

// One step, with an accumulator of 1 and products that lose most when they are cut.
TEST(dot_bound, a_step_loses_no_more_than_kappa) {
  for (const int k : {8, 16}) {
    const double kappa = k / 2 + 2;
    double worst = 0;
    std::mt19937_64 random(k);
    for (int round = 0; round < 20000; ++round) {
      std::vector<float> a(k), b(k);
      for (int l = 0; l < k; ++l) {
        a[l] = round % 2 ? 0x1p-13f * (1 + static_cast<float>(random() % 1024) * 0x1p-10f)
               : l % 8   ? 0x1.ff8p-13f
                         : 0x1.ff8p-14f;
        b[l] = round % 2 ? 0x1p-12f * (1 + static_cast<float>(random() % 1024) * 0x1p-10f) : 0x1p-13f;
      }
      const float sum = round % 2 ? 1 : 1 + static_cast<float>(round % 4096) * 0x1p-23f;
      const float actual = tensor_core_step(a, b, sum);
      double exact = static_cast<double>(sum), absolute = exact;
      for (int l = 0; l < k; ++l) exact += static_cast<double>(a[l]) * static_cast<double>(b[l]);
      absolute = exact;
      const double error = std::fabs(static_cast<double>(actual) - exact) / absolute / k_unit;
      ASSERT_LE(error, kappa);
      worst = std::max(worst, error / kappa);
    }
    std::printf("a step of %d products uses %.3f of kappa\n", k, worst);
    EXPECT_GE(worst, 0.3);
  }
}

TEST(dot_bound, small_operands) {
  EXPECT_EQ(small_operand_error(dot_arithmetic::ieee, 0x1p-149, 1), 0);
  EXPECT_EQ(small_operand_error(dot_arithmetic::tf32x3, 1, 0x1p-100), 0);
  EXPECT_EQ(small_operand_error(dot_arithmetic::tf32x3, 0, 0x1p100), 0);  // a zero has no exponent
  EXPECT_EQ(small_operand_error(dot_arithmetic::tf32x3, 0x1p-120, 1), 0x1p-137 + 24 * 0x1p-151 * (1 + 0x1p-120));
  EXPECT_EQ(small_operand_error(dot_arithmetic::tf32x3, 1, 0x1p-110), 24 * 0x1p-151 * (1 + 0x1p-110));
  EXPECT_EQ(small_operand_error(dot_arithmetic::bf16x6, 0x1p-112, -2), 2 * 0x1p-134 + 96 * 0x1p-151 * (2 + 0x1p-112));
  EXPECT_EQ(small_operand_error(dot_arithmetic::f16, 0x1p-15, 3), 3 * 0x1p-35);
  EXPECT_EQ(small_operand_error(dot_arithmetic::f16, 0x1p-15, 0x1p-20), 0x1p-35 * 0x1p-14 * 2);
}

matmul_setting setting_of(int64_t k, dot_arithmetic a = dot_arithmetic::ieee) {
  matmul_setting s;
  s.arithmetic = a;
  s.slices = {1, k};
  return s;
}

// The bound by the formula of the header, in 100 digits.
mp100 plain_bound(const matmul_setting& s, const values& a, const values& b, double c, double bias, mp100* exact) {
  const mp100 u = k_unit, eta = k_eta;
  mp100 sum = 0, absolute = 0;
  for (size_t l = 0; l < a.size(); ++l) sum += mp100(a[l]) * b[l], absolute += abs(mp100(mp100(a[l]) * b[l]));
  const auto chains = chains_of(s.arithmetic, static_cast<int64_t>(a.size()), s.slices);
  const mp100 p = pow(1 + u, static_cast<int>(chains.additions)) - 1;
  mp100 e = p;
  if (s.arithmetic == dot_arithmetic::tf32x3)
    e = 8 * u + 4 * u * u +
        (1 + mp100(0x1p-9) + 3 * mp100(0x1p-22)) * (pow(1 + 6 * u, static_cast<int>(chains.steps)) * (1 + p) - 1);
  const mp100 n =
      abs(mp100(s.alpha)) * static_cast<int>(a.size()) * (s.arithmetic == dot_arithmetic::tf32x3 ? 3 : 1) * eta +
      3 * eta;
  *exact = s.alpha * sum + mp100(s.beta) * c + bias;
  return ((1 + e) * pow(1 + u, 3) - 1) * abs(mp100(s.alpha)) * absolute +
         (pow(1 + u, 2) - 1) * abs(mp100(mp100(s.beta) * c)) + u * abs(mp100(bias)) + pow(1 + u, 3) * n;
}

TEST(matmul_reference, encloses_what_the_plain_formula_gives) {
  std::mt19937_64 random(5);
  const auto draw = [&] { return static_cast<double>(std::uniform_real_distribution<float>(-3, 3)(random)); };
  for (const auto arithmetic : {dot_arithmetic::ieee, dot_arithmetic::tf32x3}) {
    for (const int k : {1, 2, 7, 64, 65, 300}) {
      matmul_setting s = setting_of(k, arithmetic);
      s.alpha = draw(), s.beta = draw(), s.has_bias = true;
      values a(k), b(k);
      for (double& x : a) x = draw();
      for (double& x : b) x = draw();
      const double c = draw(), bias = draw();
      const matmul_element element(s, {a, b, c, bias});
      mp100 exact;
      const mp100 bound = plain_bound(s, a, b, c, bias, &exact);
      const auto contains = [](const auto& e, const mp100& x) {
        return abs(mp100(mp100(e.value) - x)) <= mp100(e.radius) * (1 + mp100("1e-40"));
      };
      ASSERT_TRUE(contains(element.evaluate<double>(0).exact, exact)) << k;
      ASSERT_TRUE(contains(element.evaluate<double>(0).bound, bound)) << k;
      ASSERT_TRUE(contains(element.evaluate<mp50>(0).exact, exact)) << k;
      ASSERT_TRUE(contains(element.evaluate<mp50>(0).bound, bound)) << k;
      ASSERT_LE(element.evaluate<double>(0).exact.radius, 1e-6 * static_cast<double>(bound));
      for (const double step : {0.999999, 1.000001, 1 + 1e-14, 1 - 1e-14}) {
        const auto actual = static_cast<double>(mp100(exact + bound * mp100(step)));
        const bool within = abs(mp100(actual) - exact) <= bound;
        EXPECT_EQ(element.judge(actual).accepted, within) << k << ' ' << step;
        EXPECT_EQ(element.judge(actual, precision::digits100).accepted, within) << k << ' ' << step;
      }
    }
  }
}

TEST(matmul_reference, known_values) {
  const values ones(1000, 1), tenth(1000, static_cast<double>(0.1f));
  const matmul_element sum(setting_of(1000), {ones, tenth});
  EXPECT_EQ(sum.expected_text(), "100.00000149011611938");
  EXPECT_TRUE(sum.judge(100.00000149011612).accepted);
  EXPECT_FALSE(sum.judge(k_nan).accepted);
  EXPECT_FALSE(sum.judge(0).accepted);
  EXPECT_NEAR(sum.bound(), 1000 * k_unit * 100, 1e-5);
  // Slices of 10 bring the bound down to 109 roundings.
  matmul_setting sliced = setting_of(1000);
  sliced.slices = {100, 10};
  EXPECT_NEAR(matmul_element(sliced, {ones, tenth}).bound(), 109 * k_unit * 100, 1e-6);
  // Nothing is added: the product with alpha and that of beta c are the only roundings.
  matmul_setting scaled = setting_of(1);
  scaled.alpha = 3, scaled.beta = -2;
  EXPECT_EQ(matmul_element(scaled, {values{5}, values{7}, 11}).expected(), 83);
  // A catastrophic cancellation: the bound is relative to the sum of sizes.
  const values x{0x1p24, 1, -0x1p24}, y{1, 1, 1};
  EXPECT_EQ(matmul_element(setting_of(3), {x, y}).expected(), 1);
  EXPECT_TRUE(matmul_element(setting_of(3), {x, y}).judge(0).accepted);
  EXPECT_FALSE(matmul_element(setting_of(3), {x, y}).judge(16).accepted);
  EXPECT_THROW(matmul_element(setting_of(2), {x, y.empty() ? y : values{1}}), std::invalid_argument);
}

// What is accepted of an element of one product.
std::string accepted_of(const matmul_setting& s, double a, double b, double c = 0) {
  std::string accepted;
  for (const auto& [name, actual] :
       {std::pair{"0", 0.0}, {"half", 0.5}, {"1", 1.0}, {"inf", k_inf}, {"-inf", -k_inf}, {"nan", k_nan}})
    if (matmul_element(s, {values{a}, values{b}, c}).judge(actual).accepted) accepted += std::string(" ") + name;
  return accepted;
}

TEST(matmul_reference, scalars_that_are_not_finite) {
  matmul_setting s = setting_of(1);
  s.alpha = k_inf;
  EXPECT_EQ(accepted_of(s, 5, 7), " inf");
  EXPECT_EQ(accepted_of(s, -5, 7), " -inf");
  EXPECT_EQ(accepted_of(s, 5, 0), " nan");
  EXPECT_EQ(accepted_of(s, 5, k_nan), " nan");
  // The product may vanish.
  EXPECT_EQ(accepted_of(s, 0x1p-100, 0x1p-60), " inf -inf nan");
  s.alpha = k_nan;
  EXPECT_EQ(accepted_of(s, 0x1p-100, 0x1p-60), " nan");
  s.alpha = 1, s.beta = -k_inf;
  EXPECT_EQ(accepted_of(s, 5, 7, 2), " -inf");
  EXPECT_EQ(accepted_of(s, 5, 7, 0), " nan");
  s.beta = 0, s.sigmoid = true, s.mu = k_nan;
  EXPECT_EQ(accepted_of(s, 5, 7), " nan");
  s.mu = k_inf;
  EXPECT_EQ(accepted_of(s, 5, 7), " 0");
  s.sigma = 0;
  EXPECT_EQ(accepted_of(s, 5, 7), " nan");
  s.mu = 2, s.sigma = k_inf;
  EXPECT_EQ(accepted_of(s, 5, 7), " 1");
  EXPECT_EQ(accepted_of(s, -5, 7), " 0");
  s.sigma = k_nan;
  EXPECT_EQ(accepted_of(s, 5, 7), " nan");
}

TEST(matmul_reference, bits_of_chains) {
  const values a{1 + 0x1p-12, 1, 3}, b{1 + 0x1p-12, -1, 0.25};
  matmul_setting s = setting_of(3);
  // fma(a, b, 0) rounds 1 + 2^-11 + 2^-24 to even; the sum with -1 is exact, that with 0.75 too.
  EXPECT_EQ(chained_value(s, {a, b}), 0.75f + 0x1p-11f);
  s.slices = {2, 2};
  EXPECT_EQ(chained_value(s, {a, b}), 0.75f + 0x1p-11f);
  // The order of additions shows: 2^24 + 1 + 1 in one chain, and with the ones in a slice of their own.
  const values large{0x1p24, 1, 1}, ones{1, 1, 1};
  s.slices = {1, 3};
  EXPECT_EQ(chained_value(s, {large, ones}), 0x1p24f);
  const values split_large{0x1p24, 0, 1, 1}, four(4, 1.0);
  s.slices = {2, 2};
  EXPECT_EQ(chained_value(s, {split_large, four}), 0x1p24f + 2);
  // Where another arithmetic is made of FMAs, a slice has a chain for each promotion.
  s.slices = {1, 4};
  EXPECT_EQ(chained_value(s, {split_large, four}), 0x1p24f);
  s.arithmetic = dot_arithmetic::tf32x3, s.promotion = 2;
  EXPECT_EQ(chained_value(s, {split_large, four}), 0x1p24f + 2);
  s.arithmetic = dot_arithmetic::ieee;
  // alpha is applied to the sum, beta c by one FMA, then the bias.
  s.slices = {1, 1};
  s.alpha = static_cast<double>(0.1f), s.beta = static_cast<double>(0.7f), s.has_bias = true;
  EXPECT_EQ(chained_value(s, {values{3}, values{5}, 7, 11}), std::fmaf(0.7f, 7, 0.1f * 15) + 11);
  s.beta = 0;
  EXPECT_EQ(chained_value(s, {values{3}, values{5}, k_nan, 11}), 0.1f * 15 + 11);
  s.alpha = 0;
  EXPECT_EQ(chained_value(s, {values{k_nan}, values{5}, k_nan, 11}), 11);
  EXPECT_EQ(chained_value(setting_of(0), {}), 0);
}

// The chain itself stays within the bound, the more so the longer, and a chain twice as long does not.
TEST(matmul_reference, the_chain_comes_close_to_the_bound) {
  for (const int k : {3, 64, 4096}) {
    values a(k, 0x1.fffffep-25), b(k, 1);  // every addition to 1 loses one u
    a[0] = 1;
    matmul_setting s = setting_of(k);
    const auto chained = static_cast<double>(chained_value(s, {a, b}));
    const judgement whole = matmul_element(s, {a, b}).judge(chained);
    EXPECT_TRUE(whole.accepted);
    if (k > 3) {
      EXPECT_GT(whole.error_ratio(), 0.98) << k;
    }
    s.slices = {2, (k + 1) / 2};  // what two slices may lose
    EXPECT_EQ(matmul_element(s, {a, b}).judge(chained).accepted, k == 3) << k;
  }
}

TEST(matmul_reference, special_values) {
  struct line {
    values a, b;
    double alpha, beta, c, y;
  };
  const double top = max_finite(dtype::f32);
  const line table[] = {
      {{k_nan, 1}, {1, 1}, 1, 0, 0, k_nan},
      {{k_inf, 1}, {0, 1}, 1, 0, 0, k_nan},
      {{k_inf, 1}, {1, 1}, 1, 0, 0, k_inf},
      {{k_inf, 1}, {-1, 1}, 1, 0, 0, -k_inf},
      {{k_inf, 1}, {1, 1}, -2, 0, 0, -k_inf},
      {{k_inf, k_inf}, {1, -1}, 1, 0, 0, k_nan},
      {{k_inf, 1}, {1, k_inf}, 1, 0, 0, k_inf},
      {{k_inf}, {1}, 1, 1, -k_inf, k_nan},
      {{1}, {1}, 1, -1, k_inf, -k_inf},
      {{1}, {1}, 1, 1, k_nan, k_nan},
      {{-0x1p-149, k_inf}, {1, -0x1p-149}, 1, 0, 0, -k_inf},
  };
  for (const line& l : table) {
    matmul_setting s = setting_of(static_cast<int64_t>(l.a.size()));
    s.alpha = l.alpha, s.beta = l.beta;
    const matmul_element element(s, {l.a, l.b, l.c});
    ASSERT_TRUE(element.contract_value().has_value());
    for (const double actual : {0.0, 1.0, top, k_inf, -k_inf, k_nan}) {
      const bool same = std::isnan(actual) ? std::isnan(l.y) : actual == l.y;
      EXPECT_EQ(element.judge(actual).accepted, same) << actual << " for " << l.y;
    }
  }
  // Not read: with alpha 0 the operands, with beta 0 c.
  matmul_setting s = setting_of(1);
  s.alpha = 0;
  EXPECT_TRUE(matmul_element(s, {values{k_nan}, values{k_inf}, k_nan, k_nan}).judge(0).accepted);
  EXPECT_FALSE(matmul_element(s, {values{k_nan}, values{k_inf}}).judge(k_nan).accepted);
}

TEST(matmul_reference, overflow_on_the_way) {
  const double top = max_finite(dtype::f32);
  const values one{1, 1};
  for (const double actual : {k_inf, -k_inf, k_nan, 0.0})
    EXPECT_TRUE(matmul_element(setting_of(2), {values{top, -top}, one}).judge(actual).accepted) << actual;
  EXPECT_FALSE(matmul_element(setting_of(2), {values{top, -top}, one}).judge(top).accepted);
  EXPECT_FALSE(matmul_element(setting_of(2), {values{0x1p126, -0x1p126}, one}).judge(k_inf).accepted);
  // alpha brings it back, but the sum has overflowed.
  matmul_setting s = setting_of(2);
  s.alpha = 0x1p-10;
  EXPECT_TRUE(matmul_element(s, {values{top, top}, one}).judge(k_inf).accepted);
  // The result alone: at the threshold infinity is right, too.
  s.alpha = 2;
  const values large{0x1p126, 0x1.8p126};
  const matmul_element beyond(s, {large, one});
  EXPECT_TRUE(beyond.judge(k_inf).accepted);
  // The sum of sizes counts with what a split makes of it: 1 + 2^-9 more.
  const values near{0x1.ff8p127};
  EXPECT_FALSE(matmul_element(setting_of(1), {near, values{1}}).may_overflow());
  EXPECT_TRUE(matmul_element(setting_of(1, dot_arithmetic::tf32x3), {near, values{1}}).may_overflow());
}

TEST(matmul_reference, layer) {
  matmul_setting s = setting_of(2);
  s.has_bias = s.sigmoid = true;
  s.mu = 1, s.sigma = 0.5;
  const values a{2, 3}, b{0.5, -1};
  const matmul_element element(s, {a, b, 0, 4});  // v = 2, z = 0.5
  EXPECT_NEAR(element.expected(), 1 / (1 + std::exp(-0.5)), 1e-15);
  EXPECT_TRUE(element.judge(static_cast<double>(static_cast<float>(element.expected()))).accepted);
  EXPECT_FALSE(element.judge(1 / (1 + std::exp(0.5))).accepted);             // the wrong sign
  EXPECT_FALSE(element.judge(1 / (1 + std::exp(-0.5 * (2 - 4)))).accepted);  // sigmoid before the bias
  // The argument's error counts: wider than the operator sigmoid alone, and by its factor.
  const double alone = sigmoid_model(1, 0.5, dtype::f32).bound(2);
  EXPECT_GT(element.bound(), alone);
  EXPECT_LT(element.bound(), alone + 0.5 * 0.25 * matmul_element(setting_of(2), {a, b}).bound() * 3);
  // So large an argument, with cancellation, that nothing is known but the range.
  const values big{0x1p40, -0x1p40}, ones{1, 1};
  const matmul_element unknown(s, {big, ones, 0, 0});
  EXPECT_TRUE(unknown.judge(0.0).accepted);
  EXPECT_TRUE(unknown.judge(1.0).accepted);
  EXPECT_FALSE(unknown.judge(1.5).accepted);
  EXPECT_FALSE(unknown.judge(k_nan).accepted);
  // Infinities by the rules of the operator.
  EXPECT_TRUE(matmul_element(s, {values{k_inf, 1}, ones, 0, 0}).judge(1).accepted);
  EXPECT_FALSE(matmul_element(s, {values{k_inf, 1}, ones, 0, 0}).judge(0.5).accepted);
  EXPECT_TRUE(matmul_element(s, {values{k_inf, k_nan}, ones, 0, 0}).judge(k_nan).accepted);
}

TEST(matmul_reference, outputs_of_16_bits_are_rounded_once_more) {
  matmul_setting s = setting_of(1, dot_arithmetic::f16);
  s.output = dtype::f16;
  const values a{1 + 0x1p-10};
  const matmul_element element(s, {a, a});
  EXPECT_TRUE(element.judge(1 + 0x1p-9).accepted);
  EXPECT_FALSE(element.judge(1).accepted);
  s.arithmetic = dot_arithmetic::bf16, s.output = dtype::bf16;
  EXPECT_TRUE(matmul_element(s, {values{3}, values{5}}).judge(15).accepted);
  EXPECT_FALSE(matmul_element(s, {values{3}, values{5}}).judge(15.25).accepted);
}

// What a mode promises, and less: each lesser way is rejected on some row, the right one on none.
TEST(matmul_reference, less_precision_than_the_mode_is_rejected) {
  struct way {
    const char* name;
    dot_arithmetic mode;
    split_product product;
    bool right;
  };
  split_product one_tf32 = tf32x3_product(), bf16x3 = bf16x6_product(), dropping = tf32x3_product(),
                rare = tf32x3_product(), rare_six = bf16x6_product(), twice = tf32x3_product();
  one_tf32.products[0] = {0, 0}, one_tf32.count = 1;
  bf16x3.products = {part_pair{1, 0}, part_pair{0, 1}, part_pair{0, 0}}, bf16x3.count = 3;
  dropping.how = narrowing::towards_zero;
  rare.promotion = rare_six.promotion = 512;
  twice.products[0] = {0, 1};  // hi*lo for lo*hi
  const way ways[] = {{"tf32x3", dot_arithmetic::tf32x3, tf32x3_product(), true},
                      {"bf16x6", dot_arithmetic::bf16x6, bf16x6_product(), true},
                      {"one tf32", dot_arithmetic::tf32x3, one_tf32, false},
                      {"bf16x3", dot_arithmetic::bf16x6, bf16x3, false},
                      {"dropping", dot_arithmetic::tf32x3, dropping, false},
                      {"promotion every 512", dot_arithmetic::tf32x3, rare, false},
                      {"six, promotion every 512", dot_arithmetic::bf16x6, rare_six, false},
                      {"hi*lo twice", dot_arithmetic::tf32x3, twice, false}};
  struct row {
    std::vector<float> a, b;
  };
  std::vector<row> rows;
  std::mt19937_64 random(9);
  for (const int k : {1, 8, 64, 512}) {
    row drawn, ones, cut, ties, halves;
    for (int l = 0; l < k; ++l) {
      drawn.a.push_back(std::uniform_real_distribution<float>(-1, 1)(random));
      drawn.b.push_back(std::uniform_real_distribution<float>(-1, 1)(random));
      ones.a.push_back(1 + 0x1p-10f - 0x1p-23f);  // all low bits set
      ones.b.push_back(1 + 0x1p-10f - 0x1p-23f);
      // 1, then products just under 2^-24 that each step cuts to less.
      cut.a.push_back(l == 0 ? 1 : l % 8 ? 0x1.fep-13f : 0x1.fep-14f);
      cut.b.push_back(l == 0 ? 1 : 0x1p-12f);
      ties.a.push_back(1 + 0x1p-11f);
      ties.b.push_back(1);
      halves.a.push_back(1 + 0x1p-8f - 0x1p-23f);  // a second part of bf16 that is as large as can be
      halves.b.push_back(1 + 0x1p-8f - 0x1p-23f);
    }
    for (row* r : {&drawn, &ones, &cut, &ties, &halves}) rows.push_back(*r);
  }
  for (const way& w : ways) {
    double worst = 0;
    for (const row& r : rows) {
      const values a(r.a.begin(), r.a.end()), b(r.b.begin(), r.b.end());
      const auto k = static_cast<int64_t>(a.size());
      const judgement j = matmul_element(setting_of(k, w.mode), {a, b})
                              .judge(static_cast<double>(tensor_core_dot(w.product, r.a, r.b)));
      worst = std::max(worst, j.error_ratio());
    }
    std::printf("%-26s uses %.3f of the bound\n", w.name, worst);
    EXPECT_EQ(worst <= 1, w.right) << w.name;
  }
}

}  // namespace
}  // namespace warpcheck::reference
