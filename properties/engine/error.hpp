// The two errors with which a run of the suite itself can fail (exit codes 2 and 3), and further exceptions of a trial.
#pragma once

#include <exception>
#include <stdexcept>

namespace warpcheck::engine {

// A user's mistake in an argument, case line or file. One sentence with the name, its value, and what is allowed. Exit
// code 2.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A device, toolkit or library that was asked for is missing. Exit code 3.
struct environment_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A generator has no case within the limits that the user set.
struct no_case_fits : usage_error {
  using usage_error::usage_error;
};

// An exception of a candidate's function in another process, described by thrown_text.
struct thrown_elsewhere : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An exception of a candidate's function: no std::exception, so that no handler takes it for an error of the suite.
struct candidate_exception {
  std::exception_ptr what;
};

}  // namespace warpcheck::engine
