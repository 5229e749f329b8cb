// The CUDA runtime API that foreign host code calls, on the emulated device. Streams and events keep order and nothing
// else: work is done when the call returns. A wrong address, size or direction is reported with the caller's line.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
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

inline const char* cudaGetErrorName(cudaError_t e) {
  switch (e) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidPitchValue: return "cudaErrorInvalidPitchValue";
    case cudaErrorInvalidSymbol: return "cudaErrorInvalidSymbol";
    case cudaErrorInvalidMemcpyDirection: return "cudaErrorInvalidMemcpyDirection";
    case cudaErrorInvalidDeviceFunction: return "cudaErrorInvalidDeviceFunction";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
    case cudaErrorNotReady: return "cudaErrorNotReady";
    case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
    case cudaErrorPeerAccessAlreadyEnabled: return "cudaErrorPeerAccessAlreadyEnabled";
    case cudaErrorAssert: return "cudaErrorAssert";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    case cudaErrorNotSupported: return "cudaErrorNotSupported";
    case cudaErrorGraphExecUpdateFailure: return "cudaErrorGraphExecUpdateFailure";
    case cudaErrorUnknown: break;
  }
  return "cudaErrorUnknown";
}
inline const char* cudaGetErrorString(cudaError_t e) {
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
inline cudaError_t returned(cudaError_t e) {
  if (e != cudaSuccess) the_program().last_error = e;
  return e;
}

inline cudaError_t misuse(const char* function, const site& where, const std::string& text,
                          cudaError_t code = cudaErrorInvalidValue) {
  report("error_return", std::string(function) + " at " + describe(where) + ": " + text, false);
  return returned(code);
}

// The allocation that [p, p + 1) lies in, or nullptr.
inline const std::pair<const char* const, allocation>* find_allocation(const void* p) {
  const auto& memory = the_program().memory;
  const auto* address = static_cast<const char*>(p);
  auto after = memory.upper_bound(address);
  if (after == memory.begin()) return nullptr;
  --after;
  return address < after->first + after->second.bytes || address == after->first ? &*after : nullptr;
}

// The program's memory is tracked; a trial's tensors are not, so there an unknown address may be the device's.
inline bool knows_all_memory() { return the_program().report != nullptr; }

// Checks one side of a copy; reports and returns false when [p, p + bytes) leaves the device memory that p points to.
inline bool check_side(const char* function, const site& where, const char* side, const void* p, size_t bytes,
                       bool must_be_device, bool must_be_host) {
  if (!knows_all_memory() || bytes == 0) return true;
  if (p == nullptr) {
    misuse(function, where, std::string(side) + " is a null pointer");
    return false;
  }
  const auto* found = find_allocation(p);
  if (found == nullptr && must_be_device) {
    misuse(function, where, std::string(side) + " is not device memory, as the kind of the copy says",
           cudaErrorInvalidMemcpyDirection);
    return false;
  }
  if (found == nullptr) return true;
  if (must_be_host && !found->second.host_too) {
    misuse(function, where, std::string(side) + " is device memory, but the kind of the copy says host memory",
           cudaErrorInvalidMemcpyDirection);
    return false;
  }
  const size_t offset = static_cast<size_t>(static_cast<const char*>(p) - found->first);
  if (bytes > found->second.bytes - offset) {
    report("out_of_bounds",
           std::string(function) + " at " + describe(where) + ": " + std::to_string(bytes) + " bytes from byte " +
               std::to_string(offset) + " of " + side + " leave the " + std::to_string(found->second.bytes) +
               " bytes that were allocated at " + describe(found->second.where),
           false);
    returned(cudaErrorInvalidValue);
    return false;
  }
  return true;
}

// What comes back to the host should have been written. All of it missing is a finding; a part may be what a program
// asks for and does not look at, such as the rest of a list or the padding of a struct.
inline void check_written(const char* function, const site& where, const void* from, size_t bytes) {
  const auto* found = find_allocation(from);
  const unwritten_bytes none = count_unwritten(from, bytes);
  if (!knows_all_memory() || found == nullptr || none.count == 0) return;
  const std::string of = " of the buffer of " + std::to_string(found->second.bytes) + " bytes that was allocated at " +
                         describe(found->second.where);
  const std::string copies = std::string(function) + " at " + describe(where) + " copies back ";
  const size_t first = static_cast<size_t>(static_cast<const char*>(from) - found->first) + none.first;
  if (none.count == bytes)
    report("uninitialized",
           copies + std::to_string(bytes) + " bytes from byte " + std::to_string(first) + of +
               ", none of which anybody wrote",
           false);
  else
    report("note",
           copies + std::to_string(none.count) + " bytes that nobody wrote, the first of them byte " +
               std::to_string(first) + of,
           false);
}

inline cudaError_t copy(const char* function, const site& where, void* to, const void* from, size_t bytes,
                        cudaMemcpyKind kind) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
    return misuse(function, where, "kind is " + std::to_string(kind) + ", allowed are 0 to 4",
                  cudaErrorInvalidMemcpyDirection);
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const bool any = kind == cudaMemcpyDefault;
  if (!check_side(function, where, "the destination", to, bytes, to_device, !to_device && !any) ||
      !check_side(function, where, "the source", from, bytes, from_device, !from_device && !any))
    return static_cast<cudaError_t>(the_program().last_error);
  if (bytes > 0 && find_allocation(to) == nullptr) check_written(function, where, from, bytes);
  if (bytes > 0) memcpy_async(to, from, bytes, nullptr);
  return cudaSuccess;
}

