// Code on trial that misbehaves, one entry per kind of misbehaviour, and what the suite must say about it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "properties/engine/cases/case.hpp"
#include "properties/engine/processes/supervisor.hpp"
#include "properties/engine/trials/verdict.hpp"
#include "tests/scratch_folder.hpp"

namespace warpcheck::engine {

using self::scratch_folder;

struct hostile_behaviour {
  std::string name;
  std::function<void()> act;
  verdict expected = verdict::crash;
  std::string message;  // a part of the report's message
  // In a worker of the supervisor, where it differs from a single contained run.
  std::string message_in_worker;
};
const std::vector<hostile_behaviour>& hostile_behaviours();

// Processes that hostile behaviours have left behind write their ids here.
void forget_left_behind();
std::vector<int> left_behind();

// Case number `i`: tensor x has i rows. Its text names the number, whatever runs it.
trial_case numbered_case(int64_t i);
int64_t number_of(const trial_case& c);
// A passing report of the numbered case with numbers that depend on it.
case_report passing(const trial_case& c);

// Everything of a result that must not depend on workers, deaths and resumes: all but times.
std::string summary(const run_result_set& results);

// The size of a run's journals.
int64_t journal_bytes(const std::string& folder);
// How often each of the `cases` cases of job 0 has finished, by the journals; torn records do not count.
std::vector<int> finished_times(const std::string& folder, int64_t cases);

// `count` numbers, zero at first, that this process shares with the processes it forks.
class shared_numbers {
 public:
  explicit shared_numbers(int64_t count);
  ~shared_numbers();
  shared_numbers(const shared_numbers&) = delete;
  shared_numbers& operator=(const shared_numbers&) = delete;
  std::atomic<int>& operator[](int64_t i) const { return numbers_[i]; }
  int64_t size() const { return count_; }

 private:
  int64_t count_;
  std::atomic<int>* numbers_;
};

}  // namespace warpcheck::engine
