// What the command line of a test says beside options of GoogleTest.
#pragma once

#include <string>
#include <vector>

namespace warpcheck::self {

inline std::vector<std::string> arguments;

}  // namespace warpcheck::self
