// How fast the GPU multiplies: limits of products of matrices.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace warpcheck::bench {

// FMAs in f32 from registers, on all multiprocessors, and the floating-point operations of one execution.
std::pair<std::function<void(int i)>, double> multiply_adds(cudaStream_t stream);

// cuBLAS' product of m x k and k x n random operands in slots that, together with the results, exceed `flush_bytes`.
// The library is found at run time; null if there is none.
enum class product_operand { tf32, bf16 };
std::function<void(int i)> tensor_product(product_operand type, int64_t m, int64_t n, int64_t k, size_t flush_bytes,
                                          cudaStream_t stream);

}  // namespace warpcheck::bench
