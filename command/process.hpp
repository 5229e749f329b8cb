// Starts other programs; the only place in the command that does. (The interpreter of a Python candidate is started
// within the process of a case, and dies with it: python/interpreter.cpp.)
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace warpcheck::cli {

struct program {
  std::vector<std::string> arguments;  // the first one is its name, searched in PATH
  int input = -1, output = -1;         // its stdin, and its stdout and stderr; -1: this process's
  std::string_view without = {};       // a variable of the environment that is removed
};
// Starts the program. Returns 0, or errno if it cannot be started.
int start(const program& p, pid_t& child);

}  // namespace warpcheck::cli
