// The Python program behind `report` and `explain --plot` (reporting/), which has the libraries for pages and plots.
#pragma once

#include <string>
#include <vector>

#include "command/candidates/toolchain.hpp"

namespace warpcheck::cli {

// The Python that was asked for, by option (`asked`) or by WARPCHECK_PYTHON; else that of the environment that ci/test
// makes, or python3.
std::string reporting_python(const std::string& asked);

// Runs it with that Python. Its exit codes are ours. environment_error: the program or the Python is missing.
command_result run_reporting(const std::string& python, const std::vector<std::string>& arguments);

}  // namespace warpcheck::cli
