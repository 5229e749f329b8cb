// Atomic additions of PyTorch by their own names.
#pragma once

#include "simt/import/cuda_runtime.h"

template <class T>
__device__ inline T gpuAtomicAdd(T* address, T value) {
  return atomicAdd(address, value);
}
template <class T>
__device__ inline void gpuAtomicAddNoReturn(T* address, T value) {
  atomicAdd(address, value);
}
