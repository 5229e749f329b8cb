// Shared parts of the candidates that call CUB: its calls in a kept workspace, iterators over rows, their table.
#pragma once

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cub/version.cuh>
#include <map>
#include <string>

#include "abi/candidate_library.hpp"
#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw simt::device_error(std::string(what) + ": " + cudaGetErrorString(status));
}

// Allocated by the first call of a size, then reused. Other calls may be on other streams, but never run at the same
// time.
inline void* workspace(size_t bytes, cudaStream_t stream) {
  static std::map<size_t, void*> known;
  void*& memory = known[bytes];
  if (memory == nullptr) {
    check(cudaMallocAsync(&memory, bytes, stream), "cudaMallocAsync");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  return memory;
}

// Runs `algorithm(storage, bytes)`, which without storage only returns the bytes that it needs.
template <class Algorithm>
void run_in_workspace(cudaStream_t stream, Algorithm&& algorithm) {
  size_t bytes = 0;
  check(algorithm(nullptr, bytes), "CUB");
  void* const storage = workspace(std::max<size_t>(bytes, 1), stream);
  check(algorithm(storage, bytes), "CUB");
}

// The offset at which row r begins, or ends.
struct row_offset {
  int64_t ld, first;
  __host__ __device__ int64_t operator()(int64_t row) const { return row * ld + first; }
};
inline auto offsets(int64_t ld, int64_t first) {
  return thrust::make_transform_iterator(thrust::make_counting_iterator<int64_t>(0), row_offset{ld, first});
}

inline std::string cub_version() {
  return "CUB " + std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." +
         std::to_string(CUB_SUBMINOR_VERSION);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck
