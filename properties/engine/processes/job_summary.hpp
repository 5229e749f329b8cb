// Totals of a job's reports.
#pragma once

#include <cstdint>
#include <map>

#include "properties/engine/processes/run_plan.hpp"
#include "properties/engine/processes/supervisor.hpp"

namespace warpcheck::engine {

// Neither pass nor skipped.
bool is_failure(verdict v);

// Independent of the order of the reports. `most`: max_failures_per_job.
struct job_summary {
  job_result result;
  std::map<int64_t, case_report> failures;  // at most `most` of the lowest indices
  int64_t worst_index = 0, skipped_index = 0;

  void add(int64_t index, const case_report& r, double seconds, int most);
  // The last index that counts: that of the failure that ends the job, or k_no_limit.
  int64_t last(int most) const;
};

}  // namespace warpcheck::engine
