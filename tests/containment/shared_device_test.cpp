// Workers that share a device, whose failure reaches all of them: who gets the blame.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include "properties/engine/processes/contain.hpp"
#include "properties/engine/processes/supervisor.hpp"
#include "tests/containment/hostile.hpp"

namespace warpcheck::engine {
namespace {

constexpr int64_t k_cases = 240;
constexpr int k_workers = 4;

// A device as a GPU is under NVIDIA's MPS: after a fault every process that used it can no longer do so, and a process
// that comes while one of those lives is refused, too.
class fake_device {
 public:
  // Of this process: whether it can use the device.
  bool usable() {
    if (opened_by_ != getpid()) {
      opened_by_ = getpid();
      faults_seen_ = faults_;
      for (int64_t i = 0; i < users_.size() && faults_ > 0; ++i)
        if (users_[i] != 0 && users_[i] != getpid() && users_faults_[i] < faults_ && kill(users_[i], 0) == 0)
          faults_seen_ = -1;
      for (int64_t i = 0; i < users_.size(); ++i)
        if (int none = 0; users_[i].compare_exchange_strong(none, getpid())) {
          users_faults_[i] = faults_seen_;
          break;
        }
    }
    return faults_seen_ == faults_;
  }
  void fault() { ++faults_; }

 private:
  shared_numbers numbers_{1}, users_{1024}, users_faults_{1024};
  std::atomic<int>& faults_ = numbers_[0];
  pid_t opened_by_ = 0;
  int faults_seen_ = 0;
};

// What the cases of a run do to the device, and who ran when. The first time, a guilty case waits for the case behind
// it, which another worker has, and that one until the guilty one has acted.
struct shared_run {
  fake_device device;
  shared_numbers runs{k_cases + 1}, acted{k_cases + 1}, in_flight{1}, beside_a_second_run{1};
  std::set<int64_t> guilty = {17, 82, 140};
  std::function<void()> guilty_act = [] {};    // after the fault
  std::function<void()> innocent_act = [] {};  // where the device has failed
  bool only_in_company = false;                // the fault

  job cases = {"shared", numbered_case, k_cases};

  case_report run(const trial_case& c) {
    const int64_t i = number_of(c);
    const bool again = runs[i]++ > 0;
    if (++in_flight[0] > 1 && again) ++beside_a_second_run[0];
    if (guilty.count(i)) {
      while (!again && device.usable() && runs[i + 1] == 0) sched_yield();
      if (device.usable() && !(only_in_company && again)) {
        device.fault();
        acted[i] = 1;
        --in_flight[0];
        guilty_act();
        ++in_flight[0];
      }
      acted[i] = 1;
    } else {
      while (!again && device.usable() && guilty.count(i - 1) && acted[i - 1] == 0) sched_yield();
      if (!device.usable()) {
        --in_flight[0];
        innocent_act();
        ++in_flight[0];
      }
    }
    --in_flight[0];
    case_report r = passing(c);
    if (!device.usable()) {
      r = {};
      r.result = verdict::error_return;
      r.message = fmt::format("the device reports an error after the call; the {}", k_process_unusable);
      r.device_failed = true;
    }
    return r;
  }

