// The calls of both passes for a candidate that keeps a reserve between them (abi/candidate_reserve.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "abi/candidate.h"
#include "properties/engine/cases/description.hpp"
#include "properties/engine/trials/call.hpp"
#include "properties/engine/trials/device_tensor.hpp"
#include "properties/engine/trials/trial_plan.hpp"

namespace warpcheck::engine {

// A forward call, then another one with other values, whose outputs nobody reads, and the backward call of the first.
class two_passes {
 public:
  // `tensors`: of the call of both passes, in the case's order. Throws like device_failed.
  two_passes(const trial_case& c, const std::vector<DLTensor>& tensors, const launch_spec& how, void* stream);
  // True if the case's call is made in this way.
  static bool fits(const trial_case& c, const listed_operator& op);
  // Returns the forward call alone, without the outputs of the backward one.
  static trial_case forward_case(trial_case c);

  warpcheck_status run();
  const prepared_call& forward() const { return *forward_; }
  // The sentence of the last call.
  std::string message() const { return message_; }
  // The reserves, and the outputs of the other forward call.
  std::vector<std::unique_ptr<device_tensor>>& memory() { return memory_; }

 private:
  device_tensor& allocate(tensor_spec spec);
  void prepare_forward(const trial_case& c, const std::vector<DLTensor>& tensors, void* stream);
  void prepare_backward(trial_case c, const std::vector<DLTensor>& tensors, void* stream);

  const launch_spec& how_;
  const split_call& split_;
  std::vector<std::unique_ptr<device_tensor>> memory_;
  std::vector<DLTensor> forward_tensors_, other_tensors_, backward_tensors_;
  std::unique_ptr<prepared_call> forward_, other_, backward_;
  void *reserve_ = nullptr, *other_reserve_ = nullptr;
  int64_t bytes_ = 0;
  std::string message_;
};

}  // namespace warpcheck::engine
