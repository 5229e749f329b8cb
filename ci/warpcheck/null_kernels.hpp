// `warpcheck verify --null-kernels`: are the generated cases able to tell a right kernel from one that does not
// compute?
#pragma once

#include "ci/warpcheck/commands.hpp"

namespace warpcheck::cli {

// Puts every case that `verify` would generate for the emulated device through the null kernels. Exit code 1 when more
// of a property's cases than its quota are passed by one of them.
int null_kernels(const verify_options& options);

}  // namespace warpcheck::cli
