// Stands in for the header of this name that NVIDIA's samples share: checks of CUDA's return codes, and the choice of
// a device.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "cuda_runtime.h"
#include "helper_string.h"

inline const char* _cudaGetErrorEnum(cudaError_t error) { return cudaGetErrorName(error); }
template <class Status>
const char* _cudaGetErrorEnum(Status) {
  return "a library's error";
}
template <class Status>
void check(Status status, const char* call, const char* file, int line) {
  if (static_cast<int>(status) == 0) return;
  std::fprintf(stderr, "CUDA error at %s:%d code=%d(%s) \"%s\"\n", file, line, static_cast<int>(status),
               _cudaGetErrorEnum(status), call);
  std::exit(EXIT_FAILURE);
}
#define checkCudaErrors(call) check((call), #call, __FILE__, __LINE__)

inline void __printLastCudaError(const char* text, const char* file, int line) {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s(%d) : CUDA error : %s : (%d) %s\n", file, line, text, static_cast<int>(error),
               cudaGetErrorString(error));
}
inline void __getLastCudaError(const char* text, const char* file, int line) {
  if (cudaPeekAtLastError() == cudaSuccess) return;
  __printLastCudaError(text, file, line);
  std::exit(EXIT_FAILURE);
}
#define getLastCudaError(text) __getLastCudaError(text, __FILE__, __LINE__)
#define printLastCudaError(text) __printLastCudaError(text, __FILE__, __LINE__)

#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif
inline int ftoi(float x) { return static_cast<int>(x >= 0 ? x + 0.5f : x - 0.5f); }

// Returns the cores of a multiprocessor of compute capability 5 or later; 128 for unknown ones.
inline int _ConvertSMVer2Cores(int major, int minor) {
  return major == 6 && minor == 0 ? 64 : major == 7 || (major == 8 && minor == 0) ? 64 : 128;
}
inline int gpuDeviceInit(int device) {
  checkCudaErrors(cudaSetDevice(device));
  return device;
}
inline int gpuGetMaxGflopsDeviceId() { return 0; }
inline int findCudaDevice(int argc, const char** argv) {
  return gpuDeviceInit(getCmdLineArgumentInt(argc, argv, "device"));
}
inline bool checkCudaCapabilities(int major, int minor) {
  cudaDeviceProp properties;
  checkCudaErrors(cudaGetDeviceProperties(&properties, 0));
  return properties.major > major || (properties.major == major && properties.minor >= minor);
}
