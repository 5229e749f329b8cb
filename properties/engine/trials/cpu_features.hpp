// CPU features that this build's emulated kernels require.
#pragma once

#include <string>

namespace warpcheck::engine {

// Returns the reason why this machine cannot run them, or an empty text. They may need FMA3.
std::string emulated_problem();

}  // namespace warpcheck::engine
