// Branches and loops of device code with a barrier of the block: the emulated device is told how their conditions
// evaluate (simt/emulated/conditionals.hpp).
#pragma once

#include <string>
#include <vector>

#include "command/translator/cuda_structure.hpp"

namespace warpcheck::cli {

struct edit {
  size_t begin, end;  // range in the source
  std::string replacement;
};
// Insertions: at their positions they come before and after all others.
struct conditional_edits {
  std::vector<edit> before, after;
};
// Left as they are: conditions that declare something, functions with goto, constexpr functions, and branches with
// labels.
conditional_edits note_conditionals(const cuda_structure& s);

}  // namespace warpcheck::cli
