// The two ways in which a run of the suite itself can fail, as exit codes of every command see them.
#pragma once

#include <stdexcept>

namespace warpcheck::engine {

// A user's mistake: argument, case line, file. One sentence that names what, its value, and what is allowed. Exit
// code 2.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A device, toolkit or library that was asked for is missing. Exit code 3.
struct environment_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace warpcheck::engine
