// What a worker does between the moment that the watchdog finds its case overdue and its end.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "properties/engine/processes/supervisor.hpp"
#include "tests/containment/hostile.hpp"

namespace {

// Called once, before this process kills a process.
std::function<void()> g_before_kill;

}  // namespace

// In place of the C library's, for all of this program.
extern "C" int kill(pid_t pid, int signal_number) noexcept {
  if (signal_number == SIGKILL && pid > 0 && g_before_kill) std::exchange(g_before_kill, nullptr)();
  return static_cast<int>(syscall(SYS_kill, pid, signal_number));
}

namespace warpcheck::engine {
namespace {

// numbers[0]: the watchdog has found a case overdue. numbers[1]: what is to happen before the worker's end has
// happened.
void wait_for(const std::atomic<int>& number) {
  while (!number) usleep(1000);
}
void let_the_worker_go_on(const shared_numbers& numbers) {
  g_before_kill = [&] {
    numbers[0] = 1;
    wait_for(numbers[1]);
  };
}
[[noreturn]] void wait_for_the_end(const shared_numbers& numbers) {
  numbers[1] = 1;
  for (;;) pause();
}

supervise_options one_worker(const scratch_folder& folder) {
  return supervise_options{.workers = 1, .timeout_seconds = 1, .journal_folder = folder.path()};
}

TEST(watchdog, a_result_that_comes_at_the_last_moment_counts_and_the_next_case_is_not_blamed) {
  const scratch_folder folder;
  const shared_numbers numbers(2);
  supervise_options options = one_worker(folder);
  options.run = [&](const trial_case& c) {
    if (number_of(c) == 0) wait_for(numbers[0]);
    if (number_of(c) == 1 && !numbers[1]) wait_for_the_end(numbers);
    return passing(c);
  };
  let_the_worker_go_on(numbers);
  const run_result_set results = supervise({{"late", numbered_case, 3}}, options);
  EXPECT_EQ(results.jobs[0].cases, 3);
  EXPECT_TRUE(results.jobs[0].failures.empty()) << results.jobs[0].failures[0].message;
  EXPECT_EQ(finished_times(folder.path(), 3), std::vector<int>(3, 1));
}

TEST(watchdog, what_is_no_record_at_the_last_moment_is_blamed_on_its_case) {
  const scratch_folder folder;
  const shared_numbers numbers(2);
  supervise_options options = one_worker(folder);
  options.run = [&](const trial_case& c) {
    if (number_of(c) == 0) {
      wait_for(numbers[0]);
      const int journal = open((folder.path() + "/worker-0.journal").c_str(), O_WRONLY | O_APPEND);
      EXPECT_EQ(write(journal, "garbage\n", 8), 8);
      wait_for_the_end(numbers);
    }
    return passing(c);
  };
  let_the_worker_go_on(numbers);
  const run_result_set results = supervise({{"late", numbered_case, 3}}, options);
  EXPECT_EQ(results.jobs[0].cases, 3);
  ASSERT_EQ(results.jobs[0].failures.size(), 1u);
  EXPECT_EQ(results.jobs[0].failures[0].line, format(numbered_case(0)));
  EXPECT_EQ(results.jobs[0].failures[0].message, "it wrote into a file descriptor that it did not open");
}

// The case ends with the device, is made too late when it is alone, and passes when it is alone again.
TEST(watchdog, a_case_that_is_made_at_the_last_moment_is_judged_alone_again) {
  const scratch_folder folder;
  const shared_numbers numbers(3);
  supervise_options options = one_worker(folder);
  options.shared_device = true;
  const auto make = [&](int64_t i) {
    if (++numbers[2] == 2) wait_for(numbers[0]);
    return numbered_case(i);
  };
  options.run = [&](const trial_case& c) {
    if (numbers[2] == 1) std::abort();
    if (numbers[2] == 2) wait_for_the_end(numbers);
    return passing(c);
  };
  let_the_worker_go_on(numbers);
  const run_result_set results = supervise({{"late", make, 1}}, options);
  EXPECT_EQ(numbers[2], 3);
  ASSERT_EQ(results.jobs[0].failures.size(), 1u);
  EXPECT_EQ(results.jobs[0].failures[0].result, verdict::crash);
  EXPECT_NE(results.jobs[0].failures[0].message.find("it did not fail alone"), std::string::npos);
}

}  // namespace
}  // namespace warpcheck::engine
