// One case in a process of its own, whatever the code on trial does.
#include "properties/engine/processes/contain.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include "properties/engine/error.hpp"
#include "tests/containment/hostile.hpp"

namespace warpcheck::engine {
namespace {

constexpr double k_patience = 60;  // seconds; for what must end by itself
constexpr double k_hang = 1;       // seconds given to what never ends

bool has_children() { return waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }

class contained_behaviour : public testing::TestWithParam<size_t> {};

TEST_P(contained_behaviour, becomes_its_verdict) {
  const hostile_behaviour& h = hostile_behaviours()[GetParam()];
  forget_left_behind();
  const trial_case c = numbered_case(3);
  const auto run = [&](const trial_case& given) {
    h.act();
    return passing(given);
  };
  const case_report r = run_contained(run, c, h.expected == verdict::timeout ? k_hang : k_patience);
  EXPECT_EQ(name_of(r.result), name_of(h.expected)) << r.message;
  EXPECT_NE(r.message.find(h.message), std::string::npos) << r.message;
  EXPECT_EQ(r.line, format(c));
  EXPECT_LT(r.message.size(), 4096u);
  if (h.expected == verdict::pass) {
    EXPECT_EQ(r.compared, passing(c).compared);
  }
  for (int pid : left_behind()) EXPECT_NE(kill(pid, 0), 0) << h.name << ": process " << pid << " outlived the case";
  EXPECT_FALSE(has_children());
}

INSTANTIATE_TEST_SUITE_P(all, contained_behaviour, testing::Range<size_t>(0, hostile_behaviours().size()),
                         [](const auto& test) {
                           std::string name = hostile_behaviours()[test.param].name;
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

TEST(containment, there_are_many_behaviours) { EXPECT_GE(hostile_behaviours().size(), 25u); }

TEST(containment, a_report_comes_back_whole) {
  case_report sent = passing(numbered_case(5));
  sent.result = verdict::violation;
  sent.message = std::string(300000, 'm');  // more than a pipe holds
  sent.worst = worst_element{"y", 1, 2, 3.5, 4.5, 5.5, "5.5", 1, 0.5, 2};
  const case_report got = run_contained([&](const trial_case&) { return sent; }, numbered_case(5), k_patience);
  sent.line = format(numbered_case(5));
  EXPECT_EQ(to_json(got), to_json(sent));
}

TEST(containment, a_process_takes_its_group_with_it) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  child_process child([&] {
    close(ends[0]);
    if (fork() == 0 && write(ends[1], "!", 1) != 1) _exit(1);
    for (;;) pause();
  });
  close(ends[1]);
  char c = 0;
  EXPECT_EQ(read(ends[0], &c, 1), 1);  // the grandchild lives
  child.kill_and_reap();
  // End of file: nobody holds the other end any more. Waits for ever if somebody does.
  EXPECT_EQ(read(ends[0], &c, 1), 0);
  close(ends[0]);
}

TEST(containment, what_the_code_on_trial_prints_stays_out_of_the_output) {
  const auto loud = [](const trial_case& c) {
    std::puts("to stdout");
    std::fputs("to stderr", stderr);
    return passing(c);
  };
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_contained(loud, numbered_case(1), k_patience).result, verdict::pass);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(containment, the_code_on_trial_cannot_read_what_is_typed) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "typed", 5), 5);
  const int own = dup(STDIN_FILENO);
  dup2(ends[0], STDIN_FILENO);
  const auto curious = [](const trial_case& c) {
    char byte = 0;
    case_report r = passing(c);
    if (read(STDIN_FILENO, &byte, 1) != 0) r.result = verdict::violation;
    return r;
  };
  EXPECT_EQ(run_contained(curious, numbered_case(1), k_patience).result, verdict::pass);
  dup2(own, STDIN_FILENO);
  for (int fd : {own, ends[0], ends[1]}) close(fd);
}

// Until this process has used so much of a processor.
void burn(double seconds) {
  timespec used;
  do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  while (static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9 < seconds);
}

TEST(containment, standing_in_line_for_a_processor_is_no_hang) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &before)) ++cpu;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  std::vector<child_process> crowd;
  for (int i = 0; i < 5; ++i) crowd.emplace_back([] { burn(k_patience); });
  constexpr double k_work = 0.5;  // of a processor, a sixth of which is to be had
  const child_outcome outcome = run_in_child(
      [] {
        burn(k_work);
        return std::string("done");
      },
      2 * k_work);
  sched_setaffinity(0, sizeof before, &before);
  EXPECT_FALSE(outcome.timed_out);
  EXPECT_EQ(outcome.text, "done");
}

TEST(containment, an_error_of_the_suite_is_no_verdict) {
  const auto misused = [](const trial_case&) -> case_report { throw usage_error("knob: 'x' is not a number"); };
  try {
    run_contained(misused, numbered_case(1), k_patience);
    FAIL() << "no exception";
  } catch (const usage_error& e) {
    EXPECT_STREQ(e.what(), "knob: 'x' is not a number");
  }
  const auto missing = [](const trial_case&) -> case_report { throw environment_error("device cuda: none"); };
  EXPECT_THROW(run_contained(missing, numbered_case(1), k_patience), environment_error);
}

TEST(containment, children_of_the_caller_are_left_alone) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t mine = fork();
  if (mine == 0) {
    char c = 0;
    _exit(read(ready[0], &c, 1) == 1 ? 42 : 1);
  }
  const auto wild_write = [](const trial_case& c) {
    if (fork() == 0)
      for (;;) pause();
    return passing(c);
  };
  run_contained(wild_write, numbered_case(1), k_patience);
  ASSERT_EQ(write(ready[1], "x", 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(mine, &status, 0), mine);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42);
  close(ready[0]);
  close(ready[1]);
}

TEST(containment, verdicts_that_corrupt_a_process) {
  case_report r;
  for (verdict v : {verdict::pass, verdict::skipped, verdict::violation, verdict::race, verdict::error_return}) {
    r.result = v;
    EXPECT_FALSE(corrupts_process(r)) << name_of(v);
  }
  for (verdict v : {verdict::crash, verdict::timeout, verdict::out_of_bounds}) {
    r.result = v;
    EXPECT_TRUE(corrupts_process(r)) << name_of(v);
  }
  r.result = verdict::error_return;
  // Words that a candidate can write decide nothing.
  r.message = r.findings.emplace_back("cudaErrorIllegalAddress: the process is unusable");
  EXPECT_FALSE(corrupts_process(r));
  r.device_failed = true;
  EXPECT_TRUE(corrupts_process(r));
  EXPECT_TRUE(corrupts_process(report_from_json(to_json(r))));
}

TEST(containment, a_case_of_many_elements_has_more_time) {
  EXPECT_EQ(time_limit(60, ""), 60);
  EXPECT_EQ(time_limit(60, "v1 softmax/misalignment x=f32[4096x4096] fill=randn(1) | device=cuda"), 60);
  // 2^27 elements each, of which a worker among eight on one GPU ran into 60 s.
  EXPECT_EQ(time_limit(60, "v1 sigmoid/large-offset x=f32[134217728] fill=randn(1) | y=f32[134217728] | device=cuda"),
            60 * 16);
  EXPECT_EQ(time_limit(1, "v1 a/b x=f32[3x0] fill=npy(a[b].npy,0) | y=f32[16777216x2] |"), 2);
  EXPECT_EQ(time_limit(1, "v1 a/b x=f32[16777216x"), 1);
}

}  // namespace
}  // namespace warpcheck::engine
