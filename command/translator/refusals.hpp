// Refusals that follow from a compiler's message.
#pragma once

#include <string>

namespace warpcheck::cli {

// Returns one line with CUDA's functions, types and members of its libraries that the compiler or linker did not find,
// and one with other functions that the linker did not find, each with its first place; "" if there are none.
std::string names_not_modelled(const std::string& said);

}  // namespace warpcheck::cli
