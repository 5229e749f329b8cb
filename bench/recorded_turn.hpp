// A candidate whose calls run in a process of their own, by itself: a turn's steps are recorded and sent at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "abi/candidate_turn.h"
#include "bench/device_timing.hpp"
#include "properties/engine/trials/library.hpp"

namespace warpcheck::bench {

class recorded_turn : public turn_clock {
 public:
  // Null if the library, which this process has loaded, does not export warpcheck_candidate_turn. `op` and `api` are
  // the library's and outlive the object.
  static std::unique_ptr<recorded_turn> of(const std::string& library, const engine::listed_operator& op,
                                           const warpcheck_device_api& api);

  recorded_turn(warpcheck_candidate_turn_fn make, const engine::listed_operator& op, const warpcheck_device_api& api);

  // The operator, whose calls in a turn are recorded.
  const engine::listed_operator& op() const { return recording_; }
  // Timing for the calls: their memory is the host's, everything else the GPU's. This object outlives the result.
  device_timing timing(const device_timing& gpu);

  void begin() override;
  void mark() override { steps_.push_back({}); }
  std::vector<double> finish(double* host_us) override;

 private:
  warpcheck_status run(warpcheck_call& call);
  // Writes at once, or in a turn.
  void write(const warpcheck_step& step, const device_timing& at_once);

  warpcheck_candidate_turn_fn make_;
  const engine::listed_operator& op_;
  const warpcheck_device_api& api_;
  engine::listed_operator recording_;
  bool is_recording_ = false;
  std::vector<warpcheck_step> steps_;
};

}  // namespace warpcheck::bench
