// Runs that take turns on a device while their time is measured.
#pragma once

#include <functional>

namespace warpcheck::bench {

// A callee that takes turns. A run that is judged has all functions: in each turn one more execution, at a place
// drawn at random, is not timed but prepared, kept and judged, and the callee cannot distinguish it from the timed
// ones.
struct timed_run {
  std::function<void(int i)> run;
  std::function<void()> wait = nullptr;          // for what was run, where the turns have no stream in common
  std::function<void()> begin = nullptr;         // before a turn, while the device is idle
  std::function<void(int i)> prepare = nullptr;  // enqueues the inputs of execution i, and an empty output
  std::function<void(int i)> keep = nullptr;     // enqueues a copy of what execution i wrote
  // After a turn, while the device is idle: its executions in us by the device's clock and by the host's.
  std::function<void(double device_us, double host_us)> end = nullptr;
};

}  // namespace warpcheck::bench
