// The description of an operator from its contract.
#pragma once

#include "abi/contract.hpp"
#include "properties/engine/cases/description.hpp"

namespace warpcheck::engine {

// Extents, forms, tensors and scalars are those of the contract; the rest is for the properties to add.
description description_of(const contract& c);

}  // namespace warpcheck::engine
