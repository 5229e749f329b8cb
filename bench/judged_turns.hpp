// The turns of a callee on a device, some of whose calls are judged.
#pragma once

#include <cstdint>
#include <random>
#include <set>
#include <string>

#include "bench/hidden_work.hpp"
#include "bench/timed_call.hpp"
#include "bench/timed_run.hpp"

namespace warpcheck::bench {

class judged_turns {
 public:
  // `call` and `device` outlive this object.
  judged_turns(timed_call& call, const bench_device& device, const engine::listed_operator& callee)
      : call_(call), device_(device), callee_(callee) {}

  // This object outlives the returned run.
  timed_run as_run();
  // Returns the variant that a call reported as run.
  const std::string& variant() const { return variant_; }
  const hidden_work& hidden() const { return hidden_; }
  // Returns why the times of these turns are no result, or "". The first problem ends the turns: the callee is not
  // called again.
  std::string problem(double median_us, const traffic& moved, double usually_hidden_us) const;

 private:
  template <class Step>
  void unless_failed(const Step& step);
  uint64_t draw() { return (uint64_t{random_()} << 32) | random_(); }

  timed_call& call_;
  const bench_device& device_;
  const engine::listed_operator& callee_;
  std::random_device random_;
  std::set<int> used_;  // slots that this turn used
  std::string variant_, problem_;
  hidden_work hidden_;
};

}  // namespace warpcheck::bench
