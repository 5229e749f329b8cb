// Launching: tensors between guard zones, a stream, the calls and one wait for all. This layer records findings in
// fields; the trial interprets them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "abi/candidate.h"
#include "properties/engine/cases/case.hpp"
#include "properties/engine/cases/host_tensor.hpp"
#include "properties/engine/trials/trial_plan.hpp"

namespace warpcheck::engine {

class reused_memory;

// The values of an input of the call. They outlive the launches.
using input_values = std::function<const host_tensor&(const tensor_spec&)>;
// Changes a call's tensors, in the case's order, before it is made.
using change_tensors = std::function<void(std::vector<DLTensor>&)>;

// An access to an inaccessible page: the offset in bytes from the start of the buffer of this tensor, or of none ("").
struct touched_page {
  int64_t offset = 0;
  std::string tensor;
  size_t bytes = 0;  // of the buffer
};

// Facts about a finished call.
struct call_facts {
  warpcheck_status status = WARPCHECK_OK;
  std::string message;                      // the candidate's sentence, printable
  std::optional<std::string> used_variant;  // that the candidate reports as run
  std::string picked_variant;               // that its dispatch publishes for the call, "" for none
  std::string environment;                  // how the call changed the floating-point environment, "" for not
  std::optional<touched_page> touched;      // the access that ended the call
  std::optional<std::string> replay_error;  // of the graph that captured the call
};

// The device's findings after all calls.
struct device_facts {
  std::vector<std::pair<std::string, std::string>> hazards;  // kind and text, as abi/candidate.h has them
  std::optional<std::string> error;
  bool is_every_schedule = false;  // proven for the calls
};

// Memory after a call: its outputs, or the first damage.
struct memory_facts {
  enum damage_type { none, guard_zone, row_gap, input };

  damage_type damage = none;
  std::string tensor;  // damaged
  int64_t at = 0;      // guard_zone: bytes from the buffer's start; row_gap: elements
  size_t bytes = 0;    // of the buffer
  tensor_map outputs;  // by name
};

// The calls of launches that share a stream and one wait (group_size). Functions throw device_lost if the device has
// failed permanently, usage_error or environment_error if it cannot do what is requested.
class launch_group {
 public:
  // Makes the tensors, in `memory` if it has room for them, launches and waits. A launch that fails is the last. `c`,
  // `launch_specs` and `memory` must outlive the group.
  launch_group(const trial_case& c, std::span<const launch_spec> launch_specs, int32_t sm_count,
               const input_values& values, const change_tensors& change = nullptr, reused_memory* memory = nullptr);
  ~launch_group();

  const call_facts& call(size_t i) const;
  const device_facts& device() const { return device_; }
  // Reads the memory of launch `i` back; a workspace only if `with_workspace`.
  memory_facts memory(size_t i, bool with_workspace = false) const;
  int64_t launches() const { return launches_; }

 private:
  struct launch_state;
  void prepare(launch_state& f, const input_values& values, reused_memory* memory) const;
  void launch(launch_state& f, void* stream);
  void wait(const warpcheck_device_api& api);

  const trial_case& case_;
  std::vector<std::unique_ptr<launch_state>> launch_states_;
  device_facts device_;
  int64_t launches_ = 0;
};

}  // namespace warpcheck::engine
