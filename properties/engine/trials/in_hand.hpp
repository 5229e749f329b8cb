// Calls with given inputs and outputs (`--input`, check()) of operators whose properties prepare their own inputs.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "properties/engine/cases/host_tensor.hpp"
#include "properties/engine/trials/trial.hpp"

namespace warpcheck::engine {

struct in_hand_judge {
  std::string op;
  std::string property;  // the property whose sentence it judges by, for the case's line
  // Runs the case's own call once and judges its outputs on its own inputs.
  void (*check)(trial& t) = nullptr;
  // Completes a case with the given tensors from the values of its inputs: scalars that are not set, and, if no outputs
  // were given, the mandatory ones. Throws usage_error for a call that `check` cannot judge. Null: nothing is missing.
  void (*complete)(trial_case& c, const tensor_map& inputs, bool has_outputs) = nullptr;
};

// Every operator's file registers its judge once, before main.
struct in_hand_registration {
  explicit in_hand_registration(in_hand_judge judge);
};
// Null: the operator's property within-error-bound judges any call.
const in_hand_judge* find_in_hand_judge(std::string_view op);

// Checks the trial's case: by the operator's judge if its inputs are a user's arrays (`npy`) and the property accepts
// none itself; otherwise by its property.
void check_call(trial& t);

// The values of all inputs of the trial's case, given or drawn.
tensor_map inputs_of(trial& t);

}  // namespace warpcheck::engine
