// `warpcheck verify --null-kernels`: tests if the generated cases reject kernels that compute nothing.
#pragma once

#include <string_view>

#include "command/commands.hpp"

namespace warpcheck::cli {

// Runs every case that `verify` would generate for the emulated device with the null kernels. Returns 1 if they pass
// more of a property's cases than its quota.
int null_kernels(const verify_options& options);

// The percentage of a property's cases that a null kernel may pass, with the reason.
struct null_kernel_quota {
  int percent;
  std::string_view reason;
};
null_kernel_quota null_kernel_quota_of(std::string_view op, std::string_view property);

}  // namespace warpcheck::cli
