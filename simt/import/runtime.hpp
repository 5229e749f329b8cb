// The CUDA runtime API that foreign host code calls, on the emulated device. Streams and events keep order and nothing
// else: work is done when the call returns. A wrong address, size or direction is reported with the caller's line.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <type_traits>

#include "simt/emulated_memory.hpp"
#include "simt/import/launch.hpp"

enum cudaError {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidPitchValue = 12,
  cudaErrorInvalidSymbol = 13,
  cudaErrorInvalidMemcpyDirection = 21,
  cudaErrorInvalidDeviceFunction = 98,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorSymbolNotFound = 500,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorPeerAccessAlreadyEnabled = 704,
  cudaErrorAssert = 710,
  cudaErrorLaunchFailure = 719,
  cudaErrorNotSupported = 801,
  cudaErrorGraphExecUpdateFailure = 910,
  cudaErrorUnknown = 999
};
using cudaError_t = cudaError;

const char* cudaGetErrorName(cudaError_t e);
const char* cudaGetErrorString(cudaError_t e);

using cudaStream_t = ::simt::stream_t;
#define cudaStreamDefault 0x00
#define cudaStreamNonBlocking 0x01
#define cudaStreamLegacy (static_cast<cudaStream_t>(nullptr))
#define cudaStreamPerThread (static_cast<cudaStream_t>(nullptr))

enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};

namespace simt::import {

// The code as the API returns it; also the last error.
cudaError_t returned(cudaError_t e);
cudaError_t misuse(const char* function, const site& where, const std::string& text,
                   cudaError_t code = cudaErrorInvalidValue);

// The allocation that [p, p + 1) lies in, or nullptr.
const std::pair<const char* const, allocation>* find_allocation(const void* p);

// Checks one side of a copy; reports and returns false when [p, p + bytes) leaves the device memory that p points to.
bool check_side(const char* function, const site& where, const char* side, const void* p, size_t bytes,
                bool must_be_device, bool must_be_host);
cudaError_t copy(const char* function, const site& where, void* to, const void* from, size_t bytes,
                 cudaMemcpyKind kind);

cudaError_t allocate(void** p, size_t bytes, bool host_too, const site& where);
cudaError_t release(const char* function, void* p, const site& where);

// The memory is a graph's from now on: it has its address before the graph runs, and each run finds it unwritten.
std::function<void()> give_to_graph(void* p, size_t bytes);

}  // namespace simt::import

inline cudaError_t cudaPeekAtLastError() { return static_cast<cudaError_t>(::simt::import::the_program().last_error); }

// Memory.
template <class T>
cudaError_t cudaMalloc(T** p, size_t bytes, SIMT_SITE) {
  return ::simt::import::allocate(reinterpret_cast<void**>(const_cast<std::remove_const_t<T>**>(p)), bytes, false,
                                  site);
}
template <class T>
cudaError_t cudaMallocAsync(T** p, size_t bytes, cudaStream_t, SIMT_SITE) {
  const cudaError_t e = cudaMalloc(p, bytes, site);
  if (e == cudaSuccess && ::simt::import::the_program().capture)
    ::simt::import::enqueue(::simt::import::give_to_graph(*p, bytes));
  return e;
}
template <class T>
cudaError_t cudaMallocManaged(T** p, size_t bytes, unsigned = 1, SIMT_SITE) {
  return ::simt::import::allocate(reinterpret_cast<void**>(p), bytes, true, site);
}
template <class T>
cudaError_t cudaMallocHost(T** p, size_t bytes, unsigned = 0, SIMT_SITE) {
  return ::simt::import::allocate(reinterpret_cast<void**>(p), bytes, true, site);
}
template <class T>
cudaError_t cudaHostAlloc(T** p, size_t bytes, unsigned, SIMT_SITE) {
  return ::simt::import::allocate(reinterpret_cast<void**>(p), bytes, true, site);
}
template <class T>
cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned) {
  *device = static_cast<T*>(host);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMallocPitch(T** p, size_t* pitch, size_t width, size_t height, SIMT_SITE) {
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(p, *pitch * height, site);
}
inline cudaError_t cudaFree(const void* p, SIMT_SITE) {
  return ::simt::import::release("cudaFree", const_cast<void*>(p), site);
}
inline cudaError_t cudaFreeAsync(const void* p, cudaStream_t, SIMT_SITE) { return cudaFree(p, site); }
inline cudaError_t cudaFreeHost(void* p, SIMT_SITE) { return ::simt::import::release("cudaFreeHost", p, site); }

inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, SIMT_SITE) {
  return ::simt::import::copy("cudaMemcpy", site, to, from, bytes, kind);
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t = nullptr, SIMT_SITE) {
  ::simt::import::enqueue([=] { ::simt::import::copy("cudaMemcpyAsync", site, to, from, bytes, kind); });
  return cudaPeekAtLastError();
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind, SIMT_SITE);
inline cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                     size_t height, cudaMemcpyKind kind, cudaStream_t = nullptr, SIMT_SITE) {
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind, site);
}
cudaError_t cudaMemset(void* p, int byte, size_t bytes, SIMT_SITE);
inline cudaError_t cudaMemsetAsync(void* p, int byte, size_t bytes, cudaStream_t = nullptr, SIMT_SITE) {
  ::simt::import::enqueue([=] { cudaMemset(p, byte, bytes, site); });
  return cudaPeekAtLastError();
}
cudaError_t cudaMemset2D(void* p, size_t pitch, int byte, size_t width, size_t height, SIMT_SITE);
inline cudaError_t cudaMemset2DAsync(void* p, size_t pitch, int byte, size_t width, size_t height,
                                     cudaStream_t = nullptr, SIMT_SITE) {
  return cudaMemset2D(p, pitch, byte, width, height, site);
}

