// Where a thread of a one-dimensional launch is, for kernels of trials.
#pragma once

#include "simt/simt.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {

__device__ __forceinline__ int thread_in_block() { return static_cast<int>(threadIdx.x); }
__device__ __forceinline__ int thread_in_grid() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck::self