inline cudaError_t allocate(void** p, size_t bytes, bool host_too, const site& where) {
  if (p == nullptr) return returned(cudaErrorInvalidValue);
  *p = nullptr;
  if (bytes == 0) return cudaSuccess;
  try {
    *p = device_alloc(bytes, 0, 1);
  } catch (const device_error&) {
    return returned(cudaErrorMemoryAllocation);
  }
  // Managed and pinned memory may be filled by the host, which nobody observes.
  if (!host_too) mark_uninitialized(*p, bytes);
  the_program().memory[static_cast<char*>(*p)] = {bytes, where, host_too, false};
  return cudaSuccess;
}

inline cudaError_t release(const char* function, void* p, const site& where) {
  if (p == nullptr) return cudaSuccess;
  auto& memory = the_program().memory;
  const auto found = memory.find(static_cast<char*>(p));
  if (found == memory.end() || found->second.is_variable)
    return misuse(function, where, "the pointer is not the start of a live allocation");
  const int64_t damage = device_check(p);
  if (damage != INT64_MIN)
    report("out_of_bounds",
           std::string(function) + " at " + describe(where) + ": byte " + std::to_string(damage) + " of a buffer of " +
               std::to_string(found->second.bytes) + " bytes was written",
           false);
  if (found->second.of_graph) return cudaSuccess;
  memory.erase(found);
  device_free(p);
  return cudaSuccess;
}

