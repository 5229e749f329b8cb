// The inputs of a case as files.
#pragma once

#include <string>

#include "properties/engine/cases/case.hpp"

namespace warpcheck::cli {

// Writes each input as NAME.npy into the folder, which it creates if needed, and prints the paths. Returns k_pass.
// Throws environment_error if a file cannot be written.
int write_arrays(const engine::trial_case& c, const std::string& folder);

}  // namespace warpcheck::cli
