// Runs that take turns on a device while their time is measured.
#pragma once

#include <functional>

namespace warpcheck::bench {

// A callee that takes turns. A judged run has all functions: in each turn one more execution, at a place drawn at
// random, is not timed but prepared, copied and judged, and the callee cannot distinguish it from the timed ones.
struct timed_run {
  std::function<void(int i)> run;
  std::function<void()> wait = nullptr;          // waits for the runs, if the turns have no common stream
  std::function<void()> begin = nullptr;         // called before a turn, while the device is idle
  std::function<void(int i)> prepare = nullptr;  // enqueues the inputs of execution i, and an empty output
  std::function<void(int i)> keep = nullptr;     // enqueues a copy of the outputs of execution i
  // Called after a turn, while the device is idle, with the time of its executions by the device's and the host's
  // clock, in us.
  std::function<void(double device_us, double host_us)> end = nullptr;
};

}  // namespace warpcheck::bench
