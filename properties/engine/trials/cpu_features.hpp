// What the emulated kernels of this build ask of the CPU.
#pragma once

#include <string>

namespace warpcheck::engine {

// Why this machine cannot run them, or empty if it can: they may need FMA3.
std::string emulated_problem();

}  // namespace warpcheck::engine
