// The Python program behind `report` and `explain --plot` (reporting/), which has the libraries for pages and plots.
#pragma once

#include <string>
#include <vector>

#include "command/candidates/toolchain.hpp"

namespace warpcheck::cli {

// Runs it with the Python that was asked for, by option (`python`) or by WARPCHECK_PYTHON; else with that of the
// environment that ci/test makes, or with python3. Its exit codes are ours. environment_error: the program or the
// Python is missing.
command_result run_reporting(const std::string& python, const std::vector<std::string>& arguments);

}  // namespace warpcheck::cli
