// A candidate library whose code runs in a process of its own, a runner (runner.hpp), in place of this one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/engine/trials/cpu_device.hpp"
#include "properties/engine/trials/library.hpp"

namespace warpcheck::engine {

// From now on, candidates that are not ours run in runners, in this process and those forked from it, and the memory of
// these processes is hidden from the runners. Candidates for cuda stay in process. `arguments`: what the command gets
// behind the library's path when it becomes a runner.
void isolate_candidates(std::vector<std::string> arguments);
bool is_isolating();

// What the library of a runner offers. Its device interface works on copies of the tensors: the runner takes what was
// written to them before a call, and fills them anew when the stream is synchronized, before it stops.
struct isolated_library {
  std::string name;
  const warpcheck_device_api* api;
  std::vector<listed_operator> operators;
};

// Starts a runner for the library. Throws environment_error for what candidate_library::load refuses. Where a runner
// ends, this process ends as it did: that is the verdict of the case.
isolated_library load_isolated(const std::string& path);

// Whether tensors of the device lie between pages that nobody may touch.
bool has_guard_pages(const warpcheck_device_api& api);
// The page that the last call in a runner touched, if it did; asked once.
std::optional<page_touch> take_touch(const warpcheck_device_api& api);

}  // namespace warpcheck::engine
