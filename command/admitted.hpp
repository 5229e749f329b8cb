// The smallest depth of sums that admits a candidate's results.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "command/plan.hpp"

namespace warpcheck::cli {

struct admitted_depth {
  std::string op;
  int64_t depth = 0;    // the longest chain of additions that its results show
  int64_t failing = 0;  // cases that no depth admits
};
// Judges the cases of within-error-bound again, by bounds of the smallest depth of sums that admits them. Operators
// whose candidate publishes our plan, or whose results show no addition, have none. Jobs with another failure than
// wrong values (a crash, a timeout) have none either. `results` are those of the jobs, in their order.
std::vector<admitted_depth> admitted_depths(const std::vector<planned_job>& jobs,
                                            std::span<const engine::job_result> results);
// "reduce: admitted by sums of depth <= 96"
std::string text_of(const admitted_depth& a);
// [{"operator", "sum_depth", "failing"}, ...]
nlohmann::json to_json(const std::vector<admitted_depth>& all);

}  // namespace warpcheck::cli
