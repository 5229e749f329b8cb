// `warpcheck bench`: libwarpcheck_bench.so, which measures any described operator.
#pragma once

#include "bench/operator_bench.hpp"
#include "command/commands.hpp"

namespace warpcheck::cli {

// A candidate, or a peer, that is not built in runs in a process of its own. A candidate is verified first, as
// `verification` says, unless that is nothing. Where it fails, nothing is measured, and the exit code is verify's.
int bench(bench::operator_bench_options options, const std::optional<verify_options>& verification);

}  // namespace warpcheck::cli
