// The Python program behind `report` and `explain --plot` (reporting/), which has libraries for pages and plots.
#pragma once

#include <string>
#include <vector>

#include "command/candidates/toolchain.hpp"

namespace warpcheck::cli {

// Returns the Python of the option (`asked`) or of WARPCHECK_PYTHON; otherwise that of the environment of ci/test, or
// python3.
std::string reporting_python(const std::string& asked);

// Runs it with that Python. Its exit codes are ours. Throws environment_error if the program or the Python is missing.
command_result run_reporting(const std::string& python, const std::vector<std::string>& arguments);

}  // namespace warpcheck::cli
