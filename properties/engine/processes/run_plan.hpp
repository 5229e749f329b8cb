// The cases of a run, their order, and the shared memory by which the parent limits them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "properties/engine/processes/shared_words.hpp"
#include "properties/engine/processes/supervisor.hpp"

namespace warpcheck::engine {

inline constexpr int64_t k_no_limit = std::numeric_limits<int64_t>::max();

// All items of all jobs in one order, and the part of them that this shard runs: position p of the shard is item
// shard_index + p * shard_count. Cheap jobs come first: the first cases of jobs of cost 0 precede all other cases, so
// that a failure that many cases share appears soon. Expensive jobs, the most expensive first, come when half of the
// cheap cases are done: cheap cases then fill the end of the run.
class run_plan {
 public:
  struct item {
    int64_t job, index;
  };

  run_plan(const std::vector<job>& jobs, const supervise_options& options);
  run_plan(const run_plan&) = delete;
  run_plan& operator=(const run_plan&) = delete;

  const std::vector<job>& jobs() const { return jobs_; }
  int64_t positions() const { return positions_before(items_); }
  item at(int64_t position) const;
  // -1 if the item does not exist or belongs to another shard.
  int64_t position(int64_t job, int64_t index) const;
  // Returns the number of positions up to and including the first cases of jobs of cost 0.
  int64_t first_positions() const { return positions_before(first_items_); }
  // Returns the number of the job's cases that this shard runs without indices beyond `last`.
  int64_t cases(size_t job, int64_t last) const;
  std::string fingerprint(const supervise_options& options) const;

 private:
  int64_t positions_before(int64_t item) const {
    return item <= shard_index_ ? 0 : (item - shard_index_ - 1) / shard_count_ + 1;
  }

  // Cases of one job, one after the other.
  struct segment {
    int64_t job, first, count;
    int64_t begin;  // the item that is the first case
  };
  void add(size_t job, int64_t first, int64_t end);

  std::vector<job> jobs_;
  std::vector<segment> segments_;
  std::vector<std::vector<size_t>> segments_of_;  // by job
  int64_t items_ = 0, first_items_ = 0;
  int64_t shard_index_, shard_count_;
  std::vector<trial_case> first_;
};

// Written by the parent and read by the workers, which cannot write it: the index of the last case that each job still
// runs, and a flag that ends workers after their current case.
class worker_control {
 public:
  explicit worker_control(size_t jobs);

  void make_read_only() { words_.allow_writes(false); }
  int64_t last(int64_t job) const { return words_[job].load(std::memory_order_relaxed); }
  void set_last(int64_t job, int64_t index) { words_[job].store(index, std::memory_order_relaxed); }
  bool leave() const { return words_[jobs_].load(std::memory_order_relaxed) != 0; }
  void set_leave(bool leave) { words_[jobs_].store(leave ? 1 : 0, std::memory_order_relaxed); }

 private:
  size_t jobs_;
  shared_words words_;
};

}  // namespace warpcheck::engine
