// The rows that a benchmark measures.
#pragma once

#include <vector>

#include "bench/operator_bench.hpp"

namespace warpcheck::bench {

// Returns the rows that the options describe, or else those of the description. Throws usage_error for a row that a
// user wrote wrong.
std::vector<engine::bench_row> rows_asked(const operator_bench_options& options, const engine::description& d);

}  // namespace warpcheck::bench
