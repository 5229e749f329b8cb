// Checks that the cases of a run covered all required classes and variants.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "command/plan.hpp"
#include "command/request.hpp"
#include "properties/engine/processes/supervisor.hpp"

namespace warpcheck::cli {

// The classes of a run's cases, per operator and dtype.
struct coverage_result {
  struct group {
    std::string name;  // "softmax f32"
    std::map<std::string, int64_t> classes;
    int64_t reached = 0, possible = 0;  // combinations of classes and variants
  };
  std::vector<group> groups;
  // Variants and classes that a whole run must reach and did not, because a generator does not draw them: variants that
  // the candidate's own dispatch can select, and classes (sentences that name them).
  std::vector<std::string> unreached_variants, unmet_classes;
  bool met() const { return unreached_variants.empty() && unmet_classes.empty(); }
};
// `results`: one per job. `whole`: the run was neither interrupted nor out of time.
coverage_result coverage_of(const std::vector<planned_job>& jobs, std::span<const engine::job_result> results,
                            const run_request& r, bool whole);

}  // namespace warpcheck::cli
