// Barriers in conditional code: a finding if threads skip one, none for code that CUDA allows or that uses other
// barriers.
#include <gtest/gtest.h>

#include "tests/import/program.hpp"

namespace {

using namespace warpcheck::self;

struct mistake {
  const char* mode;
  const char* barrier;  // markers in conditionals.cu
  const char* condition;
  const char* who;
  int waiting;
};
void PrintTo(const mistake& m, std::ostream* out) { *out << m.mode; }

class Skipped : public testing::TestWithParam<mistake> {};

TEST_P(Skipped, BarrierIsFound) {
  const mistake& m = GetParam();
  const auto r =
      run_program(std::string("conditionals.cu --no-trace --schedule fair --schedule random:1 -- ") + m.mode);
  const std::string place = place_of("conditionals.cu", m.condition);
  EXPECT_TRUE(ended(r, 1,
                    {std::string("divergence: block (0,0,0) ") + m.who + " skipped the barrier of " +
                         place_of("conditionals.cu", m.barrier) + " and exited: the condition at " + place + " was ",
                     "for the " + std::to_string(m.waiting) + " threads at the barrier",
                     "conditionals.cu: divergence under 2 schedules"}));
}

INSTANTIATE_TEST_SUITE_P(Of, Skipped,
                         testing::Values(mistake{"branch", "branch", "branch-condition", "thread 48 and 15 more", 48},
                                         mistake{"second", "second", "second-condition", "thread 63", 63},
                                         mistake{"chain", "chain", "chain-condition", "thread 0 and 7 more", 56},
                                         mistake{"function", "meet", "function-condition", "thread 32 and 31 more", 32},
                                         mistake{"group", "group", "group-condition", "thread 32 and 31 more", 32},
                                         mistake{"wait", "wait", "wait-condition", "thread 32 and 31 more", 32},
                                         mistake{"lambda", "lambda", "lambda-condition", "thread 63", 63},
                                         mistake{"cub", "cub", "cub-condition", "thread 32 and 31 more", 32},
                                         mistake{"macro", "macro", "macro", "thread 62 and 1 more", 62},
                                         mistake{"loop", "loop", "loop-condition", "thread 63", 63},
                                         mistake{"tail", "tail", "tail-condition", "thread 63", 63}));

TEST(SkippedBarrier, HidesNoRace) {
  const auto r = run_program("conditionals.cu --no-trace --schedule fair --keep-going -- race");
  EXPECT_TRUE(ended(r, 1, {"divergence: ", "race: ", place_of("conditionals.cu", "race")}));
}

class Allowed : public testing::TestWithParam<const char*> {};

TEST_P(Allowed, BarrierIsClean) {
  const auto r = run_program(std::string("conditionals.cu --no-trace --seeds 1 -- ") + GetParam());
  EXPECT_TRUE(ended(r, 0, {"conditionals.cu: clean under"}));
}

INSTANTIATE_TEST_SUITE_P(Of, Allowed,
                         testing::Values("early-return", "return-of-branch", "uniform", "specialised", "collectives",
                                         "both-meet", "turns", "forms", "jump"));

}  // namespace
