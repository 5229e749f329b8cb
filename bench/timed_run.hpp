// Runs that take turns on a device while their time is measured.
#pragma once

#include <functional>
#include <vector>

namespace warpcheck::bench {

// Takes the time of the executions of a turn: of those between the first mark and the last one.
class turn_clock {
 public:
  virtual ~turn_clock() = default;
  virtual void begin() = 0;
  virtual void mark() = 0;
  // Waits for all executions. Returns the us between each mark and the next one by the device's clock; `host_us` gets
  // the time of all by the host's.
  virtual std::vector<double> finish(double* host_us) = 0;
  // Returns whether the device may have waited for the host within the last turn, which the next one avoids.
  bool was_late() const { return was_late_; }

 protected:
  // How many times longer than usual the device works before the first mark, while the host sends the calls. A host
  // that needs longer, for it is busy or the calls allocate memory, gets four times as long, and perhaps once more.
  int head_start() const { return head_start_; }
  void note_host(bool is_late) {
    constexpr int k_longest = 16;
    was_late_ = is_late && head_start_ < k_longest;
    if (was_late_) head_start_ *= 4;
  }

 private:
  int head_start_ = 1;
  bool was_late_ = false;
};

// A turn and its times in us.
struct turn_times {
  int executions = 0;
  double median = 0;  // of a timed execution
  double copies = 0;  // of the copies around the judged execution
  double whole = 0;   // of all by the device's or the host's clock, whichever shows more
};

// Turns of each run among several, and the executions at the beginning of a turn that are not timed.
constexpr int k_turns_of_run = 5, k_warmup_calls = 8;

// A callee that takes turns. A judged run has all functions: in each turn one more execution, at a place drawn at
// random, is not timed but prepared, copied and judged, and the callee cannot distinguish it from the timed ones: all
// executions of a turn get new inputs of the same kind.
struct timed_run {
  std::function<void(int i)> run;
  turn_clock* clock = nullptr;           // null: events of the stream of the turns
  std::function<void()> wait = nullptr;  // waits for the runs, if the turns have no common stream
  // Called before a turn, while the device is idle: gives new inputs to `count` executions from `first` on.
  std::function<void(int first, int count)> begin = nullptr;
  std::function<void(int i)> prepare = nullptr;          // enqueues the inputs of execution i, and an empty output
  std::function<void(int i)> keep = nullptr;             // enqueues a copy of the outputs of execution i
  std::function<void(const turn_times&)> end = nullptr;  // called after a turn, while the device is idle
};

}  // namespace warpcheck::bench
