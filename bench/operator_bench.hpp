// The benchmark of any described operator, in the tree or of a plug-in. libwarpcheck_bench.so offers it to the command
// and uses the command's engine, as plug-ins do.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/call_limit.hpp"
#include "properties/engine/cases/description.hpp"

namespace warpcheck::bench {

struct operator_bench_options {
  std::string op;
  std::string device = "cuda";        // or emulated, or cpu if a candidate is measured
  std::string candidate = "builtin";  // the candidate that is measured; the built-in one takes turns with any other
  std::string verdict;                // of the candidate, for people; empty: it was not verified
  std::vector<std::string> rows;      // "rows=4096,cols=64,type=f16"; none: the rows of the description
  // Returns the recipes of inputs of a row in `rows` that are not uniform in [-8, 8); null: there are none.
  std::function<std::map<std::string, engine::recipe>(const engine::sizes&)> fills = nullptr;
  // Measured in turn with the candidate: libraries, or names of engine/library.hpp.
  std::vector<std::string> peers;
  std::vector<std::string> peer_times;  // files that bench/peers/*.py wrote
  double bar = 0;                       // fraction of the limit that ours and peers must reach
  bool only_checks = false;             // checks these options and measures nothing
  // Shows a text on the terminal for as long as the returned object lives; null: nothing is shown.
  std::function<std::shared_ptr<void>(const std::string&)> show = nullptr;
  // Gets the time of a candidate or peer in each measured row by the device's clock, in us.
  std::function<void(const std::string& row, const std::string& of, double us)> measured = nullptr;
  // Times by row and candidate or peer that another process has measured: these are only timed by this process's clock,
  // in runners, and each time is confirmed or not. Empty: the candidate is measured.
  std::map<std::string, std::map<std::string, double>> claims;
  awaited_calls* awaited = nullptr;  // gets the calls of foreign code that this process waits for; null: nobody asks
  double call_seconds = 60;          // limit of such a call
  std::vector<std::string> google_benchmark;  // its own options: --benchmark_filter=..., ...
};

// Returns 0 if all rows were measured, 1 if a row failed, is below the bar or is not confirmed. Throws usage_error or
// environment_error.
using operator_bench_fn = int (*)(const operator_bench_options&);

}  // namespace warpcheck::bench
