// `warpcheck verify --null-kernels`: are the generated cases able to tell a right kernel from one that does not
// compute?
#pragma once

#include <string_view>

#include "command/commands.hpp"

namespace warpcheck::cli {

// Puts every case that `verify` would generate for the emulated device through the null kernels. Exit code 1 when more
// of a property's cases than its quota are passed by one of them.
int null_kernels(const verify_options& options);

// How many cases of a property, in percent, a null kernel may pass, and why.
struct null_kernel_quota {
  int percent;
  std::string_view reason;
};
null_kernel_quota null_kernel_quota_of(std::string_view op, std::string_view property);

}  // namespace warpcheck::cli
