// Cases of gated recurrent units from a call whose tensors are known (gru_cases.cpp).
#pragma once

#include "properties/engine/cases/host_tensor.hpp"
#include "properties/gru/gru_cases.hpp"

namespace warpcheck {

gru_data data_of(const engine::trial_case& c, const engine::tensor_map& inputs);
gru_answer answer_of(const engine::tensor_map& outputs);

}  // namespace warpcheck
