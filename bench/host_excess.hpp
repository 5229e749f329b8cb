// How much longer the host waits for turns than the device's clock shows of them.
#pragma once

#include <fmt/format.h>

#include <limits>
#include <string>

namespace warpcheck::bench {

// The least excess of a callee's turns. A disturbed host is late in some turns; it is late in all of them only if it is
// always busy, or if work of the callee does not lie between the device's events.
class host_excess {
 public:
  // A turn's times by the device's and by the host's clock, in us.
  void add(double device_us, double host_us) {
    if (host_us - device_us >= us_) return;
    us_ = host_us - device_us;
    turn_us_ = device_us;
  }
  // Takes the excess of another callee's turns instead, if it is more and the host's clock can show something: how late
  // a host is depends on the callee, for it is late by less after long turns.
  void allow(const host_excess& other) {
    if (other.us_ < k_busy_us && (other.us_ > us_ || us_ >= k_busy_us)) *this = other;
  }
  // Returns why these turns are no result, or "". `trusted` has turns of our own kernels among these turns: how long
  // this host waits for kernels that hide nothing.
  std::string problem(const host_excess& trusted) const {
    constexpr double k_us = 100, k_share = 0.1;  // the clocks' own disagreement; on an idle host some 10 us
    const double usual = trusted.us_ < k_busy_us ? trusted.us_ : 0;
    if (!(us_ > usual + k_us + k_share * turn_us_)) return "";
    return fmt::format(
        "the host waited {:.0f} us longer than the {:.0f} us that the device's clock shows of a turn, in every turn: "
        "work is done beside the stream of the call, or other processes keep this host or the GPU busy in every turn",
        us_, turn_us_);
  }

 private:
  static constexpr double k_busy_us = 1000;  // beyond it the host's clock can show nothing

  double us_ = std::numeric_limits<double>::infinity();
  double turn_us_ = 0;  // the device's time of that turn
};

}  // namespace warpcheck::bench
