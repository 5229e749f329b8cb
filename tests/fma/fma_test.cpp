// Emulated kernels may be compiled with the instruction for fmaf or call libm: a user must not see which.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "properties/engine/cases/generate.hpp"
#include "properties/engine/trials/property.hpp"
#include "properties/engine/trials/trial.hpp"

bool has_fma_plain();
bool has_fma_portable();

namespace warpcheck::engine {
namespace {

TEST(Fma, OnlyThePortableFlavourCallsLibm) {
  EXPECT_EQ(has_fma_plain(), FMA_EXPECTED != 0);
  EXPECT_FALSE(has_fma_portable());
}

// A NaN's payload and sign are unspecified.
bool same(const host_tensor& t, const host_tensor& u, int64_t row, int64_t col) {
  return t.bits(row, col) == u.bits(row, col) ||
         (t.value(row, col) != t.value(row, col) && u.value(row, col) != u.value(row, col));
}

class Bits : public testing::TestWithParam<const char*> {};

TEST_P(Bits, AreTheSameEitherWay) {
  const std::vector<target> targets = find_targets(FMA_PORTABLE, GetParam(), "emulated");
  const auto f32 = std::ranges::find_if(targets, [](const target& t) { return t.type == dtype::f32; });
  ASSERT_NE(f32, targets.end());
  int64_t compared = 0, finite = 0;
  for (const char* name : {"within-error-bound", "special-values"}) {
    const property& p = find_property(GetParam(), name);
    for (int64_t i = 0; i < 40; ++i) {
      trial_case c = generate_case(p, *f32, 1, i);
      c.knobs["schedule"] = "fair";
      c.knobs["detect"] = "off";
      c.knobs["candidate"] = FMA_PORTABLE;
      const run_result by_libm = trial(c).run();
      c.knobs["candidate"] = FMA_BUILTIN;
      const run_result by_instruction = trial(c).run();
      for (const auto& [tensor, expected] : by_libm.tensors) {
        const host_tensor& actual = by_instruction.at(tensor);
        for (int64_t row = 0; row < expected.spec.rows(); ++row)
          for (int64_t col = 0; col < expected.spec.cols(); ++col) {
            ASSERT_TRUE(same(expected, actual, row, col))
                << format(c) << ": " << tensor << "[" << row << "," << col << "] is " << actual.value(row, col)
                << " by the instruction and " << expected.value(row, col) << " by libm";
            ++compared;
            finite += expected.value(row, col) != 0 && expected.value(row, col) == expected.value(row, col);
          }
      }
    }
  }
  EXPECT_GT(compared, 500);
  EXPECT_GT(2 * finite, compared);
}

INSTANTIATE_TEST_SUITE_P(Operators, Bits, testing::Values("softmax", "log_softmax", "logsumexp", "sigmoid"));

}  // namespace
}  // namespace warpcheck::engine
