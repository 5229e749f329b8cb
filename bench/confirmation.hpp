// Confirms times of foreign code that the process has reported in which this code ran.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/timed_call.hpp"

namespace warpcheck::bench {

// A kernel in a runner, and a stream there.
struct distant_kernel {
  std::string name;
  const engine::listed_operator* op;
  const warpcheck_device_api* api;
  void* stream;
  call_limit* limit;
};

// The operator of ours whose time by the device's clock is known to this process.
inline constexpr const char* k_known_operator = "softmax";
struct known_kernel {
  const engine::listed_operator* here;
  const bench_device* device;
  distant_kernel elsewhere;
};

using times_by_name = std::map<std::string, double>;  // us

// Times the kernels in their runners, by the clock of this process, which has loaded none but ours. Prints a line for
// each claim; returns true if all can be true.
bool confirm_row(const engine::description& d, const engine::bench_row& row, const times_by_name& claims,
                 const std::vector<distant_kernel>& kernels, const known_kernel& known);

}  // namespace warpcheck::bench
