// Techniques by name, for properties that compare them.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "properties/engine/trials/library.hpp"
#include "properties/engine/trials/trial.hpp"

namespace warpcheck {

// Returns those of the names that the candidate lists as variants and that accept the case's call; if there are none,
// its own dispatch.
inline std::vector<std::string> ways_of(const engine::trial& t, std::initializer_list<const char*> names) {
  std::vector<std::string> ways;
  for (const char* name : names) {
    engine::trial_case forced = t.the_case();
    forced.knobs["variant"] = name;
    if (t.op().lists(name) && t.is_accepted(forced)) ways.emplace_back(name);
  }
  if (ways.empty()) ways.emplace_back("auto");
  return ways;
}

}  // namespace warpcheck
