// Calls that break any operator's contract, as its description says.
#pragma once

#include <cstdint>

#include "properties/engine/trials/trial.hpp"

namespace warpcheck::engine {

// What the workspace of a case is: the least that every candidate may ask for, or the most.
enum class workspace_size : uint8_t { least, most };

// Negative extents, short leading dimensions, null pointers, misaligned and overlapping tensors, illegal scalars, bad
// workspaces: each must be refused. Skips the case unless every extent is at least 2.
void refuse_common(trial& t, workspace_size given = workspace_size::least);
// Workspaces that are misaligned or too small: of one byte, and where the case has the least that the contract asks for
// of a byte less.
void refuse_workspaces(trial& t, workspace_size given = workspace_size::least);

}  // namespace warpcheck::engine
