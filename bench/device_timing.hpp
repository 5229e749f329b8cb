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

// Only declared here, because CUDA files, which are C++17, include this header.
namespace warpcheck::engine {
struct product_work;
}

namespace warpcheck::bench {

// Memory for the inputs and the outputs of `count` calls, so much that a call finds none of the last call's data in a
// cache, and if possible a slot for each call of a turn. Execution i uses slot i % count.
struct slots {
  int count = 0;
  char *inputs = nullptr, *outputs = nullptr;
  size_t input_stride = 0, output_stride = 0;
  std::shared_ptr<void> owner;

  char* input(int i) const { return inputs + static_cast<size_t>(i % count) * input_stride; }
  char* output(int i) const { return outputs + static_cast<size_t>(i % count) * output_stride; }
};

// The least number of bytes that a call moves.
struct traffic {
  size_t in = 0, out = 0;
  size_t picked = 0;  // of `in`: from inputs that all slots share
  size_t slice = 0;   // bytes of the first input in a slice; 0 if there are no slices

  // If much less is written than read, reading is the limit.
  bool copies() const { return 2 * out >= in; }
  size_t of_limit() const { return copies() && out < in ? out : in; }
  // All bytes, relative to those that the limit moves.
  double share() const { return static_cast<double>(in + out) / static_cast<double>(of_limit() * (copies() ? 2 : 1)); }
};

// The fastest known way of the device to move as much, and execution i of it; its time is to be multiplied by `times`.
struct device_limit {
  std::string by;
  std::function<void(int i)> run;
  double times = 1;
};

// A run specific to an operator that is timed in turn with its call: a limit, or a part of the call. Execution i is of
// the call of slot i.
struct own_run {
  std::string name;
  std::function<void(int i)> run;
  bool is_interface = false;  // the part of the call that its target in us leaves out
};

// Timed executions of each row.
constexpr int k_cuda_repeats = 105, k_host_repeats = 3;
// Executions of a turn, with those at its beginning and the judged one. In a turn each finds its outputs without the
// results of an earlier one if there are as many slots: then no result that was left there can pass for its own.
constexpr int k_cuda_calls_of_turn = k_warmup_calls + (k_cuda_repeats + k_turns_of_run - 1) / k_turns_of_run + 1;

// Functions throw std::runtime_error if the device fails.
struct device_timing {
  size_t flush_bytes = 0;  // of other data after which a cache has none of a slot's
  std::function<slots(size_t input_bytes, size_t output_bytes)> allocate;
  // Reserves memory of one kind for as long as the pointer lives.
  std::function<std::shared_ptr<char>(size_t bytes)> reserve;
  // Both enqueue: a copy within the device, and a fill with bytes of one value.
  std::function<void(char* to, const char* from, size_t bytes)> copy;
  std::function<void(char* to, char byte, size_t bytes)> fill;
  // Reads `lines` runs of `own` bytes, which begin `apart` bytes from each other.
  std::function<void(std::byte* to, const char* from, size_t own, size_t apart, size_t lines)> read_lines;
  // Returns the microseconds of each execution; the runs take turns. i continues from call to call.
  std::function<std::vector<std::vector<double>>(const std::vector<timed_run>& runs)> in_turn;
  turn_clock* clock = nullptr;  // of judged runs among those, if it is the device's own
  // The time below which calls of a turn cannot move their bytes, in the mean (memory_floor.hpp); 0: unknown.
  std::function<double(const traffic&)> floor_us;
  // Waits for all enqueued work and lets other processes time calls until the result is destroyed. Null if the device's
  // times do not depend on other processes' calls.
  std::function<std::shared_ptr<void>()> yield;
  // Undoes settings by which a callee could be faster than its calls, such as lines that persist in a cache, or those
  // that follow slower.
  std::function<void()> reset;
  // Slots without an owner: it has slots of its own.
  std::function<std::optional<device_limit>(const slots&, const traffic&)> limit;
  std::function<std::optional<device_limit>(const engine::product_work&)> product_limit;
  // Returns the runs of an operator; `calls` of the slots outlive them.
  std::function<std::vector<own_run>(const std::string& op, const std::vector<const warpcheck_call*>& calls)> own;
  std::function<std::optional<double>()> launch_us;
};

// Notes the settings of the GPU that reset() restores, before a callee is loaded.
void note_settings();
// Timing by events on a GPU, with the GPU's limits.
device_timing cuda_timing(void* stream);
// Timing by the host's clock, without a limit: the times are those of the host, not of a GPU.
device_timing host_timing(const warpcheck_device_api& api, int slots = 2);

}  // namespace warpcheck::bench
