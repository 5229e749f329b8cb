// Operations on a device for the benchmark of a described operator, beside those of engine/library.hpp: memory for
// several calls, time, and limits.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "abi/candidate.h"
#include "bench/timed_run.hpp"

// Only declared: files of CUDA, which are C++17, include this one.
namespace warpcheck::engine {
struct product_work;
}

namespace warpcheck::bench {

// Memory for the inputs and the outputs of `count` calls, so much in all that a call finds nothing of the last ones in
// a cache. Execution i has slot i % count.
struct slots {
  int count = 0;
  char *inputs = nullptr, *outputs = nullptr;
  size_t input_stride = 0, output_stride = 0;
  std::shared_ptr<void> owner;

  char* input(int i) const { return inputs + static_cast<size_t>(i % count) * input_stride; }
  char* output(int i) const { return outputs + static_cast<size_t>(i % count) * output_stride; }
};

// Bytes that a call moves, at least.
struct traffic {
  size_t in = 0, out = 0;
  size_t slice = 0;  // of the first input, in a slice; 0 where there are none

  // Where much less is written than read, reading is the limit.
  bool copies() const { return 2 * out >= in; }
  size_t of_limit() const { return copies() && out < in ? out : in; }
  // All bytes over those that the limit moves.
  double share() const { return static_cast<double>(in + out) / static_cast<double>(of_limit() * (copies() ? 2 : 1)); }
};

// The fastest way that the device has to do as much, and execution i of it, which is to be multiplied by `times`.
struct device_limit {
  std::string by;
  std::function<void(int i)> run;
  double times = 1;
};

// What an operator has of its own that is timed in turn with its call: a limit, or a part of the call. Execution i is
// of the call of slot i.
struct own_run {
  std::string name;
  std::function<void(int i)> run;
  bool is_interface = false;  // what the call takes beside that which its target in us is of
};

// Executions that are timed of each row.
constexpr int k_cuda_repeats = 101, k_host_repeats = 3;

// Functions throw std::runtime_error where the device fails.
struct device_timing {
  std::function<slots(size_t input_bytes, size_t output_bytes)> allocate;
  // Memory of one kind for as long as the pointer lives.
  std::function<std::shared_ptr<char>(size_t bytes)> reserve;
  // Both enqueue: a copy within the device, and bytes of one value.
  std::function<void(char* to, const char* from, size_t bytes)> copy;
  std::function<void(char* to, char byte, size_t bytes)> fill;
  // Microseconds of each, in turn. i counts on from call to call.
  std::function<std::vector<std::vector<double>>(const std::vector<timed_run>& runs)> in_turn;
  // The time below which no call reads its inputs from memory; 0: unknown.
  std::function<double(const traffic&)> floor_us;
  // Takes back what a callee may have set to be faster than its calls: lines that persist in a cache.
  std::function<void()> reset;
  std::function<std::optional<device_limit>(const slots&, const traffic&)> limit;
  std::function<std::optional<device_limit>(const engine::product_work&)> product_limit;
  // Of the operator; `calls` of the slots outlive the runs.
  std::function<std::vector<own_run>(const std::string& op, const std::vector<const warpcheck_call*>& calls)> own;
  std::function<std::optional<double>()> launch_us;
};

// Events and limits of a GPU.
device_timing cuda_timing(void* stream);
// The host's clock, and no limit: times are those of the host and say nothing about a GPU.
device_timing host_timing(const warpcheck_device_api& api);

}  // namespace warpcheck::bench
