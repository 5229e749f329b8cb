// The launches of a trial: the knobs of a case as types, and the launches that follow from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "properties/engine/cases/case.hpp"
#include "properties/engine/trials/cpu_device.hpp"
#include "properties/engine/trials/library.hpp"

namespace warpcheck::engine {

// The kind of every launch but the first.
struct launch_way {
  enum kind_type { stream, legacy, again, graph };
  kind_type kind = stream;
  int times = 1;
};

// The knobs that determine how a case is launched.
struct launch_knobs {
  enum detection { on, off, only };

  std::string schedule;
  detection detect = on;
  int repeat = 1;
  int32_t sm_count = 0;  // multiprocessors of the emulated device
  launch_way launch;
  bool agree_in_bits = true;  // else the contract leaves the order of sums open
};
// Throws usage_error: names the knob, its value and what is allowed.
launch_knobs launch_knobs_of(const trial_case& c);

// One launch of a case: which build of the candidate, under which schedule, over which bytes.
struct launch_spec {
  const listed_operator* op;
  const warpcheck_device_api* api;
  std::string schedule;  // "": the device's own
  bool instrumented;
  unsigned char poison;  // outputs start as bytes of this value
  launch_way launch = {};
  uint32_t work = 0;  // and a workspace as words of this one
  cpu_placement placement = cpu_placement::behind_page;
  bool may_be_last = false;  // the launches after it are needless if it proves every schedule
  // What outputs start as in place of the poison, which guard zones and shared memory keep.
  std::optional<unsigned char> old_outputs = {};
};

// Returns all launches in order; none if the case demands an instrumented build that the candidate does not have.
std::vector<launch_spec> launch_specs_of(const trial_case& c, const launch_knobs& knobs, const candidate& on);
// Returns the launch of a call that must be refused.
launch_spec refused_launch_spec(const candidate& on);

// Returns the number of launches from `first` on that share a stream and a wait, because on a GPU a wait takes longer
// than a small call.
size_t group_size(const trial_case& c, std::span<const launch_spec> list, size_t first);

}  // namespace warpcheck::engine
