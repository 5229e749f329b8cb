// Kernels that answer without computing, of every operator that is described, on device cpu: a case that one of them
// passes says nothing about the kernels that pass it.
#pragma once

#include <string_view>

#include "properties/engine/trials/library.hpp"

namespace warpcheck::engine {

// How they answer. previous_output: with what the built-in kernel's first output was for the call before, in every
// output. Whoever remembered all of them would be right wherever "there is none" is the answer, time after time.
inline constexpr std::string_view k_null_kernels[] = {"zeros",           "constant", "copy_input",
                                                      "previous_output", "row_mean", "nothing_written"};

// As candidates they are called null:zeros, null:constant and so on.
inline constexpr std::string_view k_null_prefix = "null:";

// The operator's null kernel of this kind, which then answers calls until another one is asked for. usage_error where
// there is no such kind or operator.
const listed_operator& null_operator(std::string_view kind, std::string_view op);

}  // namespace warpcheck::engine
