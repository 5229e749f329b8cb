// The benchmark of any described operator, in the tree or a plug-in's: what libwarpcheck_bench.so gives the command,
// whose engine it uses as plug-ins do.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "properties/engine/cases/description.hpp"

namespace warpcheck::bench {

struct operator_bench_options {
  std::string op;
  std::string device = "cuda";        // or emulated, or cpu where a candidate is measured
  std::string candidate = "builtin";  // what is measured; another takes turns with the built-in one
  std::string verdict;                // of the candidate, for people; empty: it was not verified
  std::vector<std::string> rows;      // "rows=4096,cols=64,type=f16"; none: those of the description
  // Of a row in `rows`: recipes of inputs that are not to be uniform in [-8, 8); null: there are none.
  std::function<std::map<std::string, engine::recipe>(const engine::sizes&)> fills = nullptr;
  // Measured in turn: candidate libraries, or names of engine/library.hpp.
  std::vector<std::string> peers;
  std::vector<std::string> peer_times;  // files that bench/peers/*.py wrote
  double bar = 0;                       // fraction of the limit that ours and peers must have
  bool only_checks = false;             // these options, and measures nothing
  // Shows a text on the terminal for as long as what it returns lives; null: nothing is shown.
  std::function<std::shared_ptr<void>(const std::string&)> show = nullptr;
  std::vector<std::string> google_benchmark;  // its own options: --benchmark_filter=..., ...
};

// 0 measured, 1 a row failed or is below the bar. usage_error, environment_error.
using operator_bench_fn = int (*)(const operator_bench_options&);

}  // namespace warpcheck::bench
