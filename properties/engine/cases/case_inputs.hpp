// The values of all inputs of a case.
#pragma once

#include "properties/engine/cases/host_tensor.hpp"

namespace warpcheck::engine {

tensor_map inputs_of(const trial_case& c);
// True if values of its inputs follow from others.
bool completes_inputs(const trial_case& c);
// Completes inputs that have the values of their fills, by the operator's description (description::derive). Arrays in
// hand (`npy`) stay as they are.
void complete_inputs(const trial_case& c, tensor_map& inputs);
// For description::derive: gives an input whose fill is derived() the values of `made`, which has the name and type of
// the input. Leaves any other input as it is. Throws usage_error if the number of elements differs.
void set_derived(tensor_map& inputs, host_tensor made);

}  // namespace warpcheck::engine
