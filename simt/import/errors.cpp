// Names and descriptions of the errors of the runtime API.
#include "simt/import/runtime.hpp"

namespace {

constexpr struct {
  cudaError code;
  const char* name;
} k_error_names[] = {
#define SIMT_ERROR(name, number) {cuda##name, "cuda" #name},
    SIMT_CUDA_ERRORS(SIMT_ERROR)
#undef SIMT_ERROR
};

}  // namespace

const char* cudaGetErrorName(cudaError_t e) {
  for (const auto& known : k_error_names)
    if (known.code == e) return known.name;
  return "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t e) {
  switch (e) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorInvalidMemcpyDirection: return "invalid copy direction for memcpy";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    default: return cudaGetErrorName(e);
  }
}
