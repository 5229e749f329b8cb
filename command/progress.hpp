// The progress output of a run.
#pragma once

#include "properties/engine/processes/supervisor.hpp"

namespace warpcheck::cli {

// A terminal shows one line that changes; a file gets only the last one.
void print_progress(const engine::progress& p);

}  // namespace warpcheck::cli
