// A time limit for calls: the process that measures notes which calls it waits for, and its parent ends it when they
// take too long, because a call that hangs holds up the thread that made it, or the device.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace warpcheck::bench {

// In memory that both processes share.
struct awaited_calls {
  std::atomic<uint64_t> number{0};         // of beginnings and ends of calls
  std::atomic<double> allowed_seconds{0};  // since the latest beginning; 0: no call is awaited
  char what[256] = "";                     // the latest of them
};

// Watches the calls by the clock of the process that waits for nothing, because foreign code may have changed the other
// one's.
class call_watch {
 public:
  explicit call_watch(const awaited_calls& calls) : calls_(calls) {}
  bool is_late() {
    using clock = std::chrono::steady_clock;
    const double allowed = calls_.allowed_seconds;  // before the number, which changes first
    if (const uint64_t number = calls_.number; std::exchange(number_, number) != number) since_ = clock::now();
    return allowed > 0 && std::chrono::duration<double>(clock::now() - since_).count() > allowed;
  }

 private:
  const awaited_calls& calls_;
  uint64_t number_ = 0;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
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
    const std::string text = what + names_[callee];
    shared_->what[text.copy(shared_->what, sizeof shared_->what - 1)] = '\0';
    allowed_ += seconds_ * share;
    set();
  }
  // All calls have ended.
  void end() {
    allowed_ = 0;
    if (shared_ != nullptr) set();
  }

 private:
  void set() {
    ++shared_->number;
    shared_->allowed_seconds = allowed_;
  }

  awaited_calls* shared_;
  double seconds_;
  std::map<const void*, std::string> names_;  // of callees
  double allowed_ = 0;                        // seconds, for all calls that have not been waited for
};

}  // namespace warpcheck::bench
