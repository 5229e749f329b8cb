// Stands in for CUDA's header of this name: the calls do nothing.
#pragma once

#include "cuda_runtime.h"

inline cudaError_t cudaProfilerStart() { return cudaSuccess; }
inline cudaError_t cudaProfilerStop() { return cudaSuccess; }
