// Every value of f32 through the gate functions, as the emulated device computes them (all of them on a GPU would be
// those of CUDA's expf and tanhf, of which self.cuda.sweeps has the first).
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include "kernels/gru/sequence.hpp"

namespace warpcheck::self {
namespace {

constexpr uint64_t k_patterns = uint64_t{1} << 32, k_shards = 16;

struct gate_errors {
  uint64_t wrong = 0;
  float first_wrong = 0;
  double worst_logistic = 0, worst_tanh = 0;  // of their bounds
};

// The part of its bound that a gate's error takes; infinite where its range or a special value is wrong.
double part_of_bound(double actual, double exact) {
  const double part = std::fabs(actual - exact) / (8 * 0x1p-24 * std::fabs(exact) + 0x1p-126);
  return std::isnan(part) || std::fabs(actual) > 1 ? INFINITY : part;
}

// gates(a): both functions at a.
template <class Gates>
gate_errors sweep(uint64_t begin, uint64_t end, uint64_t step, const Gates& gates) {
  gate_errors e;
  for (uint64_t i = begin; i < end; i += step) {
    const auto a = std::bit_cast<float>(static_cast<uint32_t>(i));
    const gru_gates g = gates(a), mirrored = gates(-a);
    bool right;
    if (std::isnan(a)) {
      right = std::isnan(g.r) && std::isnan(g.n);
    } else {
      const double x = a, of_logistic = part_of_bound(g.r, 1 / (1 + std::exp(-x)));
      const double of_tanh = part_of_bound(g.n, std::tanh(x));
      e.worst_logistic = std::max(e.worst_logistic, of_logistic);
      e.worst_tanh = std::max(e.worst_tanh, of_tanh);
      right = of_logistic <= 1 && of_tanh <= 1 && g.r >= 0 && (a > -104 || g.r == 0) && (a < 18 || g.r == 1) &&
              (a != 0 || g.r == 0.5f) &&
              std::bit_cast<uint32_t>(mirrored.n) == (std::bit_cast<uint32_t>(g.n) ^ 0x80000000u);
    }
    if (!right && e.wrong++ == 0) e.first_wrong = a;
  }
  return e;
}

// The zero's sign is that of a, or the sum in front of tanh would make +0 of -0.
gru_gates kernels_gates(float a) { return gru_gates_of(a, 0.0f, a, 0.0f, a, std::copysign(0.0f, a)); }

class gru_every_float : public testing::TestWithParam<uint64_t> {};

TEST_P(gru_every_float, gates_are_within_their_bounds) {
  const uint64_t length = k_patterns / k_shards, begin = GetParam() * length;
  const gate_errors e = sweep(begin, begin + length, 1, kernels_gates);
  EXPECT_EQ(e.wrong, 0) << "the first is " << e.first_wrong;
}
INSTANTIATE_TEST_SUITE_P(nightly, gru_every_float, testing::Range<uint64_t>(0, k_shards),
                         [](const auto& info) { return std::to_string(info.param); });

TEST(gru_gates, are_within_their_bounds_on_a_sample) {
  const gate_errors e = sweep(0, k_patterns, 65521, kernels_gates);
  EXPECT_EQ(e.wrong, 0) << "the first is " << e.first_wrong;
  EXPECT_GT(e.worst_logistic, 0.1) << "no function of f32 is more accurate than rounding to nearest";
  EXPECT_GT(e.worst_tanh, 0.05);
}

TEST(gru_gates, that_err_are_seen) {
  const auto coarse_tanh = [](float a) {
    gru_gates g = kernels_gates(a);
    g.n *= 1.0f - 0x1p-20f;
    return g;
  };
  const auto no_tail = [](float a) {
    gru_gates g = kernels_gates(a);
    if (a < -80.0f) g.r = 0.0f;
    return g;
  };
  EXPECT_GT(sweep(0, k_patterns, 65521, coarse_tanh).wrong, 0);
  EXPECT_GT(sweep(0, k_patterns, 65521, no_tail).wrong, 0);
}

}  // namespace
}  // namespace warpcheck::self
