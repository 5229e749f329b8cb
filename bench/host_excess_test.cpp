// When turns are refused because the host waited for more than the device's clock shows.
#include "bench/host_excess.hpp"

#include <gtest/gtest.h>

namespace {

using warpcheck::bench::host_excess;

host_excess of(std::initializer_list<double> waited) {
  host_excess turns;
  for (const double us : waited) turns.add(400, 400 + us);
  return turns;
}

TEST(HostExcess, OneUndisturbedTurnIsEnough) {
  EXPECT_EQ(of({5000, 12, 900}).problem(of({10})), "");
  EXPECT_NE(of({5000, 300, 900}).problem(of({10})), "");
}

TEST(HostExcess, ABusyHostIsBusyForOursToo) {
  EXPECT_NE(of({231, 240}).problem({}), "");
  EXPECT_NE(of({231, 240}).problem(of({20, 300})), "");
  EXPECT_EQ(of({231, 240}).problem(of({205, 300})), "");
}

TEST(HostExcess, WorkThatOutlastsTheTurnIsSeenOnABusyHost) { EXPECT_NE(of({5458}).problem(of({205})), ""); }

TEST(HostExcess, AHostThatIsAlwaysLateExcusesNothing) { EXPECT_NE(of({5458}).problem(of({5400})), ""); }

// Our product of 64 x 64 on a busy H200: 157 us late in each turn, and refused, for its limit was less late.
TEST(HostExcess, AKernelOfOursIsNoWorkBesideTheStream) {
  host_excess trusted = of({3});
  const host_excess ours = of({157, 190});
  EXPECT_NE(ours.problem(trusted), "");
  trusted.allow(ours);
  EXPECT_EQ(ours.problem(trusted), "");
}

TEST(HostExcess, TheMostOfSeveralTrustedRunsCountsUnlessTheHostWasBusy) {
  host_excess trusted = of({30});
  trusted.allow(of({5400}));
  trusted.allow({});
  EXPECT_NE(of({231}).problem(trusted), "");
  trusted.allow(of({200}));
  trusted.allow(of({40}));
  EXPECT_EQ(of({231}).problem(trusted), "");
}

}  // namespace
