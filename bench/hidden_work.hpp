// Work of a callee that is not in its result, the median of the timed executions.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/timed_run.hpp"

namespace warpcheck::bench {

// Compares whole turns with executions that all take the median time. The difference is the turn's excess: work beside
// the stream, or of few executions for the others. The least excess of a callee's turns counts, for a disturbed host is
// late in some turns. It is late in all of them only if it is always busy.
class hidden_work {
 public:
  void add(const turn_times& turn) { turns_.push_back(turn); }

  // Returns the excess of a callee that hides nothing: what this host, and the first executions of a turn, usually add.
  double usual_us() const {
    constexpr double k_busy_us = 1000;  // beyond it the host's clock can show nothing
    double least = k_busy_us;
    for (const turn_times& turn : turns_) least = std::min(least, turn.whole - expected_us(turn, turn.median));
    return least < k_busy_us ? least : 0;
  }
  // Returns why the median over all turns is no result, or "". `usual` is the most of our own kernels' usual_us().
  std::string problem(double median_us, double usual) const {
    constexpr double k_us = 100, k_share = 0.1;  // the clocks' own disagreement; on an idle host some 10 us
    if (turns_.empty()) return "";
    const turn_times& turn =
        *std::ranges::min_element(turns_, {}, [&](const turn_times& t) { return t.whole - expected_us(t, median_us); });
    const double expected = expected_us(turn, median_us);
    if (turn.whole <= usual + k_us + k_share * expected + expected) return "";
    return fmt::format(
        "each turn took at least {:.0f} us longer than the {:.0f} us of its {} executions at the "
        "median of {:.2f} us: work is done beside the stream of the call, or for other executions, or other processes "
        "keep this host or the GPU busy in every turn",
        turn.whole - expected, expected, turn.executions, median_us);
  }

 private:
  static double expected_us(const turn_times& turn, double median_us) {
    return turn.copies + turn.executions * median_us;
  }

  std::vector<turn_times> turns_;
};

// Returns what `turns` returns. While `hides_work` is true of it, the turns are taken again, at most twice, because a
// busy host may have been late in all of them. A callee that hides work gains nothing, for all its turns stay known.
template <class Turns, class Hides>
auto turns_of_calm_host(const Turns& turns, const Hides& hides_work) {
  constexpr int k_more = 2;
  auto times = turns();
  for (int i = 0; i < k_more && hides_work(times); ++i) times = turns();
  return times;
}

}  // namespace warpcheck::bench
