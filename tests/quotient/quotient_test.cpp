// row_quotient against the host's IEEE division.
#include "tests/quotient/quotient.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "simt/emulation.hpp"
#include "tests/simt/device_array.hpp"

namespace warpcheck::self {
namespace {

std::vector<float> quotients(const std::vector<float>& e, const std::vector<float>& s, bool corrected = true) {
  device_array<float> of_e(e), of_s(s), y(e.size());
  simt::emulation stream;
  run_quotients(of_e.data(), of_s.data(), y.data(), static_cast<int64_t>(e.size()), corrected, &stream);
  return {y.data(), y.data() + y.size()};
}

int64_t wrong(const std::vector<float>& e, const std::vector<float>& s, const std::vector<float>& y) {
  int64_t count = 0;
  for (size_t i = 0; i < y.size(); ++i) count += y[i] != e[i] / s[i];
  return count;
}

// e in [2^least, 2^most) and s in [1, 2^35), every exponent as likely as another.
struct operands {
  std::vector<float> e, s;
  operands(size_t count, int least, int most) {
    std::mt19937_64 random(static_cast<uint64_t>(most - least));
    const auto significand = [&] { return 1 + static_cast<float>(random() >> 41) * 0x1p-23f; };
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); };
    for (size_t i = 0; i < count; ++i) {
      e.push_back(std::ldexp(significand(), least + below(most - least)));
      s.push_back(std::ldexp(significand(), below(35)));
    }
  }
};

constexpr size_t k_many = size_t{1} << 23;

TEST(quotient, of_one_by_every_count_is_rounded_correctly) {
  constexpr int64_t k_most = int64_t{1} << 24, k_at_a_time = int64_t{1} << 20;
  for (int64_t begin = 0; begin < k_most; begin += k_at_a_time) {
    std::vector<float> s;
    for (int64_t k = begin + 1; k <= begin + k_at_a_time; ++k) s.push_back(static_cast<float>(k));
    const std::vector<float> e(s.size(), 1.0f);
    ASSERT_EQ(wrong(e, s, quotients(e, s)), 0) << "with divisors from " << begin + 1;
  }
  // What a reciprocal that is a unit in the last place off rounds wrongly.
  EXPECT_EQ(quotients({1.0f}, {2796203.0f})[0], 1.0f / 2796203.0f);
}

TEST(quotient, of_terms_from_2_to_the_minus_100_is_rounded_correctly) {
  const operands o(k_many, -100, 0);
  EXPECT_EQ(wrong(o.e, o.s, quotients(o.e, o.s)), 0);
  EXPECT_TRUE(std::ranges::any_of(o.e, [&](const float& e) {
    return std::fpclassify(e / o.s[static_cast<size_t>(&e - o.e.data())]) == FP_SUBNORMAL;
  })) << "no result is subnormal";
  // The operands are telling: without the correction many a quotient is wrong.
  EXPECT_GT(wrong(o.e, o.s, quotients(o.e, o.s, false)), static_cast<int64_t>(k_many / 100));
}

TEST(quotient, of_smaller_terms_is_off_by_half_the_smallest_subnormal_more) {
  const operands o(k_many, -149, -100);
  const std::vector<float> y = quotients(o.e, o.s);
  double worst = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double exact = static_cast<double>(o.e[i]) / o.s[i];
    const float to_nearest = o.e[i] / o.s[i];
    const double half_ulp =
        0.5 * (static_cast<double>(std::bit_cast<float>(std::bit_cast<uint32_t>(to_nearest) + 1)) - to_nearest);
    worst = std::max(worst, (std::fabs(y[i] - exact) - half_ulp) / 0x1p-149);
  }
  EXPECT_LE(worst, 0.5);
  EXPECT_GT(worst, 0.25) << "not even off by that much: the operands tell little";
  EXPECT_GT(wrong(o.e, o.s, y), 0);
}

TEST(quotient, of_nan_is_nan_and_of_nothing_zero) {
  const std::vector<float> y = quotients({NAN, 1, 0}, {2, NAN, 3});
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
  EXPECT_EQ(std::bit_cast<uint32_t>(y[2]), 0u);
}

}  // namespace
}  // namespace warpcheck::self
