// The end of a run of verify or fuzz: the lines below the tables, and the exit code.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "command/plan.hpp"
#include "command/request.hpp"
#include "properties/engine/processes/supervisor.hpp"

namespace warpcheck::cli {

struct run_counts {
  int64_t cases = 0, skipped = 0, launches = 0, compared = 0, failures = 0;
  bool is_lacking = false;  // the candidate does not offer what a skipped case needs
};
// Adds the counts of a property with one of its types.
void add(run_counts& counts, const engine::job_result& r);
// Returns operators ("softmax") and, of the others, properties ("softmax/long-row") without judgement. Of an operator
// nothing failed, and either within-error-bound ran and compared no element, or cases were skipped and the others
// compared none. Of a property within the offer there was no case, every case was skipped, or none made a launch.
// `counts`: by "operator/property".
std::vector<std::string> without_judgement(const std::map<std::string, run_counts>& counts,
                                           const left_out_properties& left_out);
// Returns the sentence about one of them.
std::string nothing_judged_text(const std::string& subject);

struct run_ending {
  int64_t cases = 0, skipped = 0;
  bool failed = false;
  std::vector<std::string> unjudged;  // without_judgement()
  std::string interrupted;            // the sentence about an interrupted run; "": it was not interrupted
};
// Prints the remaining lines, and returns the exit code.
int conclude(const run_request& r, const run_ending& e, const left_out_properties& left_out);

}  // namespace warpcheck::cli
