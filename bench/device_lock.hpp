// A file that a process locks while it uses a device: of several benchmarks, one is timed while the others judge.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace warpcheck::bench {

class device_lock {
 public:
  // Opens the device's file of the temporary folder. Who waits longer than `patience` says once for whom.
  device_lock(std::string device, std::function<void(const std::string&)> say,
              std::chrono::milliseconds patience = std::chrono::seconds(1));
  ~device_lock();
  device_lock(const device_lock&) = delete;
  device_lock& operator=(const device_lock&) = delete;

  // Throws std::system_error if the file cannot be locked. The lock ends with the process.
  void take();
  void release() const;

 private:
  bool is_taken(int how) const;
  std::string holder() const;

  std::string device_;
  std::function<void(const std::string&)> say_;  // null once it was called
  std::chrono::milliseconds patience_;
  int file_ = -1;
};

}  // namespace warpcheck::bench
