// The contract that follows from an operator's description.
#pragma once

#include "command/candidates/contract.hpp"
#include "properties/engine/cases/description.hpp"

namespace warpcheck::cli {

contract contract_of(const engine::description& d);

}  // namespace warpcheck::cli
