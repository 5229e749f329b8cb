// Groups failures that one bug explains, so that a report describes each bug once.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "properties/engine/trials/verdict.hpp"

namespace warpcheck::cli {

// Returns the cause of a failure as its report shows it; failures with equal text have the same cause. The text has,
// - for a hazard: operator, kind of hazard, and its source lines (of several hazards the first in alphabetical order);
// - for a wrong element: operator, verdict, the element, its input, expected and actual value;
// - otherwise: operator, verdict and message.
// Numbers in a message, such as counts of elements and addresses, are left out.
std::string cause_of(const engine::case_report& r);

class cause_groups {
 public:
  // Adds a failure of `name`: an operator/property, or a finding. Returns true if it is the first of its cause.
  bool add(const std::string& name, const engine::case_report& r);

  // Returns a text such as "the same race as of softmax/no-hazard", for a failure that was added and was not the first
  // of its cause.
  std::string reference(const engine::case_report& r) const;

  // True if a hazard with the same source lines was added before.
  bool knows_hazard(const engine::case_report& r) const;

  // One line per cause of several names: "softmax/no-hazard: 2 further properties fail with the same race: ...".
  std::string further() const;

 private:
  struct group {
    std::string first;  // its name
    std::string kind;   // "race", "violation"
    std::vector<std::string> others;
  };
  std::map<std::string, group> groups_;
  std::vector<std::string> order_;  // keys of groups_, as they were added
};

}  // namespace warpcheck::cli
