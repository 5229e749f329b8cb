// Kernels that compute nothing, for every described operator, on device cpu. A case that one of them passes proves
// nothing about a kernel that passes it.
#pragma once

#include <string_view>

#include "properties/engine/trials/library.hpp"

namespace warpcheck::engine {

// Their kinds. previous_output: every output is the built-in kernel's first output for the previous call. Only the
// first one, because a kernel that repeated all outputs would be correct in series of calls whose answer is "there is
// none".
inline constexpr std::string_view k_null_kernels[] = {"zeros",           "constant", "copy_input",
                                                      "previous_output", "row_mean", "nothing_written"};

// As candidates they are called null:zeros, null:constant and so on.
inline constexpr std::string_view k_null_prefix = "null:";

// Returns the operator's null kernel of this kind, which answers calls until another one is requested. Throws
// usage_error if there is no such kind or operator.
const listed_operator& null_operator(std::string_view kind, std::string_view op);

}  // namespace warpcheck::engine
