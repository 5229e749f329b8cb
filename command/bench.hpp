// `warpcheck bench`: libwarpcheck_bench.so, which measures any described operator.
#pragma once

#include "bench/operator_bench.hpp"
#include "command/commands.hpp"

namespace warpcheck::cli {

// A candidate, or a peer, that is not built in runs in a process of its own. A candidate is first verified with the
// options `verification`, if there are any. If it fails, nothing is measured, and the exit code is that of verify.
int bench(bench::operator_bench_options options, const std::optional<verify_options>& verification);

}  // namespace warpcheck::cli
