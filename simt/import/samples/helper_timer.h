// Stands in for the header of this name that NVIDIA's samples share: clocks of the host.
#pragma once

#include <chrono>

class StopWatchInterface {
 public:
  void start() { begin_ = now(), runs_ = true; }
  void stop() {
    if (!runs_) return;
    last_ = now() - begin_, total_ += last_, ++sessions_, runs_ = false;
  }
  void reset() { *this = {}; }
  float getTime() { return runs_ ? now() - begin_ : total_; }
  float getAverageTime() const { return sessions_ == 0 ? 0 : total_ / static_cast<float>(sessions_); }

 private:
  static float now() {
    using milliseconds = std::chrono::duration<double, std::milli>;
    static const auto origin = std::chrono::steady_clock::now();
    return static_cast<float>(milliseconds(std::chrono::steady_clock::now() - origin).count());
  }
  float begin_ = 0, last_ = 0, total_ = 0;
  int sessions_ = 0;
  bool runs_ = false;
};

inline bool sdkCreateTimer(StopWatchInterface** timer) { return *timer = new StopWatchInterface, true; }
inline bool sdkDeleteTimer(StopWatchInterface** timer) { return delete *timer, *timer = nullptr, true; }
inline bool sdkStartTimer(StopWatchInterface** timer) { return (*timer)->start(), true; }
inline bool sdkStopTimer(StopWatchInterface** timer) { return (*timer)->stop(), true; }
inline bool sdkResetTimer(StopWatchInterface** timer) { return (*timer)->reset(), true; }
inline float sdkGetTimerValue(StopWatchInterface** timer) { return (*timer)->getTime(); }
inline float sdkGetAverageTimerValue(StopWatchInterface** timer) { return (*timer)->getAverageTime(); }
