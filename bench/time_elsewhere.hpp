// Times by a clock that a candidate cannot change: it runs in a process of its own, and the judge's clock counts.
#pragma once

#include <random>
#include <vector>

#include "bench/timed_call.hpp"

namespace warpcheck::bench {

// Calls of a callee in a runner. All slots get new inputs before each turn, whose time ends when an unforeseen part of
// each result has been read, so no result can be made earlier or later. Then a call is drawn and judged.
class turns_elsewhere {
 public:
  // `device`: that of a runner, with the memory of host_timing(). All arguments outlive the object.
  turns_elsewhere(const engine::description& d, const engine::bench_row& row, const bench_device& device,
                  const engine::listed_operator& callee);

  // Makes a turn and returns the microseconds of a call. Throws std::runtime_error if a result is wrong.
  double turn();

 private:
  const engine::description& described_;
  const engine::bench_row& row_;
  const bench_device& device_;
  const engine::listed_operator& callee_;
  timed_call call_;
  std::vector<int> order_;  // of the slots
  std::mt19937_64 random_;
};

// Returns the number of slots for a row in a runner, and the part of the row's bytes that a call alike moves.
int slots_elsewhere(const traffic& moved);
size_t bytes_alike(const traffic& moved);

}  // namespace warpcheck::bench
