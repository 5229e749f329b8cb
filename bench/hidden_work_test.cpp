// When a median is refused because its turns contain more work.
#include "bench/hidden_work.hpp"

#include <gtest/gtest.h>

namespace {

using warpcheck::bench::hidden_work;

// Turns of 30 executions of 10 us and copies of 100 us, that took so much longer.
hidden_work of(std::initializer_list<double> longer) {
  hidden_work turns;
  for (const double us : longer) turns.add({30, 10, 100, 400 + us});
  return turns;
}

std::string problem(const hidden_work& turns, double usual = 0) { return turns.problem(10, usual); }

TEST(HiddenWork, OneUndisturbedTurnIsEnough) {
  EXPECT_EQ(problem(of({5000, 12, 900}), of({10}).usual_us()), "");
  EXPECT_EQ(problem(of({5000, 300, 900}), of({10}).usual_us()),
            "each turn took at least 300 us longer than the 400 us of its 30 executions at the "
            "median of 10.00 us: work is done beside the stream of the call, or for other executions, or other "
            "processes keep this host or the GPU busy in every turn");
  EXPECT_EQ(problem({}), "");
}

TEST(HiddenWork, ABusyHostIsBusyForOursToo) {
  EXPECT_NE(problem(of({231, 240})), "");
  EXPECT_NE(problem(of({231, 240}), of({20, 300}).usual_us()), "");
  EXPECT_EQ(problem(of({231, 240}), of({205, 300}).usual_us()), "");
}

TEST(HiddenWork, WorkThatOutlastsTheTurnIsSeenOnABusyHost) { EXPECT_NE(problem(of({5458}), of({205}).usual_us()), ""); }

TEST(HiddenWork, AHostThatIsAlwaysLateExcusesNothing) { EXPECT_NE(problem(of({5458}), of({5400}).usual_us()), ""); }

// In three of five turns one execution does the work of all, and each other one takes a microsecond.
TEST(HiddenWork, AnHonestTurnDoesNotExcuseTheMedianOfTheOthers) {
  hidden_work turns;
  for (const double median : {1.0, 10.0, 1.0, 10.0, 1.0}) turns.add({30, median, 100, 405});
  EXPECT_NE(turns.problem(1, 5), "");
  EXPECT_EQ(turns.problem(10, 5), "");
}

TEST(HiddenWork, TurnsOfABusyHostAreTakenAgainTwiceAtMost) {
  using warpcheck::bench::turns_of_calm_host;
  const auto taken = [](int calm_from) {
    int turn = 0;
    EXPECT_EQ(turns_of_calm_host([&] { return ++turn; }, [&](int last) { return last < calm_from; }), turn);
    return turn;
  };
  EXPECT_EQ(taken(1), 1);
  EXPECT_EQ(taken(2), 2);
  EXPECT_EQ(taken(9), 3);
}

}  // namespace
