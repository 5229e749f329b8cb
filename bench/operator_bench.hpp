// The benchmark of any described operator, in the tree or a plug-in's: what libwarpcheck_bench.so gives the command,
// whose engine it uses as plug-ins do.
#pragma once

#include <string>
#include <vector>

namespace warpcheck::bench {

struct operator_bench_options {
  std::string op;
  std::string device = "cuda";                // or emulated
  std::vector<std::string> peers;             // candidate libraries that are measured in turn with the built-in one
  std::vector<std::string> peer_times;        // files that bench/peers/*.py wrote
  double bar = 0;                             // fraction of the limit that ours and peers must have
  std::vector<std::string> google_benchmark;  // its own options: --benchmark_filter=..., ...
};

// 0 measured, 1 a row failed or is below the bar. usage_error, environment_error.
using operator_bench_fn = int (*)(const operator_bench_options&);

}  // namespace warpcheck::bench
