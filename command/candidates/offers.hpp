// Asks a candidate what it offers before cases are made for it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "properties/engine/trials/property.hpp"

namespace warpcheck::cli {

enum class asking { answered, refused, hung };  // refused: every call was answered by unsupported

// Gives the target the offer that its candidate's answers to calls of these properties show, and prints it. All of a
// built-in candidate is offered. A candidate of which a call takes too long, measured by the timeout of a case, is
// asked no further.
asking ask_offer_of(engine::target& t, const std::vector<const engine::property*>& properties, double timeout_seconds);

// A property of a target, with its cases.
struct planned_property {
  const engine::property* p;
  engine::target t;
  std::function<engine::trial_case(int64_t index)> make;
};
// Why each property cannot be asked of a candidate with this offer: "needs lengths"; "" where it can. Cases of all are
// tried in one process, each as long as a case of the run may take; a new process follows one that dies.
std::vector<std::string> unmet_needs(const std::vector<planned_property>& list, uint64_t seed, double timeout_seconds);

}  // namespace warpcheck::cli
