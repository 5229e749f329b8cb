// Determines a candidate's offer before cases are generated for it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "properties/engine/trials/property.hpp"

namespace warpcheck::cli {

enum class asking { answered, refused, hung };  // refused: every call was answered by unsupported

// Determines the offer of the target's candidate from its answers to calls of these properties, stores it in the
// target, and prints it. A built-in candidate offers everything. If a call exceeds the timeout of a case, the questions
// end.
asking ask_offer_of(engine::target& t, const std::vector<const engine::property*>& properties, double timeout_seconds);

// A property of a target, with its cases.
struct planned_property {
  const engine::property* p;
  engine::target t;
  std::function<engine::trial_case(int64_t index)> make;
};
// Returns for each property the reason why a candidate with this offer cannot be tested ("needs lengths"), or "". Cases
// of all properties are tried in one process, each as long as a case of the run may take; a new process follows one
// that dies.
std::vector<std::string> unmet_needs(const std::vector<planned_property>& list, uint64_t seed, double timeout_seconds);

}  // namespace warpcheck::cli
