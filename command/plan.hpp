// Which cases a command runs, and whether they covered what they should: shared by verify and fuzz.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "command/commands.hpp"
#include "properties/engine/processes/supervisor.hpp"
#include "properties/engine/trials/property.hpp"

namespace warpcheck::cli {

// A property and a dtype: one line of the final table, or one of several that are folded into it.
struct planned_job {
  const engine::property* p;
  engine::target t;
  engine::job j;
};

// The operators that were asked for, each once, all of them by default; usage_error for one that does not exist.
std::vector<std::string> chosen_operators(const verify_options& o);

// Whether a case line can carry the path.
bool is_path_of_a_line(const std::string& path);

// Whether the property has cases within the target's limits.
bool has_case(const engine::property& p, const engine::target& t, uint64_t seed);

// Properties that a run leaves out, as OP/NAME, each with the reason: their size, or that they need what the candidate
// does not offer.
using left_out_properties = std::map<std::string, std::string>;
// "not asked" where the reason is such a need, else "left out".
std::string_view left_out_word(std::string_view why);

// The jobs of the chosen operators, properties and dtypes. `left_out` gets the properties that have no case.
// usage_error where a name does not exist or nothing is left to run.
std::vector<planned_job> plan_jobs(const verify_options& o, const std::string& device, uint64_t seed,
                                   left_out_properties& left_out);

struct run_counts {
  int64_t cases = 0, skipped = 0, compared = 0, failures = 0;
};
// Operators of which nothing was judged: nothing failed, and within-error-bound ran and compared no element, or cases
// were skipped and the others compared none. `counts`: by "operator/property".
std::vector<std::string> operators_without_judgement(const std::map<std::string, run_counts>& counts);
// The sentence that says so of one operator.
std::string nothing_judged_text(const std::string& op);

// A property, or some of its element types, that a run is not about, and why, in a few words.
struct left_property {
  const engine::property* p;
  std::vector<std::string> dtypes;  // all of the property's where none of them is run
  std::string why;
};
// Everything that is registered and not among the jobs, in order of registration.
std::vector<left_property> not_run(const verify_options& o, const std::vector<planned_job>& jobs,
                                   const left_out_properties& left_out);

// 0: one for each core; fewer on cuda.
int workers_for(const verify_options& o, const std::string& device);

// The counterexamples of earlier fuzzing that concern these jobs, as cases of the candidate: from `folder`, or, where
// it is empty, from golden/regressions if there is one.
std::vector<engine::trial_case> regressions_for(const std::string& folder, const std::vector<planned_job>& jobs,
                                                const std::string& device, const std::string& candidate);

// What the cases of a run were, per operator and dtype.
struct coverage_result {
  struct group {
    std::string name;  // "softmax f32"
    std::map<std::string, int64_t> classes;
    int64_t reached = 0, possible = 0;  // combinations of classes and variants
  };
  std::vector<group> groups;
  // What a whole run must have and did not reach: variants that the candidate's own dispatch can pick, and classes
  // (sentences that name them): the generators have a hole.
  std::vector<std::string> unreached_variants, unmet_classes;
  bool met() const { return unreached_variants.empty() && unmet_classes.empty(); }
};
// `results`: one per job. `whole`: the run was neither interrupted nor out of time.
coverage_result coverage_of(const std::vector<planned_job>& jobs, std::span<const engine::job_result> results,
                            const verify_options& o, bool whole);

// Whether more than a tenth of the cases was skipped and nobody allowed it; the sentence that says so is printed, which
// comes last.
bool too_many_skips(const verify_options& o, int64_t skipped, int64_t cases);

// A terminal sees one line that changes; a file gets the last one only.
void print_progress(const engine::progress& p);

}  // namespace warpcheck::cli
