// What a run says while it goes on.
#pragma once

#include "properties/engine/processes/supervisor.hpp"

namespace warpcheck::cli {

// A terminal sees one line that changes; a file gets the last one only.
void print_progress(const engine::progress& p);

}  // namespace warpcheck::cli