// A symbol is a reference into device memory (launch.hpp), so its address and size are its own.
template <class T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, size_t bytes, size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice, SIMT_SITE) {
  return ::simt::import::copy("cudaMemcpyToSymbol", site,
                              reinterpret_cast<char*>(const_cast<std::remove_const_t<T>*>(&symbol)) + offset, from,
                              bytes, kind);
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind,
                                    cudaStream_t = nullptr, SIMT_SITE) {
  return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind, site);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost, SIMT_SITE) {
  return ::simt::import::copy("cudaMemcpyFromSymbol", site, to, reinterpret_cast<const char*>(&symbol) + offset, bytes,
                              kind);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t = nullptr, SIMT_SITE) {
  return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind, site);
}
template <class T>
cudaError_t cudaGetSymbolAddress(void** p, const T& symbol) {
  *p = const_cast<std::remove_const_t<T>*>(&symbol);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaGetSymbolSize(size_t* bytes, const T&) {
  *bytes = sizeof(T);
  return cudaSuccess;
}

// Errors and synchronisation.
inline cudaError_t cudaGetLastError() {
  const cudaError_t e = cudaPeekAtLastError();
  ::simt::import::the_program().last_error = cudaSuccess;
  return e;
}
inline cudaError_t cudaDeviceSynchronize() {
  ::simt::synchronize();
  return cudaPeekAtLastError();
}
inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }

// Streams: all are one. A null handle is the default stream.
inline cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = ::simt::import::the_program().current;
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) { return cudaStreamCreate(stream); }
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  return cudaStreamCreate(stream);
}
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaDeviceSynchronize(); }
inline cudaError_t cudaStreamQuery(cudaStream_t) { return cudaPeekAtLastError(); }

// Events: marks in the one order. The emulated device has no time, so all of them lie 0 ms apart.
struct simt_event {
  bool recorded = false;
};
using cudaEvent_t = simt_event*;
#define cudaEventDefault 0x00
#define cudaEventBlockingSync 0x01
#define cudaEventDisableTiming 0x02
inline cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned = 0) {
  *event = new simt_event;
  return cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return cudaEventCreate(event, flags);
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t = nullptr) {
  ::simt::synchronize();  // a launch overlaps the one before it, which this is not
  event->recorded = true;
  return cudaSuccess;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaDeviceSynchronize(); }
inline cudaError_t cudaEventQuery(cudaEvent_t) { return cudaPeekAtLastError(); }
inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end, SIMT_SITE) {
  if (!begin->recorded || !end->recorded)
    return ::simt::import::misuse("cudaEventElapsedTime", site, "an event was never recorded",
                                  cudaErrorInvalidResourceHandle);
  *milliseconds = ::simt::import::approximate("the time between events", 0.0f);
  return cudaSuccess;
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) {
  ::simt::synchronize();
  return cudaSuccess;
}

