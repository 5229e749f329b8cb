// The description of an operator from its contract.
#pragma once

#include <string_view>

#include "abi/contract.hpp"
#include "properties/engine/cases/description.hpp"

namespace warpcheck::engine {

// Extents, forms, tensors and scalars are those of the contract; the rest is for the properties to add.
description description_of(const contract& c);
// The extent of this name, for which the caller knows that there is one.
extent_info& find_extent(description& d, std::string_view name);

}  // namespace warpcheck::engine
