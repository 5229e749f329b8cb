// Calls one after another on the same memory, with new data each time and alternating shapes, for property
// reused-storage. It finds graphs that are replayed with old values, and results kept by address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "abi/candidate.h"
#include "properties/engine/cases/case.hpp"
#include "properties/engine/trials/property.hpp"

namespace warpcheck::engine {

// Device memory for the tensors of several calls, each tensor at the same address in all of them.
class reused_memory {
 public:
  // Every tensor gets as much memory as the largest one of its name needs.
  explicit reused_memory(const std::vector<trial_case>& calls);
  ~reused_memory();
  reused_memory(const reused_memory&) = delete;
  reused_memory& operator=(const reused_memory&) = delete;

  // Returns the tensor's memory on the device, or null if the tensor belongs to none of the calls. `slot` numbers
  // launches that are prepared at the same time. Throws like device_failed.
  void* at(const tensor_spec& spec, const warpcheck_device_api& api, size_t slot);

 private:
  struct room {
    dtype type = dtype::f32;
    int64_t offset = 0;
    size_t bytes = 0;
  };
  std::map<std::string, room> rooms_;  // by tensor
  std::map<std::tuple<const warpcheck_device_api*, size_t, std::string>, void*> memory_;
};

// Gives the tensor's recipe another seed below `seeds`, computed from the old one and the number of the call. A recipe
// without a seed stays as it is.
void reseed(tensor_spec& t, uint64_t call, int64_t seeds);
// True if the values of an input follow from a seed, so that new data of the same kind can be drawn.
bool has_seeded_input(const trial_case& c);
// Returns the case and ten more calls: every other one has a smaller shape, if an extent can shrink. Three differ from
// the case in one element of each seeded input, which nobody notices who compares some elements; all others have values
// of other seeds.
std::vector<trial_case> calls_on_same_storage(const trial_case& c);

// Makes it property reused-storage of its operator: cases are generated as it generates them, and each call is checked
// as it checks its case.
void make_reused_storage(property& p);

}  // namespace warpcheck::engine
