// The process in which an isolated candidate runs.
#pragma once

#include <string>

namespace warpcheck::engine {

// The argument by which the command becomes a runner, before the device, the path of the candidate's library, and the
// operators, a case line or the plug-ins that describe them.
inline constexpr const char* k_runner_word = "__runner";
inline constexpr int k_arena_descriptor = 3;

// The first byte of an answer. Behind the last two is their text.
enum class answer_kind : char { done, environment_error, device_lost };

// Serves the requests of the process that started this one, until either ends. The runner answers by stopping itself,
// so all its threads stand still while the answer is read. It has no inputs but those of its calls, no reference
// values, and no descriptors but those of the arena and its output.
[[noreturn]] void serve_candidate(const std::string& device, const std::string& library);

}  // namespace warpcheck::engine
