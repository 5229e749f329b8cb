// Observer of the calls that a property makes, for the explanation of a case (explanation.cpp). No verdict depends on
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "properties/engine/cases/case.hpp"
#include "properties/engine/cases/host_tensor.hpp"
#include "reference/numerics/compare.hpp"

namespace warpcheck::engine {

struct call_observer {
  // A call of trial::run and its inputs by name, before the candidate is launched, and again before it is launched once
  // more under other circumstances; may end the trial by trial_over.
  std::function<void(const trial_case& call, tensor_map inputs)> begun = [](const trial_case&, const tensor_map&) {};
  // The outputs of the first of these launches by name, without a workspace.
  std::function<void(const tensor_map& outputs)> ended = [](const tensor_map&) {};
  // An element of an output that the property judged.
  std::function<void(const std::string& tensor, int64_t row, int64_t col, const reference::judgement& j)> judged =
      [](const std::string&, int64_t, int64_t, const reference::judgement&) {};
};

// The observer of this process, or null. The code that sets it resets it before the observer is destroyed.
extern const call_observer* observing;

}  // namespace warpcheck::engine
