// The inputs of a case as files.
#pragma once

#include <string>

#include "properties/engine/cases/case.hpp"

namespace warpcheck::cli {

// Writes each input as NAME.npy into the folder, which is made if it is not there, and prints the paths. Returns
// k_pass. environment_error where a file cannot be written.
int write_arrays(const engine::trial_case& c, const std::string& folder);

}  // namespace warpcheck::cli
