// The values of all inputs of a case.
#pragma once

#include "properties/engine/cases/host_tensor.hpp"

namespace warpcheck::engine {

tensor_map inputs_of(const trial_case& c);

}  // namespace warpcheck::engine
