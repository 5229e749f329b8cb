// Limits of single operators on a GPU, beside copies and reads (device_timing.hpp).
#pragma once

#include <cuda_runtime.h>

#include <vector>

#include "bench/device_timing.hpp"

namespace warpcheck::bench {

// `updates`: as many updates of tiles in shared memory by the kernel's own code, with bins and values made in
// registers, if columns have bins of one byte and share a tile. `scale`, for fixed64: the part of the call that finds
// the scale.
std::vector<own_run> histogram_runs(const std::vector<const warpcheck_call*>& calls, cudaStream_t stream);

// `tables`: the call without the search. It turns tensors into tasks, leaves and a mask, and a record into tensors.
std::vector<own_run> best_split_runs(const std::vector<const warpcheck_call*>& calls, cudaStream_t stream);

}  // namespace warpcheck::bench
