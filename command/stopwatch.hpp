// Measures the time of a command.
#pragma once

#include <chrono>

namespace warpcheck::cli {

class stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace warpcheck::cli
