// Many cases in worker processes: what is reported, and that it does not depend on who ran it.
#include "properties/engine/processes/supervisor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "properties/engine/error.hpp"
#include "properties/engine/processes/contain.hpp"
#include "tests/containment/hostile.hpp"

namespace warpcheck::engine {
namespace {

bool has_children() { return waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }

job numbered_job(std::string id, int64_t count, int64_t first = 0) {
  return {std::move(id), [first](int64_t i) { return numbered_case(first + i); }, count};
}

supervise_options passing_options(int workers, const std::string& journal_folder = "") {
  return supervise_options{.workers = workers, .journal_folder = journal_folder, .run = passing};
}

template <class Error>
std::string error_of(const std::vector<job>& jobs, const supervise_options& options) {
  try {
    supervise(jobs, options);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

// Every third case is one of the hostile behaviours.
case_report run_hostile(const trial_case& c) {
  const int64_t i = number_of(c);
  if (i % 3 == 1) hostile_behaviours()[static_cast<size_t>(i / 3)].act();
  return passing(c);
}

TEST(supervisor, starts_each_worker_with_its_number) {
  supervise_options options{.workers = 3, .max_failures_per_job = 0};
  int number = -1;  // of the process that a case runs in
  options.at_start = [&](int worker) { number = worker; };
  options.run = [&](const trial_case& c) {
    case_report r = passing(c);
    r.result = verdict::violation;
    r.message = std::to_string(number);
    usleep(5000);  // else one worker may run them all before another has begun
    return r;
  };
  const run_result_set results = supervise({numbered_job("started", 60)}, options);
  std::set<std::string> numbers;
  for (const case_report& r : results.jobs[0].failures) numbers.insert(r.message);
  EXPECT_EQ(numbers, (std::set<std::string>{"0", "1", "2"}));
  EXPECT_EQ(number, -1);  // the parent is no worker
}

TEST(supervisor, reports_every_hostile_case_rightly_and_runs_all_others) {
  const auto& behaviours = hostile_behaviours();
  const auto count = static_cast<int64_t>(3 * behaviours.size());
  supervise_options options{.run = run_hostile};
  options.timeout_seconds = 2;  // of a processor; also for the harmless ones
  options.max_failures_per_job = 0;
  std::string one;
  for (int workers : {1, 3}) {
    options.workers = workers;
    forget_left_behind();
    const run_result_set results = supervise({numbered_job("hostile", count)}, options);
    ASSERT_EQ(results.jobs.size(), 1u);
    const job_result& j = results.jobs[0];
    EXPECT_EQ(j.cases, count);
    EXPECT_EQ(j.worst, verdict::crash);
    EXPECT_FALSE(results.interrupted);
    std::map<std::string, const case_report*> failures;
    for (const case_report& r : j.failures) failures[r.line] = &r;
    size_t expected = 0;
    for (size_t h = 0; h < behaviours.size(); ++h) {
      const hostile_behaviour& b = behaviours[h];
      const auto found = failures.find(format(numbered_case(static_cast<int64_t>(3 * h + 1))));
      if (b.expected == verdict::pass) {
        EXPECT_TRUE(found == failures.end()) << b.name << ": " << found->second->message;
        continue;
      }
      ++expected;
      ASSERT_TRUE(found != failures.end()) << b.name << " was not reported";
      EXPECT_EQ(name_of(found->second->result), name_of(b.expected)) << b.name;
      const std::string& part = b.message_in_worker.empty() ? b.message : b.message_in_worker;
      EXPECT_NE(found->second->message.find(part), std::string::npos) << b.name << ": " << found->second->message;
      EXPECT_EQ(found->second->message.find("not a record"), std::string::npos)
          << b.name << " is reported with the output of another case: " << found->second->message;
    }
    EXPECT_EQ(failures.size(), expected);
    for (int pid : left_behind()) EXPECT_NE(kill(pid, 0), 0) << "process " << pid << " outlived the run";
    EXPECT_FALSE(has_children());
    if (one.empty()) one = summary(results);
    EXPECT_EQ(summary(results), one) << "with " << workers << " workers";
  }
}

TEST(supervisor, results_do_not_depend_on_the_number_of_workers) {
  const auto run = [](const trial_case& c) {
    case_report r = passing(c);
    if (number_of(c) % 41 == 40) {
      r.result = verdict::skipped;
      r.message = "not on this device";
    }
    if (number_of(c) % 101 == 100) r.result = verdict::violation;
    return r;
  };
  supervise_options options{.run = run};
  std::string one;
  for (int workers : {1, 2, 5, 0}) {
    options.workers = workers;
    const run_result_set results = supervise({numbered_job("a", 3000), numbered_job("b", 70, 5000)}, options);
    // Failures are at 100, 201, ...: the fifth ends job a.
    EXPECT_EQ(results.jobs[0].cases, 101 * 5);
    EXPECT_TRUE(results.jobs[0].stopped);
    EXPECT_EQ(results.jobs[0].failures.size(), 5u);
    EXPECT_EQ(results.jobs[0].skipped, 12);
    EXPECT_EQ(results.jobs[0].first_skipped->line, format(numbered_case(40)));
    EXPECT_EQ(results.jobs[1].cases, 70);
    EXPECT_FALSE(results.jobs[1].stopped);
    if (one.empty()) one = summary(results);
    EXPECT_EQ(summary(results), one) << "with " << workers << " workers";
  }
}

// Code on trial that finds the memory in which workers claim positions, and moves the next one beyond the end.
void lose_positions() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("r--s") == std::string::npos || line.find("/dev/zero") == std::string::npos) continue;
    auto* words = reinterpret_cast<int64_t*>(std::stoull(line, nullptr, 16));
    if (words[0] < 1 || words[0] > 40) continue;  // the words of another purpose
    mprotect(words, sizeof *words, PROT_READ | PROT_WRITE);
    words[0] = 1000;
  }
}

TEST(supervisor, positions_that_the_code_on_trial_loses_are_run) {
  shared_numbers runs(40);
  supervise_options options{.workers = 2};
  options.run = [&](const trial_case& c) {
    if (++runs[number_of(c)] == 1 && number_of(c) % 10 == 5) lose_positions();
    return passing(c);
  };
  EXPECT_EQ(supervise({numbered_job("a", 40)}, options).jobs[0].cases, 40);
  for (int64_t i = 0; i < 40; ++i) EXPECT_EQ(runs[i], 1) << i;
}

TEST(supervisor, the_shards_of_a_run_are_a_partition_of_its_cases) {
  const std::vector<job> jobs = {numbered_job("a", 53), numbered_job("b", 0), numbered_job("c", 2, 100),
                                 numbered_job("d", 30, 200)};
  const auto run_shard = [&](int index, int count) {
    shared_numbers runs(300);
    supervise_options options{.workers = 2,
                              .shard_index = index,
                              .shard_count = count,
                              .first = {numbered_case(290), numbered_case(291), numbered_case(292)}};
    options.run = [&](const trial_case& c) {
      ++runs[number_of(c)];
      return passing(c);
    };
    const run_result_set results = supervise(jobs, options);
    int64_t cases = 0;
    for (const job_result& j : results.jobs) cases += j.cases;
    std::multiset<int64_t> ran;
    for (int64_t i = 0; i < runs.size(); ++i)
      for (int n = 0; n < runs[i]; ++n) ran.insert(i);
    EXPECT_EQ(cases, static_cast<int64_t>(ran.size()));
    return ran;
  };
  const std::multiset<int64_t> whole = run_shard(0, 1);
  EXPECT_EQ(whole.size(), 53u + 2 + 30 + 3);
  for (int count : {4, 7, 100}) {
    std::multiset<int64_t> together;
    for (int i = 0; i < count; ++i) {
      const auto shard = run_shard(i, count);
      EXPECT_LE(shard.size(), whole.size() / static_cast<size_t>(count) + 1);
      together.insert(shard.begin(), shard.end());
    }
    EXPECT_EQ(together, whole) << count << " shards";
  }
}

TEST(supervisor, regressions_run_first_and_are_a_job_of_their_own) {
  shared_numbers order(20);
  supervise_options options{.workers = 1, .first = {numbered_case(15), numbered_case(16)}};
  options.run = [&](const trial_case& c) {
    int64_t n = 0;
    while (order[n]) ++n;
    order[n] = static_cast<int>(number_of(c));
    return passing(c);
  };
  const run_result_set results = supervise({numbered_job("a", 3, 1)}, options);
  ASSERT_EQ(results.jobs.size(), 2u);
  EXPECT_EQ(results.jobs[0].id, k_first_job);
  EXPECT_EQ(results.jobs[0].cases, 2);
  EXPECT_EQ(results.jobs[1].cases, 3);
  const int expected[] = {15, 16, 1, 2, 3, 0};
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(order[i], expected[i]) << i;
}

TEST(supervisor, a_process_that_says_so_runs_no_other_case) {
  shared_numbers pids(40);
  supervise_options options{.workers = 1, .max_failures_per_job = 0};
  options.run = [&](const trial_case& c) {
    const int64_t i = number_of(c);
    pids[i] = getpid();
    case_report r = passing(c);
    if (i == 10) {
      r.result = verdict::error_return;
      r.findings = {"cudaErrorIllegalAddress: the process is unusable"};
      r.device_failed = true;
    }
    if (i == 20) r.result = verdict::out_of_bounds;
    if (i == 30) r.result = verdict::violation;
    return r;
  };
  const run_result_set results = supervise({numbered_job("a", 40)}, options);
  EXPECT_EQ(results.jobs[0].cases, 40);
  EXPECT_EQ(results.jobs[0].failures.size(), 3u);
  for (int64_t i = 1; i < 40; ++i) EXPECT_EQ(pids[i] != pids[i - 1], i == 11 || i == 21) << i;
  EXPECT_NE(pids[0], getpid());
}

TEST(supervisor, a_generator_that_dies_or_throws_is_blamed_on_its_case) {
  const job made = {"made",
                    [](int64_t i) {
                      if (i == 3) std::abort();
                      if (i == 5) throw std::runtime_error("no such shape");
                      return numbered_case(i);
                    },
                    8};
  supervise_options options{.run = passing};
  for (int workers : {1, 3}) {
    options.workers = workers;
    const run_result_set results = supervise({made}, options);
    EXPECT_EQ(results.jobs[0].cases, 8);
    ASSERT_EQ(results.jobs[0].failures.size(), 2u);
    const std::string& died = results.jobs[0].failures[0].message;
    EXPECT_NE(died.find("while case 3 of made was made: the process died: it was killed by signal 6"),
              std::string::npos)
        << died;
    const std::string& threw = results.jobs[0].failures[1].message;
    EXPECT_NE(threw.find("was made: it threw std::runtime_error: no such shape"), std::string::npos) << threw;
  }
}

TEST(supervisor, a_generator_that_hangs_is_a_timeout) {
  const job made = {"made",
                    [](int64_t i) {
                      while (i == 1) pause();
                      return numbered_case(i);
                    },
                    3};
  supervise_options options{.workers = 1, .timeout_seconds = 1, .run = passing};
  const run_result_set results = supervise({made}, options);
  EXPECT_EQ(results.jobs[0].cases, 3);
  ASSERT_EQ(results.jobs[0].failures.size(), 1u);
  EXPECT_EQ(results.jobs[0].failures[0].result, verdict::timeout);
  EXPECT_NE(results.jobs[0].failures[0].message.find("while case 1 of made was made"), std::string::npos);
}

TEST(supervisor, an_error_of_the_suite_is_the_verdict_of_its_case) {
  supervise_options options{.workers = 2};
  options.run = [](const trial_case& c) -> case_report {
    if (number_of(c) == 9) throw usage_error("sm: 'x' is not a number");
    if (number_of(c) == 17) throw environment_error("libx.so: no such file");
    return passing(c);
  };
  const job made = {"made",
                    [](int64_t i) -> trial_case {
                      if (i == 1) throw usage_error("dtype: none");
                      if (i == 2) throw no_case_fits("no case of 3 columns");
                      return numbered_case(i);
                    },
                    4};
  const run_result_set results = supervise({numbered_job("a", 100), made}, options);
  EXPECT_EQ(results.jobs[0].cases, 100);
  EXPECT_EQ(results.jobs[0].worst, verdict::suite_error);
  ASSERT_EQ(results.jobs[0].failures.size(), 2u);
  EXPECT_EQ(results.jobs[0].failures[0].line, format(numbered_case(9)));
  EXPECT_EQ(results.jobs[0].failures[0].message, "sm: 'x' is not a number");
  EXPECT_EQ(results.jobs[0].failures[1].message, "libx.so: no such file");
  EXPECT_EQ(results.jobs[1].cases, 4);
  ASSERT_EQ(results.jobs[1].failures.size(), 1u);
  EXPECT_EQ(results.jobs[1].failures[0].message, "while the case was made: dtype: none");
  EXPECT_EQ(results.jobs[1].skipped, 1);
  EXPECT_FALSE(has_children());
}

TEST(supervisor, options_out_of_range_are_refused) {
  supervise_options options{.shard_index = 4, .shard_count = 4, .run = passing};
  EXPECT_NE(error_of<usage_error>({}, options).find("shard: 4/4"), std::string::npos);
  options.shard_index = 0;
  options.timeout_seconds = 0;
  EXPECT_NE(error_of<usage_error>({}, options).find("timeout: 0"), std::string::npos);
  options.timeout_seconds = 1;
  options.workers = -1;
  EXPECT_NE(error_of<usage_error>({}, options).find("workers: -1"), std::string::npos);
}

TEST(supervisor, no_cases_are_no_error_here) {
  supervise_options options{.run = passing};
  const run_result_set results = supervise({numbered_job("a", 0)}, options);
  ASSERT_EQ(results.jobs.size(), 1u);
  EXPECT_EQ(results.jobs[0].cases, 0);
}

TEST(supervisor, progress_ends_with_everything_done) {
  progress last;
  supervise_options options{.workers = 2};
  options.run = [](const trial_case& c) {
    case_report r = passing(c);
    if (number_of(c) % 100 == 7) r.result = verdict::race;
    return r;
  };
  options.on_progress = [&](const progress& p) {
    EXPECT_LE(p.done, p.total);
    last = p;
  };
  const run_result_set results = supervise({numbered_job("a", 150), numbered_job("b", 1000)}, options);
  // Job b ends with its fifth failure, case 407.
  EXPECT_EQ(last.total, 150 + 408);
  EXPECT_EQ(last.done, last.total);
  EXPECT_EQ(last.eta_seconds, 0);
  EXPECT_EQ(last.failures, 7) << "those that the results name";
  EXPECT_EQ(results.jobs[0].failures.size() + results.jobs[1].failures.size(), 7u);
  EXPECT_GT(last.cases_per_second, 0);
  EXPECT_EQ(last.worst_error_ratio, std::max(results.jobs[0].max_error_ratio, results.jobs[1].max_error_ratio));
}

TEST(supervisor, a_time_budget_ends_an_endless_run) {
  supervise_options options{.workers = 2, .time_budget_seconds = 0.3};
  options.run = [](const trial_case& c) {
    while (number_of(c) == 50) pause();
    return passing(c);
  };
  const run_result_set results = supervise({numbered_job("a", 1000000)}, options);
  EXPECT_TRUE(results.out_of_time);
  EXPECT_FALSE(results.interrupted);
  EXPECT_LT(results.jobs[0].cases, 1000000);
  EXPECT_EQ(results.jobs[0].worst, verdict::pass) << "the case that the end cut off has no verdict";
  EXPECT_FALSE(has_children());
}

TEST(supervisor, an_interrupt_keeps_what_is_finished_and_resume_goes_on) {
  for (int signal_number : {SIGINT, SIGTERM}) {
    const scratch_folder folder;
    shared_numbers runs(2000);
    const pid_t parent = getpid();
    supervise_options options = passing_options(2, folder.path());
    bool interrupt = true;
    options.run = [&](const trial_case& c) {
      const int64_t i = number_of(c);
      ++runs[i];
      if (interrupt && i == 1000) {
        kill(parent, signal_number);
        for (;;) pause();  // in flight when the run ends
      }
      return passing(c);
    };
    const run_result_set partial = supervise({numbered_job("a", 2000)}, options);
    EXPECT_TRUE(partial.interrupted);
    EXPECT_GE(partial.jobs[0].cases, 500);
    EXPECT_LT(partial.jobs[0].cases, 2000);
    EXPECT_EQ(partial.jobs[0].worst, verdict::pass);
    EXPECT_FALSE(has_children());
    interrupt = false;
    options.resume = true;
    const run_result_set complete = supervise({numbered_job("a", 2000)}, options);
    EXPECT_FALSE(complete.interrupted);
    EXPECT_EQ(complete.jobs[0].cases, 2000);
    int64_t repeated = 0;
    for (int64_t i = 0; i < runs.size(); ++i) {
      EXPECT_GE(runs[i], 1);
      repeated += runs[i] - 1;
    }
    EXPECT_LE(repeated, 2) << "more than the cases in flight ran again";
    EXPECT_GE(repeated, 1);
  }
}

TEST(supervisor, resume_refuses_another_run_and_a_new_run_refuses_old_journals) {
  const scratch_folder folder;
  supervise_options options = passing_options(2, folder.path());
  options.fingerprint = "seed 1";
  const std::string first = summary(supervise({numbered_job("a", 20)}, options));
  EXPECT_NE(error_of<usage_error>({numbered_job("a", 20)}, options).find("already holds a run"), std::string::npos);
  options.resume = true;
  const auto refused = [&](const job& j) {
    return error_of<usage_error>({j}, options).find("of a run with other options") != std::string::npos;
  };
  EXPECT_FALSE(refused(numbered_job("a", 20)));
  EXPECT_TRUE(refused(numbered_job("a", 21)));
  EXPECT_TRUE(refused(numbered_job("b", 20)));
  options.fingerprint = "seed 2";
  EXPECT_TRUE(refused(numbered_job("a", 20)));
  options.fingerprint = "seed 1";
  options.shard_count = 2;
  EXPECT_TRUE(refused(numbered_job("a", 20)));
  options.shard_count = 1;
  options.first = {numbered_case(3)};
  EXPECT_TRUE(refused(numbered_job("a", 20)));
  options.first = {};
  // Another number of workers is the same run, and one that is finished runs nothing.
  options.workers = 5;
  options.run = [](const trial_case&) -> case_report { throw usage_error("it ran"); };
  EXPECT_EQ(summary(supervise({numbered_job("a", 20)}, options)), first);
}

TEST(supervisor, a_folder_in_use_is_refused) {
  const scratch_folder folder;
  supervise_options options = passing_options(1, folder.path());
  const int lock = open((folder.path() + "/lock").c_str(), O_RDWR | O_CREAT, 0666);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  EXPECT_NE(error_of<usage_error>({numbered_job("a", 5)}, options).find("is in use by another run"), std::string::npos);
  close(lock);
  EXPECT_EQ(supervise({numbered_job("a", 5)}, options).jobs[0].cases, 5);
}

TEST(supervisor, a_damaged_journal_is_refused_and_left_as_it_is) {
  const scratch_folder folder;
  supervise_options options = passing_options(1, folder.path());
  supervise({numbered_job("a", 5)}, options);
  options.resume = true;
  const std::string path = folder.path() + "/worker-0.journal";
  std::ofstream(path, std::ios::app) << "F 0 nonsense\nS 0 4 to";
  const auto size = std::filesystem::file_size(path);
  const std::string error = error_of<usage_error>({numbered_job("a", 5)}, options);
  EXPECT_NE(error.find(path + ":12: the index 'nonsense' is not a number"), std::string::npos) << error;
  EXPECT_EQ(std::filesystem::file_size(path), size);
}

TEST(supervisor, a_case_of_another_shard_is_refused) {
  const scratch_folder folder;
  supervise_options options = passing_options(1, folder.path());
  options.shard_count = 2;
  supervise({numbered_job("a", 6)}, options);
  options.resume = true;
  case_report r = passing(numbered_case(3));
  r.line = "v1 self/containment |";
  std::ofstream(folder.path() + "/worker-0.journal", std::ios::app) << "S 0 3 x\nF 0 3 5 " << to_json(r) << "\n";
  EXPECT_NE(error_of<usage_error>({numbered_job("a", 6)}, options).find("case 3 of job 0 is not of this run"),
            std::string::npos);
}

TEST(supervisor, a_job_that_has_failed_often_enough_is_not_run_to_its_end) {
  shared_numbers runs(1);
  constexpr int64_t count = 1000000;
  supervise_options options{.workers = 2};
  options.run = [&](const trial_case& c) {
    ++runs[0];
    case_report r = passing(c);
    if (number_of(c) < 5) r.result = verdict::violation;
    return r;
  };
  EXPECT_EQ(supervise({numbered_job("a", count)}, options).jobs[0].cases, 5);
  EXPECT_LT(runs[0], count);
}

TEST(supervisor, a_case_that_is_in_two_journals_is_refused) {
  const scratch_folder folder;
  supervise_options options = passing_options(1, folder.path());
  supervise({numbered_job("a", 5)}, options);
  options.resume = true;
  std::filesystem::copy_file(folder.path() + "/worker-0.journal", folder.path() + "/worker-1.journal");
  EXPECT_NE(error_of<usage_error>({numbered_job("a", 5)}, options).find("occurs twice"), std::string::npos);
}

TEST(supervisor, a_full_disk_is_one_clear_error_and_finished_cases_stay) {
  const scratch_folder folder;
  shared_numbers runs(3000);
  supervise_options options = passing_options(2, folder.path());
  options.run = [&](const trial_case& c) {
    ++runs[number_of(c)];
    return passing(c);
  };
  // The limit of file sizes stands in for the disk: write(2) fails in the middle of a record, as on a full disk.
  const child_outcome outcome = run_in_child(
      [&] {
        signal(SIGXFSZ, SIG_IGN);
        const rlimit limit = {100000, 100000};
        setrlimit(RLIMIT_FSIZE, &limit);
        return error_of<environment_error>({numbered_job("a", 3000)}, options);
      },
      60);
  ASSERT_TRUE(outcome.finished) << outcome.death;
  EXPECT_EQ(outcome.text.find("journal: cannot write to " + folder.path()), 0u) << outcome.text;
  int64_t before = 0;
  for (int64_t i = 0; i < runs.size(); ++i) before += runs[i];
  EXPECT_GT(before, 100);
  EXPECT_LT(before, 3000);
  options.resume = true;
  EXPECT_EQ(supervise({numbered_job("a", 3000)}, options).jobs[0].cases, 3000);
  int64_t repeated = 0;
  for (int64_t i = 0; i < runs.size(); ++i) {
    EXPECT_GE(runs[i], 1) << i;
    repeated += runs[i] - 1;
  }
  EXPECT_LE(repeated, 2) << "more than the cases in flight ran again";
}

TEST(supervisor, an_unusable_folder_is_one_clear_error) {
  const scratch_folder folder;
  std::ofstream(folder.path() + "/file") << "not a folder";
  supervise_options options{.journal_folder = folder.path() + "/file", .run = passing};
  EXPECT_NE(error_of<environment_error>({numbered_job("a", 5)}, options).find("journal: cannot make the folder"),
            std::string::npos);
}

TEST(supervisor, temporary_journals_leave_nothing) {
  const scratch_folder folder;
  const char* before = getenv("TMPDIR");
  const std::string saved = before ? before : "";
  setenv("TMPDIR", folder.path().c_str(), 1);
  supervise_options options{.workers = 2};
  bool seen = false;
  options.on_progress = [&](const progress&) { seen = !std::filesystem::is_empty(folder.path()); };
  options.run = passing;
  supervise({numbered_job("a", 5)}, options);
  if (before)
    setenv("TMPDIR", saved.c_str(), 1);
  else
    unsetenv("TMPDIR");
  EXPECT_TRUE(seen) << "the journals were not below TMPDIR";
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace warpcheck::engine
