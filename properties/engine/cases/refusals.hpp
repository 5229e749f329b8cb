// Calls that break the contract of any operator, derived from its description.
#pragma once

#include <cstdint>

#include "properties/engine/trials/trial.hpp"

namespace warpcheck::engine {

// The size of a case's workspace: the least or the most that every candidate may need.
enum class workspace_size : uint8_t { least, most };

// Negative extents, short leading dimensions, null pointers, misaligned and overlapping tensors, illegal scalars, bad
// workspaces: each must be refused. Skips the case if an extent is 0.
void refuse_common(trial& t, workspace_size given = workspace_size::least);
// Workspaces that are misaligned or too small: one byte, and, if the case has the least size that the contract demands,
// a byte less.
void refuse_workspaces(trial& t, workspace_size given = workspace_size::least);

}  // namespace warpcheck::engine
