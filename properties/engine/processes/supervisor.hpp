// Runs many cases in worker processes, so that no case can harm another, the run, or its results.
//
// The parent never loads a candidate and never touches a device: it forks workers, reads their journals (journal.hpp),
// which are their only output, and watches the clock. If a worker dies or hangs, its current case gets the verdict
// `crash` or `timeout`, and a new worker continues after that case. Results do not depend on the number of workers, on
// their deaths, or on how often the run was interrupted and resumed; only times do.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "properties/engine/cases/case.hpp"
#include "properties/engine/trials/verdict.hpp"

namespace warpcheck::engine {

// A numbered sequence of cases.
struct job {
  std::string id;                                 // unique in its run: "softmax/within-error-bound f32 emulated"
  std::function<trial_case(int64_t index)> make;  // called in a worker, in any order; depends on nothing but the index
  int64_t count = 0;
  // Draws another case for the index if the property has nothing to judge in the earlier ones. Null: such a case is
  // skipped.
  std::function<trial_case(int64_t index, int64_t attempt)> draw_again = {};
  int cost = 0;  // a few cases of each job of 0 come before all others; of the other jobs, the costliest first
};

struct progress {
  int64_t done = 0;
  int64_t total = 0;
  double cases_per_second = 0;  // of this process, without what a resumed run had already
  double worst_error_ratio = 0;
  double eta_seconds = 0;
  int64_t failures = 0;  // failures that the results will contain
  // The case that has been running longest, and for how many seconds.
  std::string running;
  double running_seconds = 0;
};

struct job_result;

struct supervise_options {
  int workers = 0;  // 0: one for each core that this process may use
  // For one case, generation included; large cases have more (contain.hpp, time_limit).
  double timeout_seconds = 60;
  double time_budget_seconds = 0;   // 0: none; then the run ends, without the cases that have not started
  std::string journal_folder = {};  // empty: a temporary one, removed at the end
  bool resume = false;              // go on with the run whose journals are in the folder; an empty folder starts one
  std::string fingerprint = {};     // everything else that determines the results, such as the seed; compared by resume
  int shard_index = 0;  // item g of all jobs' cases, in the order of run_plan, belongs to shard g % shard_count
  int shard_count = 1;
  // A job ends with its case of this many failures, in the order of the index; later cases are not part of the result.
  // 0: never.
  int max_failures_per_job = 5;
  bool fail_fast = false;  // the run ends with its first failure; unfinished cases are not in the results
  // All workers use one device, and a failure of it may reach every one of them (a GPU's fault does, under NVIDIA's
  // MPS): a case that ends with the device, dies or hangs is judged again, alone, in a new process, and that verdict
  // counts. If none of these cases fails on its own, the first one keeps its first verdict.
  bool shared_device = false;
  // Called first in each worker process, with the worker's number: it may choose a device for the process.
  std::function<void(int worker)> at_start = [](int) {};
  std::function<case_report(const trial_case&)> run = {};
  std::function<void(const progress&)> on_progress = {};  // a few times per second, and once at the end
  // Called once, with the results so far, when the first cases of every job of cost 0 are finished and other cases are
  // left.
  std::function<void(const std::vector<job_result>&, double seconds)> on_first_cases = {};
  std::vector<trial_case> first = {};  // regressions: a job of their own, before all others
};

inline constexpr const char* k_first_job = "regressions";  // the id of the job that replays supervise_options::first

// The notes of a job's cases under one name.
struct summed_note {
  double sum = 0, greatest = 0;
};

struct job_result {
  std::string id;
  int64_t cases = 0;    // that finished
  int64_t skipped = 0;  // of these
  int64_t launches = 0;
  int64_t compared = 0;
  int64_t every_schedule = 0;  // cases of which every schedule is proven
  int64_t needed_multiprecision = 0;
  double max_error_ratio = 0;
  double max_ulp = 0;
  double seconds = 0;  // spent in its cases, summed over workers
  verdict worst = verdict::pass;
  bool stopped = false;  // by max_failures_per_job
  std::optional<case_report> worst_error_ratio_case;
  std::optional<case_report> first_skipped;
  std::vector<case_report> failures;              // neither pass nor skipped; in the order of the index
  std::map<std::string, int64_t> variants;        // variant -> cases in which it ran
  std::map<std::string, int64_t> proven;          // variant -> of these, cases with every schedule proven
  std::map<std::string, int64_t> classes;         // class (classes.hpp) -> cases of it
  std::map<std::string, summed_note> notes;       // by name
  std::map<std::string, int64_t> combinations;    // classes and variant in one word -> cases
  std::map<std::string, error_histogram> errors;  // variant, "several", or "" for a candidate without variants
  std::map<std::string, ratio_histogram>
      error_ratios;  // variant -> of cases that ran only this one, if reports have them
};

struct run_result_set {
  std::vector<job_result> jobs;  // in the given order, after the job of regressions if there are any
  bool interrupted = false;      // by SIGINT or SIGTERM: everything finished is in the results
  bool out_of_time = false;      // time_budget_seconds ended the run
  bool failed_fast = false;      // a failure ended the run
  double seconds = 0;
};

// Runs every case of the shard. Throws usage_error (an option or journal that is not valid) or environment_error (the
// journal cannot be written, or no process can be started); finished cases stay in a journal_folder that was given.
// An exception from generating or running a case is that case's verdict (run_judged of contain.hpp).
run_result_set supervise(const std::vector<job>& jobs, const supervise_options& options);

}  // namespace warpcheck::engine
