// The process in which an isolated candidate runs.
#pragma once

#include <string>

namespace warpcheck::engine {

// The argument by which the command becomes a runner, before the path of the candidate's library, the operators and
// the plug-ins that describe them.
inline constexpr const char* k_runner_word = "__runner";
inline constexpr int k_arena_descriptor = 3;

// Serves the requests of the process that started this one, until either ends. The runner answers by stopping itself:
// whatever else runs in it stands still while the answer is read. It holds no inputs but those of its calls, no
// reference's values, and no descriptor but the arena's and those of its output.
[[noreturn]] void serve_candidate(const std::string& library);

}  // namespace warpcheck::engine
