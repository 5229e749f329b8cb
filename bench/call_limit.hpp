// A time limit for calls: the process that measures notes which calls it waits for, and its parent ends it when they
// take too long, because a call that hangs holds up the thread that made it, or the device.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace warpcheck::bench {

// In memory that both processes share.
struct awaited_calls {
  std::atomic<int64_t> until_ns{0};  // by std::chrono::steady_clock; 0: no call is awaited
  char what[256] = "";               // the latest of them

  bool are_late() const {
    const int64_t until = until_ns;
    return until != 0 && std::chrono::steady_clock::now().time_since_epoch() > std::chrono::nanoseconds(until);
  }
};

class call_limit {
 public:
  // `shared` null: calls have no limit. `seconds`: of a call.
  call_limit(awaited_calls* shared, double seconds) : shared_(shared), seconds_(seconds) {}

  // Gives a callee, which is known by its address, a name for people.
  void name(const void* callee, const std::string& name) { names_[callee] = " by " + name; }

  // A call begins, after those that have not been waited for. Its limit is `share` times the usual one.
  void begin(const void* callee, const std::string& what, double share) {
    if (shared_ == nullptr) return;
    allowed_ += seconds_ * share;
    shared_->until_ns = 0;
    const std::string text = what + names_[callee];
    shared_->what[text.copy(shared_->what, sizeof shared_->what - 1)] = '\0';
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    shared_->until_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() +
                        static_cast<int64_t>(std::min(allowed_, 1e8) * 1e9);
  }
  // All calls have ended.
  void end() {
    allowed_ = 0;
    if (shared_ != nullptr) shared_->until_ns = 0;
  }

 private:
  awaited_calls* shared_;
  double seconds_;
  std::map<const void*, std::string> names_;  // of callees
  double allowed_ = 0;                        // seconds, for all calls that have not been waited for
};

}  // namespace warpcheck::bench
