// A product on trial from a call whose tensors are known (matmul_problem.cpp).
#pragma once

#include "properties/engine/host_tensor.hpp"
#include "properties/operators/matmul_problem.hpp"

namespace warpcheck {

matmul_problem problem_of(const engine::trial_case& c, const engine::tensor_map& inputs);

}  // namespace warpcheck
