// In which order cases run, which are drawn again, and what the user sees meanwhile.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <utility>

#include "properties/engine/processes/supervisor.hpp"
#include "tests/containment/hostile.hpp"
#include "tests/scratch_folder.hpp"

namespace warpcheck::engine {
namespace {

job job_in_order(std::string id, int64_t count, int64_t first = 0) {
  return {std::move(id), [first](int64_t i) { return numbered_case(first + i); }, count};
}

TEST(supervisor, a_case_with_nothing_to_judge_is_drawn_again) {
  supervise_options options{.workers = 2};
  options.run = [](const trial_case& c) -> case_report {
    case_report r = passing(c);
    const int64_t i = number_of(c);
    if (i >= 100 || i % 2 == 0) return r;
    r.result = verdict::skipped;
    r.is_drawn_in_vain = i != 7;  // that one the candidate does not offer
    return r;
  };
  job again = job_in_order("again", 10);
  again.draw_again = [](int64_t index, int64_t attempt) { return numbered_case(100 * attempt + index); };
  const run_result_set results = supervise({again, job_in_order("never", 10)}, options);
  EXPECT_EQ(results.jobs[0].cases, 10);
  EXPECT_EQ(results.jobs[0].skipped, 1);
  ASSERT_TRUE(results.jobs[0].first_skipped);
  EXPECT_EQ(results.jobs[0].first_skipped->line, format(numbered_case(7)));
  EXPECT_EQ(results.jobs[1].skipped, 5);
  // Where every draw is in vain, the last one is skipped.
  again.draw_again = [](int64_t index, int64_t) { return numbered_case(index); };
  EXPECT_EQ(supervise({again}, options).jobs[0].skipped, 5);
}

TEST(supervisor, what_costs_little_comes_first_and_last) {
  const warpcheck::self::scratch_folder folder;
  const std::string file = folder.path("order"), seen = folder.path("seen");
  supervise_options options{.workers = 1};
  options.run = [&](const trial_case& c) {
    std::ofstream(file, std::ios::app) << number_of(c) << " ";
    // The parent has time to look at the first cases.
    for (int i = 0; number_of(c) == 5 && i < 500 && !std::ifstream(seen); ++i) usleep(10000);
    return passing(c);
  };
  int looks = 0;
  options.on_first_cases = [&](const std::vector<job_result>& first, double) {
    ++looks;
    std::ofstream(seen) << "seen";
    EXPECT_EQ(first.at(0).cases, 0);
    EXPECT_EQ(first.at(1).cases, 5);
    EXPECT_EQ(first.at(2).cases, 5);
  };
  job dear = job_in_order("dear", 2, 300), more = job_in_order("more", 1, 200);
  dear.cost = 90, more.cost = 50;
  const run_result_set results = supervise({dear, job_in_order("a", 14, 0), job_in_order("b", 6, 100), more}, options);
  EXPECT_EQ(results.jobs[0].id, "dear");
  EXPECT_EQ(results.jobs[0].cases, 2);
  std::string order;
  std::getline(std::ifstream(file), order);
  EXPECT_EQ(order, "0 1 2 3 4 100 101 102 103 104 5 6 300 301 200 7 8 9 10 11 12 13 105 ");
  EXPECT_EQ(looks, 1);
}

TEST(supervisor, no_worker_waits_for_the_long_cases_of_another) {
  supervise_options options{.workers = 2};
  const warpcheck::self::scratch_folder folder;
  const std::string file = folder.path("order");
  // One worker is at case 0 until the other has run all the rest.
  options.run = [&](const trial_case& c) {
    if (number_of(c) != 0) {
      std::ofstream(file, std::ios::app) << '.' << std::flush;
      return passing(c);
    }
    for (int i = 0; i < 500; ++i, usleep(10000)) {
      std::string others;
      std::getline(std::ifstream(file), others);
      if (others.size() == 19) return passing(c);
    }
    case_report late = passing(c);
    late.result = verdict::violation;
    return late;
  };
  const run_result_set results = supervise({job_in_order("a", 20)}, options);
  EXPECT_EQ(results.jobs[0].cases, 20);
  EXPECT_TRUE(results.jobs[0].failures.empty());
}

TEST(supervisor, a_long_case_is_named) {
  supervise_options options{.workers = 1};
  options.run = [](const trial_case& c) {
    if (number_of(c) == 3) usleep(1500000);
    return passing(c);
  };
  std::string longest;
  options.on_progress = [&](const progress& p) {
    if (p.running_seconds > 1) longest = p.running;
  };
  supervise({job_in_order("a", 6)}, options);
  EXPECT_EQ(longest, format(numbered_case(3)));
}

}  // namespace
}  // namespace warpcheck::engine
