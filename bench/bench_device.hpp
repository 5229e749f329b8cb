// A device on which calls are timed.
#pragma once

#include <string>

#include "abi/candidate.h"
#include "bench/call_limit.hpp"
#include "bench/device_timing.hpp"

namespace warpcheck::bench {

// A device, with the stream and the memory for calls.
struct bench_device {
  const warpcheck_device_api& api;
  DLDevice place;
  void* stream;
  device_timing timing;
  call_limit* limit;  // of calls on the device

  // Waits for all enqueued work; returns the counts of a stream that counts, or "". Throws std::runtime_error after an
  // error of the device, or a hazard.
  std::string wait() const;
};

}  // namespace warpcheck::bench
