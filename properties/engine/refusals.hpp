// Calls that break any operator's contract, as its description tells.
#pragma once

#include "properties/engine/trial.hpp"

namespace warpcheck::engine {

// Negative extents, short leading dimensions, null pointers, misaligned and overlapping tensors, illegal scalars, bad
// workspaces: each must be refused. Skips the case unless every extent is at least 2.
void refuse_common(trial& t);
// Workspaces that are too small, where the case has what the call needs, or misaligned.
void refuse_workspaces(trial& t);

}  // namespace warpcheck::engine
