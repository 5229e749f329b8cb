// A product on trial from a call whose tensors are known (matmul_problem.cpp).
#pragma once

#include "properties/engine/cases/host_tensor.hpp"
#include "properties/matmul/matmul_problem.hpp"

namespace warpcheck {

matmul_problem problem_of(const engine::trial_case& c, const engine::tensor_map& inputs);

}  // namespace warpcheck
