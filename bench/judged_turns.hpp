// The turns of a callee of which some calls are judged, as what takes turns on a device.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <string>

#include "bench/timed_call.hpp"
#include "bench/timed_run.hpp"

namespace warpcheck::bench {

class judged_turns {
 public:
  // Both outlive this.
  judged_turns(timed_call& call, const bench_device& device, const engine::listed_operator& callee)
      : call_(call), device_(device), callee_(callee) {}

  // This outlives what is returned.
  timed_run as_run();
  // What a call said that it ran.
  const std::string& variant() const { return variant_; }
  // Why the times of these turns are no result, or "". The first problem ends the turns: nothing is called any more.
  std::string problem(double median_us, const traffic& moved) const;

 private:
  template <class Step>
  void unless_failed(const Step& step);

  timed_call& call_;
  const bench_device& device_;
  const engine::listed_operator& callee_;
  std::random_device random_;
  std::set<int> used_;  // slots, in this turn
  std::string variant_, problem_;
  // By how much the host's clock exceeds the device's in a turn, in us, at least, and the device's time of that turn.
  double excess_us_ = std::numeric_limits<double>::infinity(), turn_us_ = 0;
};

}  // namespace warpcheck::bench
