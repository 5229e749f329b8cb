// The contract that follows from an operator's description.
#pragma once

#include "command/contract.hpp"
#include "properties/engine/description.hpp"

namespace warpcheck::cli {

contract contract_of(const engine::description& d);

}  // namespace warpcheck::cli
