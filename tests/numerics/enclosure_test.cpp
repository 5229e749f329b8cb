// The arithmetic of enclosures contains the truth, and the two assumptions it rests on hold on this host.
#include "reference/numerics/enclosure.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "reference/numerics/multiprecision.hpp"

namespace warpcheck::reference {
namespace {

using mp150 = boost::multiprecision::number<boost::multiprecision::cpp_dec_float<150>, boost::multiprecision::et_off>;

double uniform(std::mt19937_64& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

// |x| log-uniform over [2^-40, 2^40].
double any_size(std::mt19937_64& random) { return (random() & 1 ? 1 : -1) * std::exp2(uniform(random, -40, 40)); }

template <class Real>
void expect_contains(const basic_enclosure<Real>& e, const mp150& truth, const char* what) {
  const mp150 distance = abs(mp150(e.value) - truth);
  ASSERT_LE(distance, mp150(e.radius)) << what << ": value " << e.value << " radius " << e.radius;
}

// Operands of three widths, each taken at both ends and in the middle.
template <class Real>
void arithmetic_contains_truth() {
  std::mt19937_64 random(3);
  for (int k = 0; k < 2000; ++k) {
    const double width = k % 3 == 0 ? 0 : k % 3 == 1 ? 1e-9 : 1e-3;
    const double x = any_size(random), y = any_size(random);
    const basic_enclosure<Real> a(Real(x), std::fabs(x) * width), b(Real(y), std::fabs(y) * width);
    // Arguments of the elementary functions: moderate, and for log1p above -1.
    const double z = uniform(random, -30, 30), w = uniform(random, -0.99, 5) * std::exp2(-(k % 50));
    const basic_enclosure<Real> c(Real(z), width), d(Real(w), std::fabs(w) * width * 1e-3);
    for (const int i : {-1, 0, 1}) {
      for (const int j : {-1, 0, 1}) {
        const mp150 p = mp150(x) + i * mp150(a.radius), q = mp150(y) + j * mp150(b.radius);
        expect_contains(a + b, p + q, "+");
        expect_contains(a - b, p - q, "-");
        expect_contains(a * b, p * q, "*");
        expect_contains(a / b, p / q, "/");
      }
      expect_contains(sqrt(abs(a)), sqrt(abs(mp150(x) + i * mp150(a.radius))), "sqrt");
      const mp150 r = mp150(z) + i * mp150(c.radius), s = mp150(w) + i * mp150(d.radius);
      expect_contains(exp(c), exp(r), "exp");
      expect_contains(expm1(d), mp_expm1(s), "expm1");
      expect_contains(log1p(d), mp_log1p(s), "log1p");
      expect_contains(abs(c), abs(r), "abs");
      expect_contains(-c, -r, "negation");
    }
  }
}

TEST(enclosure, double_arithmetic_contains_truth) { arithmetic_contains_truth<double>(); }
TEST(enclosure, root_of_what_may_be_negative_is_anything) {
  for (const double value : {-1.0, 0.0, 0.5})
    EXPECT_TRUE(std::isinf(sqrt(basic_enclosure<double>(value, 0.5)).radius)) << value;
}
TEST(enclosure, digits50_arithmetic_contains_truth) { arithmetic_contains_truth<mp50>(); }
TEST(enclosure, digits100_arithmetic_contains_truth) { arithmetic_contains_truth<mp100>(); }

TEST(enclosure, bounds_are_outward) {
  std::mt19937_64 random(4);
  for (int k = 0; k < 10000; ++k) {
    const double x = any_size(random), r = std::fabs(any_size(random)) * 1e-6;
    const enclosure e(x, r);
    ASSERT_GE(mp150(e.upper()), mp150(x) + mp150(r));
    ASSERT_LE(mp150(e.lower()), mp150(x) - mp150(r));
    const mp50 third = mp50(x) / 3;
    ASSERT_GE(mp150(basic_enclosure<mp50>(third, r).upper()), mp150(third) + mp150(r));
  }
}

TEST(enclosure, dividing_by_an_interval_around_zero_knows_nothing) {
  EXPECT_EQ((enclosure(1.0, 0) / enclosure(0.5, 0.5)).radius, std::numeric_limits<double>::infinity());
  EXPECT_EQ((enclosure(1.0, 0) / enclosure(0.0, 0)).radius, std::numeric_limits<double>::infinity());
}

// The largest relative error of `f` over points of `draw`, against 100 digits.
double worst_error(const std::function<double(double)>& f, const std::function<mp100(const mp100&)>& truth,
                   const std::function<double(std::mt19937_64&)>& draw) {
  std::mt19937_64 random(5);
  double worst = 0;
  for (int k = 0; k < 20000; ++k) {
    const double x = draw(random);
    const mp100 t = truth(x);
    worst = std::max(worst, static_cast<double>(abs((mp100(f(x)) - t) / t)));
  }
  return worst;
}

TEST(enclosure, libm_within_assumption) {
  const auto check = [](const char* name, double worst) {
    testing::Test::RecordProperty(name, std::to_string(worst / k_double_unit));
    std::printf("%s: worst relative error %.3f u, assumed %.0f u\n", name, worst / k_double_unit,
                arithmetic<double>::elementary / k_double_unit);
    EXPECT_LE(worst, arithmetic<double>::elementary) << name;
    // A measurement of nothing would pass too: a rounding cannot always be exact.
    EXPECT_GE(worst, k_double_unit / 2) << name;
  };
  const auto exp100 = [](const mp100& x) { return mp100(exp(x)); };
  const auto log1p100 = [](const mp100& x) { return mp_log1p(x); };
  const auto expm1100 = [](const mp100& x) { return mp_expm1(x); };
  const auto exp_d = [](double x) { return std::exp(x); };
  const auto log1p_d = [](double x) { return std::log1p(x); };
  const auto expm1_d = [](double x) { return std::expm1(x); };
  check("exp_row", worst_error(exp_d, exp100, [](auto& g) { return uniform(g, -700, 0); }));
  check("exp_small", worst_error(exp_d, exp100, [](auto& g) { return -std::exp2(uniform(g, -60, 3)); }));
  check("log1p_tail", worst_error(log1p_d, log1p100, [](auto& g) { return std::exp2(uniform(g, -150, 31)); }));
  check("log1p_below", worst_error(log1p_d, log1p100, [](auto& g) { return -std::exp2(uniform(g, -60, -1)); }));
  check("expm1_small", worst_error(expm1_d, expm1100, [](auto& g) { return std::exp2(uniform(g, -60, -10)); }));
}

template <class Real>
double worst_digits_error() {
  std::mt19937_64 random(6);
  mp150 worst = 0;
  const auto note = [&](const Real& actual, const mp150& truth) {
    worst = std::max(worst, mp150(abs((mp150(actual) - truth) / truth)));
  };
  for (int k = 0; k < 1000; ++k) {
    const double x = uniform(random, -700, 1), tail = std::exp2(uniform(random, -150, 31));
    const double small = std::exp2(uniform(random, -150, -9)) * (k % 2 ? 1 : -1);
    note(exp(Real(x)), exp(mp150(x)));
    note(exp(Real(small)), exp(mp150(small)));
    note(mp_log1p(Real(tail)), mp_log1p(mp150(tail)));
    note(mp_log1p(Real(small)), mp_log1p(mp150(small)));
    note(mp_expm1(Real(small)), mp_expm1(mp150(small)));
  }
  return static_cast<double>(worst);
}

TEST(enclosure, multiprecision_within_assumption) {
  const double worst50 = worst_digits_error<mp50>(), worst100 = worst_digits_error<mp100>();
  std::printf("worst relative error: %.1e with 50 digits, %.1e with 100\n", worst50, worst100);
  EXPECT_LE(worst50, arithmetic<mp50>::elementary);
  EXPECT_LE(worst100, arithmetic<mp100>::elementary);
}

// The series near zero against the library's own logarithm and exponential with digits to spare.
TEST(enclosure, series_agree_with_the_library) {
  std::mt19937_64 random(7);
  for (int k = 0; k < 300; ++k) {
    const double x = std::exp2(uniform(random, -30, -9)) * (k % 2 ? 1 : -1);
    const mp150 direct_log = log(mp150(1 + mp150(x))), direct_exp = exp(mp150(x)) - 1;
    ASSERT_LE(abs(mp150(mp_log1p(mp100(x))) / direct_log - 1), mp150(1e-96)) << x;
    ASSERT_LE(abs(mp150(mp_expm1(mp100(x))) / direct_exp - 1), mp150(1e-96)) << x;
  }
}

}  // namespace
}  // namespace warpcheck::reference
