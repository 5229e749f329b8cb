// Calls that break any operator's contract, as its description tells.
#pragma once

#include "properties/engine/trial.hpp"

namespace warpcheck::engine {

// Negative extents, short leading dimensions, null pointers, misaligned and overlapping tensors, illegal scalars: each
// must be refused. Skips the case unless every extent is at least 2.
void refuse_common(trial& t);

}  // namespace warpcheck::engine
