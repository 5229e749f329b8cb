// The time of a candidate by a clock that it cannot change: it runs in a process of its own, the judge's clock counts.
#pragma once

#include "bench/timed_call.hpp"

namespace warpcheck::bench {

struct time_elsewhere {
  double us = 0;        // of a call
  double slack_us = 0;  // the part of it that launches, messages and reading results can take

  // True if a call can take as little as this by the device's clock.
  bool allows(double device_us) const { return us <= 1.25 * device_us + slack_us; }
};

// Measures calls on slots that all have new inputs. The time of a turn ends when an unforeseen part of each result has
// been read, so no result can be made later, and none earlier. Throws std::runtime_error if a result is wrong.
// `device`: that of a runner, with the memory of host_timing().
time_elsewhere measure_elsewhere(const engine::description& d, const engine::bench_row& row, const bench_device& device,
                                 const engine::listed_operator& callee);

// Returns the number of slots for a row in a runner.
int slots_elsewhere(const traffic& moved);

}  // namespace warpcheck::bench
