// The least accuracy that a candidate has to state so that its results are admitted.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "command/plan.hpp"

namespace warpcheck::cli {

// A statement of one number (docs/bring_your_own): the longest chain of additions in a sum, or the error of gate
// functions.
struct admitted_statement {
  std::string op;
  int64_t number = 0;
  int64_t failing = 0;  // cases that no number admits
  bool is_of_gates = false;
  int64_t tried = 0, cases = 0;  // the cases that decide it, and those of them for which there was time
};
// Judges the cases of the property that compares values again, and the failing cases of other properties, with the
// smallest number that admits them. Operators whose candidate publishes our plan, or whose results need no statement,
// have none. Jobs with another failure than wrong values (a crash, a timeout) have none either. `results` are those of
// the jobs, in their order.
std::vector<admitted_statement> admitted_statements(const std::vector<planned_job>& jobs,
                                                    std::span<const engine::job_result> results);
// "reduce: passes with sums of depth >= 96", "gru: passes with gates >= 40": the least statement, for comparison with
// what the kernel was designed for.
std::string text_of(const admitted_statement& a);
// [{"operator", "sum_depth" or "gates", "failing", "tried", "cases"}, ...]
nlohmann::json to_json(const std::vector<admitted_statement>& all);

}  // namespace warpcheck::cli