// The memory is a graph's from now on: it has its address before the graph runs, and each run finds it unwritten.
inline std::function<void()> give_to_graph(void* p, size_t bytes) {
  if (p != nullptr) the_program().memory[static_cast<char*>(p)].of_graph = true;
  return [=] { mark_uninitialized(p, bytes); };
}

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
inline cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                size_t height, cudaMemcpyKind kind, SIMT_SITE) {
  if (width > to_pitch || width > from_pitch)
    return ::simt::import::misuse("cudaMemcpy2D", site,
                                  "the width of " + std::to_string(width) + " bytes is more than the pitch of " +
                                      std::to_string(to_pitch < from_pitch ? to_pitch : from_pitch),
                                  cudaErrorInvalidPitchValue);
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t e = ::simt::import::copy("cudaMemcpy2D", site, static_cast<char*>(to) + row * to_pitch,
                                               static_cast<const char*>(from) + row * from_pitch, width, kind);
    if (e != cudaSuccess) return e;
  }
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                     size_t height, cudaMemcpyKind kind, cudaStream_t = nullptr, SIMT_SITE) {
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind, site);
}
inline cudaError_t cudaMemset(void* p, int byte, size_t bytes, SIMT_SITE) {
  if (!::simt::import::check_side("cudaMemset", site, "the buffer", p, bytes, true, false))
    return cudaErrorInvalidValue;
  if (bytes > 0) ::simt::memset_async(p, byte, bytes, nullptr);
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* p, int byte, size_t bytes, cudaStream_t = nullptr, SIMT_SITE) {
  ::simt::import::enqueue([=] { cudaMemset(p, byte, bytes, site); });
  return cudaPeekAtLastError();
}
inline cudaError_t cudaMemset2D(void* p, size_t pitch, int byte, size_t width, size_t height, SIMT_SITE) {
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t e = cudaMemset(static_cast<char*>(p) + row * pitch, byte, width, site);
    if (e != cudaSuccess) return e;
  }
  return cudaSuccess;
}
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
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (device != 0) return ::simt::import::returned(cudaErrorInvalidDevice);
  const ::simt::machine_limits limits;
  const auto own = ::simt::device_properties(::simt::import::the_program().current);
  *p = {};
  std::strncpy(p->name, "emulated device", sizeof p->name - 1);
  p->totalGlobalMem = size_t{16} << 30;
  p->sharedMemPerBlock = limits.static_shared_bytes;
  p->sharedMemPerBlockOptin = own.shared_per_block_optin;
  p->sharedMemPerMultiprocessor = limits.shared_bytes + 1024;
  p->totalConstMem = 64 * 1024;
  p->memPitch = (size_t{1} << 31) - 1;
  p->regsPerBlock = 65536;
  p->warpSize = 32;
  p->maxThreadsPerBlock = static_cast<int>(limits.threads_per_block);
  for (int i = 0; i < 3; ++i) {
    p->maxThreadsDim[i] = static_cast<int>(limits.block_dim[i]);
    p->maxGridSize[i] = static_cast<int>(limits.grid_dim[i]);
  }
  p->clockRate = p->memoryClockRate = 1;
  p->memoryBusWidth = 8;
  p->major = 8;
  p->multiProcessorCount = own.sm_count;
  p->maxThreadsPerMultiProcessor = 2048;
  p->concurrentKernels = p->cooperativeLaunch = p->managedMemory = p->unifiedAddressing = p->canMapHostMemory = 1;
  p->asyncEngineCount = p->deviceOverlap = p->streamPrioritiesSupported = 1;
  p->textureAlignment = p->surfaceAlignment = 512;
  p->texturePitchAlignment = 32;
  p->regsPerMultiprocessor = 65536;
  p->maxBlocksPerMultiProcessor = 32;
  p->l2CacheSize = static_cast<int>(own.l2_bytes);
  p->persistingL2CacheMaxSize = p->l2CacheSize / 4 * 3;
  return cudaSuccess;
}

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
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp p;
  if (const cudaError_t e = cudaGetDeviceProperties(&p, device); e != cudaSuccess) return e;
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
    case cudaDevAttrMaxBlockDimZ: *value = p.maxThreadsDim[attribute - cudaDevAttrMaxBlockDimX]; break;
    case cudaDevAttrMaxGridDimX:
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ: *value = p.maxGridSize[attribute - cudaDevAttrMaxGridDimX]; break;
    case cudaDevAttrTotalConstantMemory: *value = static_cast<int>(p.totalConstMem); break;
    case cudaDevAttrMaxRegistersPerBlock: *value = p.regsPerBlock; break;
    case cudaDevAttrGpuOverlap: *value = p.deviceOverlap; break;
    case cudaDevAttrKernelExecTimeout: *value = p.kernelExecTimeoutEnabled; break;
    case cudaDevAttrIntegrated: *value = p.integrated; break;
    case cudaDevAttrCanMapHostMemory: *value = p.canMapHostMemory; break;
    case cudaDevAttrComputeMode: *value = p.computeMode; break;
    case cudaDevAttrConcurrentKernels: *value = p.concurrentKernels; break;
    case cudaDevAttrMemoryClockRate: *value = p.memoryClockRate; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = p.memoryBusWidth; break;
    case cudaDevAttrUnifiedAddressing: *value = p.unifiedAddressing; break;
    case cudaDevAttrStreamPrioritiesSupported: *value = p.streamPrioritiesSupported; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = static_cast<int>(p.sharedMemPerMultiprocessor); break;
    case cudaDevAttrMaxRegistersPerMultiprocessor: *value = p.regsPerMultiprocessor; break;
    case cudaDevAttrManagedMemory: *value = p.managedMemory; break;
    case cudaDevAttrHostNativeAtomicSupported: *value = p.hostNativeAtomicSupported; break;
    case cudaDevAttrConcurrentManagedAccess: *value = p.concurrentManagedAccess; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = static_cast<int>(p.sharedMemPerBlock); break;
    case cudaDevAttrWarpSize: *value = p.warpSize; break;
    case cudaDevAttrClockRate: *value = p.clockRate; break;
    case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
    case cudaDevAttrL2CacheSize: *value = p.l2CacheSize; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = p.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
    case cudaDevAttrMemoryPoolsSupported: *value = 1; break;
    case cudaDevAttrCooperativeLaunch: *value = p.cooperativeLaunch; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = static_cast<int>(p.sharedMemPerBlockOptin); break;
    default: return ::simt::import::returned(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}
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
