// The cases that a command runs; shared by verify and fuzz.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "command/request.hpp"
#include "properties/engine/processes/supervisor.hpp"
#include "properties/engine/trials/property.hpp"

namespace warpcheck::cli {

// A property and a dtype: one line of the final table, or one of several that are folded into it.
struct planned_job {
  const engine::property* p;
  engine::target t;
  engine::job j;
  bool may_lack = false;  // the candidate may lack what the property's check needs
};

// True if a case line can contain the path.
bool is_path_of_a_line(const std::string& path);

// True if the property has cases within the target's limits.
bool has_case(const engine::property& p, const engine::target& t, uint64_t seed);

// The reason of a property that nothing excludes and that has no case nevertheless.
inline constexpr std::string_view k_no_case = "no case of it was found within the offer";
// Properties that a run leaves out, as OP/NAME, each with the reason: their size, a need that the candidate does not
// offer, or k_no_case.
using left_out_properties = std::map<std::string, std::string>;
// "not asked" if the reason is such a need, otherwise "left out".
std::string_view left_out_word(std::string_view why);

// Returns the jobs of the selected operators, properties and dtypes. `left_out` gets the properties without a case.
// Throws usage_error if nothing is left to run.
std::vector<planned_job> plan_jobs(const run_request& r, left_out_properties& left_out);

// A property, or some of its element types, that a run does not test, with the reason in a few words.
struct left_property {
  const engine::property* p;
  std::vector<std::string> dtypes;  // all types of the property if none of them runs
  std::string why;
};
// Everything that is registered and not among the jobs, in order of registration.
std::vector<left_property> not_run(const run_request& r, const std::vector<planned_job>& jobs,
                                   const left_out_properties& left_out);

// The counterexamples of earlier fuzzing for these jobs, as cases of the candidate: from `folder`, or, if it is empty,
// from golden/regressions if present.
std::vector<engine::trial_case> regressions_for(const std::string& folder, const std::vector<planned_job>& jobs,
                                                const std::string& device, const std::string& candidate);

}  // namespace warpcheck::cli