// Devices: there is one.
struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerBlockOptin, sharedMemPerMultiprocessor, totalConstMem, memPitch;
  int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate, major, minor;
  int multiProcessorCount, maxThreadsPerMultiProcessor, concurrentKernels, memoryClockRate, memoryBusWidth, l2CacheSize;
  int cooperativeLaunch, managedMemory, unifiedAddressing, integrated, canMapHostMemory, asyncEngineCount;
  int deviceOverlap, computeMode, kernelExecTimeoutEnabled, ECCEnabled, pciBusID, pciDeviceID, pciDomainID;
  int concurrentManagedAccess, pageableMemoryAccess, streamPrioritiesSupported, hostNativeAtomicSupported;
  int regsPerMultiprocessor, maxBlocksPerMultiProcessor, multiGpuBoardGroupID, tccDriver, isMultiGpuBoard;
  int maxTexture1D, maxTexture2D[2], maxTexture3D[3], maxTexture1DLinear, persistingL2CacheMaxSize;
  size_t textureAlignment, texturePitchAlignment, surfaceAlignment;
};
// The machine of the launch limits (simt/error.hpp); clocks are 1 kHz, since rates mean nothing here.
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device);

enum cudaComputeMode { cudaComputeModeDefault, cudaComputeModeExclusive, cudaComputeModeProhibited };
enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1,
  cudaDevAttrMaxBlockDimX = 2,
  cudaDevAttrMaxBlockDimY = 3,
  cudaDevAttrMaxBlockDimZ = 4,
  cudaDevAttrMaxGridDimX = 5,
  cudaDevAttrMaxGridDimY = 6,
  cudaDevAttrMaxGridDimZ = 7,
  cudaDevAttrMaxSharedMemoryPerBlock = 8,
  cudaDevAttrTotalConstantMemory = 9,
  cudaDevAttrWarpSize = 10,
  cudaDevAttrMaxRegistersPerBlock = 12,
  cudaDevAttrClockRate = 13,
  cudaDevAttrGpuOverlap = 15,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrKernelExecTimeout = 17,
  cudaDevAttrIntegrated = 18,
  cudaDevAttrCanMapHostMemory = 19,
  cudaDevAttrComputeMode = 20,
  cudaDevAttrConcurrentKernels = 31,
  cudaDevAttrMemoryClockRate = 36,
  cudaDevAttrGlobalMemoryBusWidth = 37,
  cudaDevAttrL2CacheSize = 38,
  cudaDevAttrMaxThreadsPerMultiProcessor = 39,
  cudaDevAttrUnifiedAddressing = 41,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrStreamPrioritiesSupported = 78,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrMaxRegistersPerMultiprocessor = 82,
  cudaDevAttrManagedMemory = 83,
  cudaDevAttrHostNativeAtomicSupported = 86,
  cudaDevAttrConcurrentManagedAccess = 89,
  cudaDevAttrCooperativeLaunch = 95,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
  cudaDevAttrMemoryPoolsSupported = 115
};
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : ::simt::import::returned(cudaErrorInvalidDevice);
}
inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceReset() { return cudaSuccess; }
inline cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
inline cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  *free_bytes = *total = size_t{16} << 30;
  return cudaSuccess;
}
inline cudaError_t cudaDriverGetVersion(int* version) {
  *version = 12080;
  return cudaSuccess;
}
inline cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }
enum cudaLimit {
  cudaLimitStackSize,
  cudaLimitPrintfFifoSize,
  cudaLimitMallocHeapSize,
  cudaLimitPersistingL2CacheSize = 6
};
inline cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
enum cudaMemoryAdvise { cudaMemAdviseSetReadMostly = 1, cudaMemAdviseSetPreferredLocation = 3 };
inline cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, int) { return cudaSuccess; }
#define cudaCpuDeviceId (-1)
inline cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t = nullptr) { return cudaSuccess; }
#define cudaMemAttachGlobal 1
#define cudaHostAllocDefault 0
#define cudaHostAllocMapped 2
