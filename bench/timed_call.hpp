// A row of an operator's bench list as calls: the case by its description, in a device's memory, launched as a trial
// launches it, and judged by the operator's own property.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/device_timing.hpp"
#include "properties/engine/call.hpp"
#include "properties/engine/description.hpp"

namespace warpcheck::bench {

// operator/type/ROWSxCOLS, then what is special; a vector is one row.
std::string name_of(const engine::description& d, const engine::bench_row& row);

// Bytes of one call's tensors, where their rows lie without gaps.
traffic traffic_of(const engine::description& d, const engine::bench_row& row);

// What calls are made of and on.
struct bench_device {
  const warpcheck_device_api& api;
  DLDevice place;
  void* stream;
  device_timing timing;

  // For all that was enqueued. Throws std::runtime_error after an error of the device, or a hazard.
  void wait() const { wait_for(api, stream); }
  static void wait_for(const warpcheck_device_api& api, void* stream);
};

class timed_call {
 public:
  // usage_error where the row's inputs have no values. All arguments outlive it.
  timed_call(const engine::description& d, const engine::bench_row& row, const bench_device& on);
  ~timed_call();

  const slots& memory() const { return memory_; }

  // Enqueues execution i; returns what ran, "" if the callee does not say. Throws std::runtime_error if the call fails.
  std::string run(const engine::listed_operator& callee, int i);
  // One more execution, into outputs of 0xff bytes (a NaN in each float type), judged by the property
  // `within-error-bound`: nothing is left unwritten, and about a million elements, of whole slices, are right. Throws
  // std::runtime_error where they are not.
  void verify(const engine::listed_operator& callee);

 private:
  struct prepared;
  size_t place(bool inputs);
  void fill_inputs() const;
  void count_unwritten() const;
  void verify_slices(int64_t first, int64_t count) const;
  // Of tensor i in slot 0.
  char* at(size_t i) const;
  void write(char* to, const void* from, size_t bytes) const;
  void read(void* to, const char* from, size_t bytes) const;

  const engine::description& described_;
  const engine::bench_row& row_;
  const bench_device& device_;
  engine::trial_case case_;
  std::vector<size_t> places_;  // of each tensor, from its slot's start
  slots memory_;
  std::vector<std::unique_ptr<prepared>> prepared_;  // for each slot
};

}  // namespace warpcheck::bench
