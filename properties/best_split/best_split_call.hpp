// Instances and records of best_split from a call whose tensors are known (best_split_cases.cpp).
#pragma once

#include "properties/best_split/best_split_cases.hpp"
#include "properties/engine/cases/host_tensor.hpp"

namespace warpcheck {

split_instance given_instance(const engine::trial_case& c, const engine::tensor_map& inputs);
// The record of a leaf, whatever the outputs hold.
reference::split_result record_of(const engine::tensor_map& outputs, int64_t leaf);

}  // namespace warpcheck
