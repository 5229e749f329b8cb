// CUTLASS' 3xTF32 (the arithmetic of its example 27) as a peer of matmul_bench. Built with -DWARPCHECK_CUTLASS=<its
// folder>; without, it takes no product.
#pragma once

#include <cuda_runtime.h>

#include "bench/matmul_runs.hpp"

namespace warpcheck::bench {

// Of rows as they are stored; its vectors of four want extents that are multiples of 4.
bool cutlass_takes(const product_shape& shape);
// C = A B, row after row. Throws std::runtime_error where CUTLASS reports a failure.
void multiply_by_cutlass(const product_shape& shape, const float* a, const float* b, float* c, cudaStream_t stream);

}  // namespace warpcheck::bench
