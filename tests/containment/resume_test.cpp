// kill -9 of a supervising process at random moments, and what a resumed run makes of it.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "properties/engine/processes/contain.hpp"
#include "properties/engine/processes/supervisor.hpp"
#include "tests/containment/hostile.hpp"

namespace warpcheck::engine {
namespace {

constexpr int64_t k_cases = 600;
constexpr int k_workers = 3;

struct killed_run {
  shared_numbers runs{k_cases};
  scratch_folder folder;
  job cases = {"killed", numbered_case, k_cases};

  supervise_options options() {
    supervise_options o{
        .workers = k_workers, .journal_folder = folder.path(), .resume = true, .max_failures_per_job = 0};
    o.run = [this](const trial_case& c) {
      ++runs[number_of(c)];
      case_report r = passing(c);
      if (number_of(c) % 97 == 3) std::abort();
      if (number_of(c) % 50 == 7) r.result = verdict::violation;
      return r;
    };
    return o;
  }

  // Supervises in another process and kills it when the journals have grown to `bytes`. False if it was done before.
  bool run_and_kill(int64_t bytes) {
    const pid_t supervising = fork();
    if (supervising == 0) {
      supervise({cases}, options());
      _exit(0);
    }
    int status = 0;
    while (journal_bytes(folder.path()) < bytes) {
      if (waitpid(supervising, &status, WNOHANG) == supervising) return false;
      sched_yield();
    }
    kill(supervising, SIGKILL);
    waitpid(supervising, &status, 0);
    return WIFSIGNALED(status);
  }
};

void kill_at_random_moments(int moments) {
  // Orphaned workers come to this process, which can so wait for their end.
  const orphan_collector orphans;
  std::string expected;
  int64_t total_bytes = 0;
  {
    killed_run whole;
    expected = summary(supervise({whole.cases}, whole.options()));
    total_bytes = journal_bytes(whole.folder.path());
    for (int64_t i = 0; i < k_cases; ++i) ASSERT_EQ(whole.runs[i], 1);
  }
  for (int moment = 0, kills = 0; kills < moments; ++moment) {
    ASSERT_LT(moment, 3 * moments) << "too few runs could be killed";
    killed_run r;
    // Two kills of the same run, at any two moments of it.
    int64_t first =
        static_cast<int64_t>(hash64(11, static_cast<uint64_t>(moment)) % static_cast<uint64_t>(total_bytes));
    int64_t second =
        static_cast<int64_t>(hash64(12, static_cast<uint64_t>(moment)) % static_cast<uint64_t>(total_bytes));
    for (int64_t bytes : {std::min(first, second), std::max(first, second)}) {
      kills += r.run_and_kill(bytes);
      // Workers die with their parent; this returns when the last one is gone.
      while (waitpid(-1, nullptr, 0) > 0) continue;
    }
    const std::vector<int> before = finished_times(r.folder.path(), k_cases);
    std::vector<int> runs_before(k_cases);
    for (int64_t i = 0; i < k_cases; ++i) runs_before[static_cast<size_t>(i)] = r.runs[i];
    const run_result_set results = supervise({r.cases}, r.options());
    EXPECT_EQ(summary(results), expected) << "killed at " << first << " and " << second << " bytes";
    const std::vector<int> after = finished_times(r.folder.path(), k_cases);
    for (size_t i = 0; i < before.size(); ++i) {
      const int now = r.runs[static_cast<int64_t>(i)] - runs_before[i];
      ASSERT_LE(before[i], 1) << "case " << i;
      ASSERT_EQ(after[i], 1) << "case " << i;
      ASSERT_EQ(now, 1 - before[i]) << "case " << i << (before[i] ? " had finished and ran again" : " was lost");
      // Each kill may have cut off one case per worker.
      ASSERT_LE(r.runs[static_cast<int64_t>(i)], 3) << "case " << i;
    }
  }
}

TEST(resume, workers_die_with_their_supervisor) {
  const orphan_collector orphans;
  const scratch_folder folder;
  shared_numbers in_flight(1);
  const pid_t supervising = fork();
  if (supervising == 0) {
    supervise_options options{.workers = 2, .journal_folder = folder.path()};
    options.run = [&](const trial_case&) -> case_report {
      ++in_flight[0];
      for (;;) pause();
    };
    supervise({{"endless", numbered_case, 2}}, options);
    _exit(0);
  }
  while (in_flight[0] < 2) sched_yield();
  kill(supervising, SIGKILL);
  // The supervisor and both workers, which have become children of this process; waits for ever if they live on.
  int ended = 0;
  while (waitpid(-1, nullptr, 0) > 0) ++ended;
  EXPECT_EQ(ended, 3);
}

TEST(resume, after_20_kills_nothing_is_lost_or_repeated) { kill_at_random_moments(20); }

TEST(resume, nightly_after_200_kills_nothing_is_lost_or_repeated) { kill_at_random_moments(200); }

}  // namespace
}  // namespace warpcheck::engine
