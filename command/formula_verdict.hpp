// Results of a run of a formula beside its table: the smallest contract that admits the candidate, elements that are
// free, and whether the trial rejects one precision lower.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "command/plan.hpp"
#include "properties/formula/formula_control.hpp"

namespace warpcheck::cli {

struct element_counts {
  int64_t compared = 0;
  int64_t free = 0;  // of these, elements whose bound admits every number
};

struct formula_verdict {
  std::string op;
  std::map<std::string, double> needs;             // empty: no result was admitted
  std::map<std::string, element_counts> by_value;  // class of values -> elements
  element_counts all;
  std::vector<formula_trial::lower_precision> controls;
  std::string untried;  // why no controls ran
  bool is_free() const { return all.compared > 0 && all.free == all.compared; }
};

// Returns one verdict for each formula of the run, none for other operators. Runs the controls on the run's own cases.
std::vector<formula_verdict> formula_verdicts(const std::vector<planned_job>& jobs,
                                              const std::vector<engine::job_result>& results);
void print(const formula_verdict& v);
nlohmann::json to_json(const formula_verdict& v);

}  // namespace warpcheck::cli
