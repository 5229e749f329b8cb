// `warpcheck verify --null-kernels`: tests if the generated cases reject kernels that compute nothing.
#pragma once

#include <string_view>

#include "command/commands.hpp"
#include "properties/engine/cases/description.hpp"

namespace warpcheck::cli {

// Runs every case that `verify` would generate for the emulated device with the null kernels. Returns 1 if they pass
// more of a property's cases than its quota.
int null_kernels(const verify_options& options);

// Returns the quota of a property: the one that the operator's description has for it, else that of all operators,
// else that of the operator's other properties.
engine::null_kernel_quota null_kernel_quota_of(std::string_view op, std::string_view property);

}  // namespace warpcheck::cli
