// Macros of a foreign source whose names the emulated device's own headers use, too: `-D N=64`, or `#define N 64`
// before an include. They must not rewrite those headers, so the headers are then included first.
#pragma once

#include <string>
#include <vector>

#include "command/candidates/toolchain.hpp"

namespace warpcheck::cli {

struct macro_order {
  std::vector<std::string> first;    // NAME or NAME=VALUE: defined before every header, as usual
  std::vector<std::string> headers;  // our own headers that must precede all macros: paths
  std::string last;                  // directives for macros defined after the headers; may be empty
};
// Returns the macros for `file` under these -D and -I options. Reads the file and the headers that it includes, under
// whatever conditions.
macro_order order_macros(const std::string& file, const std::vector<std::string>& defines,
                         const std::vector<std::string>& includes, const toolchain& tools);

}  // namespace warpcheck::cli
