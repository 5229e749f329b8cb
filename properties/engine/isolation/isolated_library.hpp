// A candidate library whose code runs in a separate process, a runner (runner.hpp).
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "properties/engine/trials/cpu_device.hpp"
#include "properties/engine/trials/library.hpp"

namespace warpcheck::engine {

// From now on, candidates that are not ours run in runners, in this process and those forked from it, and the memory of
// these processes is hidden from the runners. `arguments`: further arguments of the command when it becomes a runner,
// after the device and the library's path.
void isolate_candidates(std::vector<std::string> arguments);
// From now on, candidates for cuda stay in process.
void keep_cuda_in_process();
// The process of a candidate has ended, or has answered as no process of the suite does.
struct runner_failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// From now on, the end of a runner, and an answer that it forges, are thrown as runner_failed, again at each further
// use; otherwise they end this process.
void outlive_runners();
bool is_isolating();
bool is_isolating(warpcheck_device device);

// The library of a runner. Its device interface works on copies of the tensors: the runner reads them at a call, and
// writes them when the stream is synchronized, before it stops.
struct isolated_library {
  std::string name;
  const warpcheck_device_api* api;
  std::vector<listed_operator> operators;
};

// Starts a runner for the library on a device, of which a process has one. Throws environment_error for a library that
// candidate_library::load refuses. If a runner ends, this process ends in the same way, and with a message if the
// runner forges an answer; that is the verdict of the case.
isolated_library load_isolated(const std::string& path, warpcheck_device device);

// A part of a buffer that is read back.
struct peeked {
  const void* place;
  size_t bytes;
};

// True if the device is that of a runner.
bool has_runner(const warpcheck_device_api& api);

// Returns the microseconds, by the clock of this process, of calls in the runner of the device: `calls` makes them,
// they are sent at once, and the time ends when the parts that `peeks` then picks have been read back into their
// copies. Throws std::runtime_error if a call fails.
double time_batch(const warpcheck_device_api& api, const std::function<void()>& calls,
                  const std::function<std::vector<peeked>()>& peeks);
// Waits for the runner of the device and reads parts back. Throws std::runtime_error if the device has failed.
void read_back(const warpcheck_device_api& api, const std::vector<peeked>& parts);

// True if tensors of the device lie between inaccessible pages.
bool has_guard_pages(const warpcheck_device_api& api);
// Returns the inaccessible page that the last call in a runner touched, if any, and clears it.
std::optional<page_touch> take_touch(const warpcheck_device_api& api);

}  // namespace warpcheck::engine
