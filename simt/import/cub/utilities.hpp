// CUB's allocator and its checks of errors.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "simt/import/cuda_runtime.h"

namespace cub {

inline cudaError_t Debug(cudaError_t e, const char* file, int line) {
  if (e != cudaSuccess) std::fprintf(stderr, "CUDA error %d [%s, %d]: %s\n", e, file, line, cudaGetErrorString(e));
  return e;
}

// Keeps no memory that is free, so that an access to it is a finding.
struct CachingDeviceAllocator {
  static constexpr unsigned INVALID_BIN = ~0u;
  static constexpr size_t INVALID_SIZE = ~size_t{0};
  static constexpr int INVALID_DEVICE_ORDINAL = -1;

  explicit CachingDeviceAllocator(bool = false, bool = false) {}
  CachingDeviceAllocator(unsigned, unsigned, unsigned = INVALID_BIN, size_t = INVALID_SIZE, bool = false,
                         bool = false) {}
  cudaError_t SetMaxCachedBytes(size_t) { return cudaSuccess; }
  cudaError_t FreeAllCached() { return cudaSuccess; }
  cudaError_t DeviceAllocate(void** p, size_t bytes, cudaStream_t = nullptr, SIMT_SITE) {
    return cudaMalloc(p, bytes, site);
  }
  cudaError_t DeviceAllocate(int, void** p, size_t bytes, cudaStream_t = nullptr, SIMT_SITE) {
    return cudaMalloc(p, bytes, site);
  }
  cudaError_t DeviceFree(void* p, SIMT_SITE) { return cudaFree(p, site); }
  cudaError_t DeviceFree(int, void* p, SIMT_SITE) { return cudaFree(p, site); }
};

}  // namespace cub

#define CubDebug(e) ::cub::Debug((cudaError_t)(e), __FILE__, __LINE__)
#define CubDebugExit(e) \
  if (CubDebug(e)) std::exit(1)
