// The compute capability of the GPU on which cases run.
#pragma once

#include <optional>
#include <string_view>

namespace warpcheck::engine {

// Returns the number behind "sm_" in the description of a device: 86 for "NVIDIA A40, sm_86, ...".
std::optional<int> capability_in(std::string_view description);
// Returns the compute capability of the GPU of this process for device `cuda`. Other devices have none.
std::optional<int> compute_capability(std::string_view device);

}  // namespace warpcheck::engine
