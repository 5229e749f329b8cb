// `warpcheck bench`: libwarpcheck_bench.so, which measures any described operator.
#pragma once

#include "bench/operator_bench.hpp"

namespace warpcheck::cli {

int bench(const bench::operator_bench_options& options);

}  // namespace warpcheck::cli