  supervise_options options(int workers = k_workers) {
    supervise_options o{.workers = workers, .timeout_seconds = 20, .max_failures_per_job = 0, .shared_device = true};
    o.run = [this](const trial_case& c) { return run(c); };
    return o;
  }
};

std::vector<std::string> lines_of(const std::set<int64_t>& numbers) {
  std::vector<std::string> lines;
  for (int64_t i : numbers) lines.push_back(format(numbered_case(i)));
  return lines;
}

std::vector<std::string> failed_lines(const run_result_set& results) {
  std::vector<std::string> lines;
  for (const case_report& r : results.jobs[0].failures) lines.push_back(r.line);
  return lines;
}

TEST(shared_device, only_cases_that_fail_alone_are_to_blame) {
  shared_run shared;
  const run_result_set results = supervise({shared.cases}, shared.options());
  EXPECT_EQ(failed_lines(results), lines_of(shared.guilty));
  for (const case_report& r : results.jobs[0].failures)
    EXPECT_EQ(r.message, fmt::format("the device reports an error after the call; the {}", k_process_unusable));
  EXPECT_EQ(results.jobs[0].cases, k_cases);
  EXPECT_EQ(shared.beside_a_second_run[0], 0) << "a case that was judged again had company";
  int64_t repeated = 0;
  for (int64_t i = 0; i < k_cases; ++i) {
    EXPECT_GE(shared.runs[i], 1) << i;
    EXPECT_LE(shared.runs[i], 1 + k_workers) << i;
    repeated += shared.runs[i] - 1;
  }
  EXPECT_GT(repeated, static_cast<int64_t>(shared.guilty.size())) << "the faults reached nobody else";
  EXPECT_LE(repeated, k_workers * static_cast<int64_t>(shared.guilty.size()));
}

TEST(shared_device, without_the_option_the_innocent_are_blamed_too) {
  shared_run shared;
  supervise_options o = shared.options();
  o.shared_device = false;
  EXPECT_GT(supervise({shared.cases}, o).jobs[0].failures.size(), shared.guilty.size());
}

TEST(shared_device, whoever_dies_of_it_is_judged_again) {
  shared_run shared;
  shared.guilty_act = [] { std::abort(); };
  shared.innocent_act = [] { _exit(0); };
  const run_result_set results = supervise({shared.cases}, shared.options());
  EXPECT_EQ(failed_lines(results), lines_of(shared.guilty));
  for (const case_report& r : results.jobs[0].failures) {
    EXPECT_EQ(r.result, verdict::crash);
    EXPECT_EQ(r.message.find("the process died: it was killed by signal 6"), 0u) << r.message;
  }
  EXPECT_EQ(shared.beside_a_second_run[0], 0);
}

TEST(shared_device, whoever_hangs_because_of_it_is_judged_again) {
  shared_run shared;
  shared.guilty = {100};
  shared.innocent_act = [] {
    for (;;) pause();
  };
  supervise_options o = shared.options();
  o.timeout_seconds = 2;
  const run_result_set results = supervise({shared.cases}, o);
  EXPECT_EQ(failed_lines(results), lines_of(shared.guilty));
  EXPECT_EQ(results.jobs[0].cases, k_cases);
}

TEST(shared_device, a_failure_that_nobody_repeats_is_kept_once) {
  shared_run shared;
  shared.guilty = {100};
  shared.only_in_company = true;
  const run_result_set results = supervise({shared.cases}, shared.options());
  ASSERT_EQ(results.jobs[0].failures.size(), 1u);
  const case_report& r = results.jobs[0].failures[0];
  EXPECT_EQ(r.result, verdict::error_return);
  EXPECT_NE(r.message.find("; it did not fail alone, nor did what ran beside it"), std::string::npos) << r.message;
  EXPECT_EQ(results.jobs[0].cases, k_cases);
}

TEST(shared_device, results_do_not_depend_on_the_number_of_workers) {
  std::string one;
  for (int workers : {1, 2, 7}) {
    shared_run shared;
    for (int64_t i : shared.guilty) shared.runs[i] = 1;  // the guilty wait for nobody
    const std::string text = summary(supervise({shared.cases}, shared.options(workers)));
    if (one.empty()) one = text;
    EXPECT_EQ(text, one) << workers << " workers";
  }
}

TEST(shared_device, a_job_that_has_failed_often_enough_ends_although_suspects_are_left) {
  shared_run shared;
  supervise_options o = shared.options();
  o.max_failures_per_job = 2;
  const run_result_set results = supervise({shared.cases}, o);
  EXPECT_EQ(results.jobs[0].cases, 83);
  EXPECT_EQ(failed_lines(results), lines_of({17, 82}));
}

// Kills the run when its journals have grown to `bytes`, and resumes it.
TEST(shared_device, after_kills_nothing_is_lost_or_repeated) {
  const orphan_collector orphans;
  std::string expected;
  int64_t whole = 0;
  for (int64_t moment = 0; moment < 12; ++moment) {
    shared_run shared;
    const scratch_folder folder;
    supervise_options o = shared.options();
    o.journal_folder = folder.path();
    o.resume = true;
    if (moment > 0) {
      const pid_t supervising = fork();
      if (supervising == 0) {
        supervise({shared.cases}, o);
        _exit(0);
      }
      while (journal_bytes(folder.path()) < whole * moment / 12 && waitpid(supervising, nullptr, WNOHANG) == 0)
        sched_yield();
      kill(supervising, SIGKILL);
      while (waitpid(-1, nullptr, 0) > 0) continue;
      shared.in_flight[0] = 0;
    }
    const std::string text = summary(supervise({shared.cases}, o));
    if (moment == 0) {
      expected = text;
      whole = journal_bytes(folder.path());
    }
    EXPECT_EQ(text, expected) << "killed at " << moment << "/12";
    const std::vector<int> finished = finished_times(folder.path(), k_cases);
    for (int64_t i = 0; i < k_cases; ++i) EXPECT_EQ(finished.at(static_cast<size_t>(i)), 1) << i;
  }
}

}  // namespace
}  // namespace warpcheck::engine
