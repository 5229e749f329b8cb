// The CUDA runtime API for foreign host code, on the emulated device. Stream operations run in an order that their
// rules allow (streams.hpp). A wrong address, size or direction is reported with the caller's line.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <type_traits>

#include "simt/emulated_memory.hpp"
#include "simt/import/error_numbers.hpp"
#include "simt/import/launch.hpp"

enum cudaError {
#define SIMT_ERROR(name, number) cuda##name = number,
  SIMT_CUDA_ERRORS(SIMT_ERROR)
#undef SIMT_ERROR
};
using cudaError_t = cudaError;

const char* cudaGetErrorName(cudaError_t e);
const char* cudaGetErrorString(cudaError_t e);

#define cudaStreamDefault 0x00
#define cudaStreamNonBlocking 0x01

enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};

namespace simt::import {

// Returns the code as the API does, and makes it the last error.
cudaError_t returned(cudaError_t e);
cudaError_t misuse(const char* function, const site& where, const std::string& text,
                   cudaError_t code = cudaErrorInvalidValue);

// Returns the allocation that contains [p, p + 1), or nullptr.
const std::pair<const char* const, allocation>* find_allocation(const void* p);

// Checks one side of a copy; reports and returns false if [p, p + bytes) leaves the device memory that p points to.
bool check_side(const char* function, const site& where, const char* side, const void* p, size_t bytes,
                bool must_be_device, bool must_be_host);
// Copies `rows` rows of `bytes` bytes each, at distances `to_pitch` and `from_pitch`.
struct copy_request {
  void* to;
  const void* from;
  size_t bytes;
  cudaMemcpyKind kind;
  size_t rows = 1, to_pitch = 0, from_pitch = 0;
};
// An asynchronous copy may access host memory until the program waits for it.
cudaError_t copy(const char* function, const site& where, void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                 bool is_async = false);
// Copies for which the host waits, and asynchronous ones.
cudaError_t copy_in(const stream_call& call, const copy_request& request);
cudaError_t copy_async_in(const stream_call& call, const copy_request& request);
// The same for any other operation that copies between such places.
enum class copy_path { pageable_to_device, within_device, other };
copy_path path_of(const void* to, const void* from, cudaMemcpyKind kind);
cudaError_t enqueue_copy(const stream_call& call, copy_path path, std::function<cudaError_t()> work);

cudaError_t set(const char* function, const site& where, void* p, int byte, size_t bytes);
// Sets each byte of `rows` rows of `bytes` bytes.
cudaError_t set_in(const stream_call& call, bool is_async, void* p, int byte, size_t bytes, size_t rows = 1,
                   size_t pitch = 0);

cudaError_t allocate(void** p, size_t bytes, bool host_too, const site& where);
cudaError_t release(const char* function, void* p, const site& where);
// Variant in a stream.
cudaError_t allocate_in(const stream_call& call, void** p, size_t bytes);
cudaError_t release_in(const stream_call& call, void* p);

// Gives the memory to a graph: its address is fixed before the graph runs, and each run finds it unwritten.
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
cudaError_t cudaMallocAsync(T** p, size_t bytes, cudaStream_t stream, SIMT_SITE) {
  return ::simt::import::allocate_in({"cudaMallocAsync", site, ::simt::import::on(stream)},
                                     reinterpret_cast<void**>(const_cast<std::remove_const_t<T>**>(p)), bytes);
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
  ::simt::import::wait_for_all();
  return ::simt::import::release("cudaFree", const_cast<void*>(p), site);
}
inline cudaError_t cudaFreeAsync(const void* p, cudaStream_t stream, SIMT_SITE) {
  return ::simt::import::release_in({"cudaFreeAsync", site, ::simt::import::on(stream)}, const_cast<void*>(p));
}
inline cudaError_t cudaFreeHost(void* p, SIMT_SITE) {
  ::simt::import::wait_for_all();
  return ::simt::import::release("cudaFreeHost", p, site);
}

inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, SIMT_SITE) {
  return ::simt::import::copy_in({"cudaMemcpy", site, ::simt::import::on(nullptr)}, {to, from, bytes, kind});
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t stream = nullptr, SIMT_SITE) {
  return ::simt::import::copy_async_in({"cudaMemcpyAsync", site, ::simt::import::on(stream)}, {to, from, bytes, kind});
}
inline cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                size_t height, cudaMemcpyKind kind, SIMT_SITE) {
  return ::simt::import::copy_in({"cudaMemcpy2D", site, ::simt::import::on(nullptr)},
                                 {to, from, width, kind, height, to_pitch, from_pitch});
}
inline cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                     size_t height, cudaMemcpyKind kind, cudaStream_t stream = nullptr, SIMT_SITE) {
  return ::simt::import::copy_async_in({"cudaMemcpy2DAsync", site, ::simt::import::on(stream)},
                                       {to, from, width, kind, height, to_pitch, from_pitch});
}
inline cudaError_t cudaMemset(void* p, int byte, size_t bytes, SIMT_SITE) {
  return ::simt::import::set_in({"cudaMemset", site, ::simt::import::on(nullptr)}, false, p, byte, bytes);
}
inline cudaError_t cudaMemsetAsync(void* p, int byte, size_t bytes, cudaStream_t stream = nullptr, SIMT_SITE) {
  return ::simt::import::set_in({"cudaMemsetAsync", site, ::simt::import::on(stream)}, true, p, byte, bytes);
}
inline cudaError_t cudaMemset2D(void* p, size_t pitch, int byte, size_t width, size_t height, SIMT_SITE) {
  return ::simt::import::set_in({"cudaMemset2D", site, ::simt::import::on(nullptr)}, false, p, byte, width, height,
                                pitch);
}
inline cudaError_t cudaMemset2DAsync(void* p, size_t pitch, int byte, size_t width, size_t height,
                                     cudaStream_t stream = nullptr, SIMT_SITE) {
  return ::simt::import::set_in({"cudaMemset2DAsync", site, ::simt::import::on(stream)}, true, p, byte, width, height,
                                pitch);
}

// A symbol is a reference into device memory (launch.hpp), so its address and size are those of the reference.
template <class T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, size_t bytes, size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice, SIMT_SITE) {
  return ::simt::import::copy_in(
      {"cudaMemcpyToSymbol", site, ::simt::import::on(nullptr)},
      {reinterpret_cast<char*>(const_cast<std::remove_const_t<T>*>(&symbol)) + offset, from, bytes, kind});
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind,
                                    cudaStream_t stream = nullptr, SIMT_SITE) {
  return ::simt::import::copy_async_in(
      {"cudaMemcpyToSymbolAsync", site, ::simt::import::on(stream)},
      {reinterpret_cast<char*>(const_cast<std::remove_const_t<T>*>(&symbol)) + offset, from, bytes, kind});
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost, SIMT_SITE) {
  return ::simt::import::copy_in({"cudaMemcpyFromSymbol", site, ::simt::import::on(nullptr)},
                                 {to, reinterpret_cast<const char*>(&symbol) + offset, bytes, kind});
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream = nullptr, SIMT_SITE) {
  return ::simt::import::copy_async_in({"cudaMemcpyFromSymbolAsync", site, ::simt::import::on(stream)},
                                       {to, reinterpret_cast<const char*>(&symbol) + offset, bytes, kind});
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
  ::simt::import::wait_for_all();
  return cudaPeekAtLastError();
}
inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }

// Streams. A null handle is a default stream (streams.hpp).
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority, SIMT_SITE) {
  if (stream == nullptr || flags > cudaStreamNonBlocking) return ::simt::import::returned(cudaErrorInvalidValue);
  *stream = ::simt::import::create_stream(flags, priority, site);
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags, SIMT_SITE) {
  return cudaStreamCreateWithPriority(stream, flags, 0, site);
}
inline cudaError_t cudaStreamCreate(cudaStream_t* stream, SIMT_SITE) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0, site);
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  ::simt::import::destroy_stream(stream);
  return cudaSuccess;
}
inline cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  *flags = ::simt::import::flags_of(::simt::import::on(stream));
  return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  ::simt::import::wait_for_stream(::simt::import::on(stream));
  return cudaPeekAtLastError();
}
// The answer is always "complete", so the host waits for the work first.
inline cudaError_t cudaStreamQuery(cudaStream_t stream) {
  ::simt::import::host_chooses(::simt::import::k_query);
  return cudaStreamSynchronize(stream);
}

// Events. The emulated device has no time, so any two events are 0 ms apart.
#define cudaEventDefault 0x00
#define cudaEventBlockingSync 0x01
#define cudaEventInterprocess 0x04
#define cudaEventRecordExternal 0x01
#define cudaEventWaitDefault 0x00
#define cudaEventWaitExternal 0x01
#define cudaEventDisableTiming 0x02
#define cudaEventRecordDefault 0x00
inline cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned = 0) {
  *event = new CUevent_st;
  return cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return cudaEventCreate(event, flags);
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr) {
  ::simt::import::record_event(*event, ::simt::import::on(stream));
  return cudaSuccess;
}
inline cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream = nullptr, unsigned = 0) {
  return cudaEventRecord(event, stream);
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  ::simt::import::wait_for_event(*event);
  return cudaPeekAtLastError();
}
inline cudaError_t cudaEventQuery(cudaEvent_t event) {
  ::simt::import::host_chooses(::simt::import::k_query);
  return cudaEventSynchronize(event);
}
SIMT_INLINE cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end, SIMT_SITE) {
  if (!begin->recorded || !end->recorded)
    return ::simt::import::misuse("cudaEventElapsedTime", site, "an event was never recorded",
                                  cudaErrorInvalidResourceHandle);
  ::simt::import::host_reads_time();
  *milliseconds = ::simt::import::approximate("the time between events", 0.0f);
  return cudaSuccess;
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned = 0) {
  ::simt::import::make_wait(::simt::import::on(stream), *event);
  return cudaSuccess;
}

// Devices: exactly one.
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
  int maxTexture1DMipmap, maxTexture2DMipmap[2], maxTexture2DLinear[3], maxTexture2DGather[2], maxTexture3DAlt[3];
  int maxTextureCubemap, maxTexture1DLayered[2], maxTexture2DLayered[3], maxTextureCubemapLayered[2];
  int maxSurface1D, maxSurface2D[2], maxSurface3D[3], maxSurface1DLayered[2], maxSurface2DLayered[3];
  int maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
  struct {
    char bytes[16];
  } uuid;
  char luid[8];
  unsigned luidDeviceNodeMask;
  int globalL1CacheSupported, localL1CacheSupported, computePreemptionSupported, canUseHostPointerForRegisteredMem;
  int cooperativeMultiDeviceLaunch, pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost;
  int accessPolicyMaxWindowSize, singleToDoublePrecisionPerfRatio, hostRegisterSupported, memoryPoolsSupported;
  int hostRegisterReadOnlySupported, clusterLaunch, unifiedFunctionPointers, ipcEventSupported;
  int sparseCudaArraySupported, deferredMappingCudaArraySupported, timelineSemaphoreInteropSupported;
  int gpuDirectRDMASupported;
  unsigned gpuDirectRDMAFlushWritesOptions, memoryPoolSupportedHandleTypes;
  size_t reservedSharedMemPerBlock;
};
// The machine of the launch limits (simt/error.hpp); clocks are 1 kHz, since rates mean nothing here.
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device);

enum cudaComputeMode {
  cudaComputeModeDefault,
  cudaComputeModeExclusive,
  cudaComputeModeProhibited,
  cudaComputeModeExclusiveProcess
};
enum cudaDeviceAttr {
  // clang-format off
  cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrMaxBlockDimX = 2, cudaDevAttrMaxBlockDimY = 3,
  cudaDevAttrMaxBlockDimZ = 4, cudaDevAttrMaxGridDimX = 5, cudaDevAttrMaxGridDimY = 6, cudaDevAttrMaxGridDimZ = 7,
  cudaDevAttrMaxSharedMemoryPerBlock = 8, cudaDevAttrTotalConstantMemory = 9, cudaDevAttrWarpSize = 10,
  cudaDevAttrMaxPitch = 11, cudaDevAttrMaxRegistersPerBlock = 12, cudaDevAttrClockRate = 13,
  cudaDevAttrTextureAlignment = 14, cudaDevAttrGpuOverlap = 15, cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrKernelExecTimeout = 17, cudaDevAttrIntegrated = 18, cudaDevAttrCanMapHostMemory = 19,
  cudaDevAttrComputeMode = 20, cudaDevAttrMaxTexture1DWidth = 21, cudaDevAttrMaxTexture2DWidth = 22,
  cudaDevAttrMaxTexture2DHeight = 23, cudaDevAttrMaxTexture3DWidth = 24, cudaDevAttrMaxTexture3DHeight = 25,
  cudaDevAttrMaxTexture3DDepth = 26, cudaDevAttrMaxTexture2DLayeredWidth = 27,
  cudaDevAttrMaxTexture2DLayeredHeight = 28, cudaDevAttrMaxTexture2DLayeredLayers = 29,
  cudaDevAttrSurfaceAlignment = 30, cudaDevAttrConcurrentKernels = 31, cudaDevAttrEccEnabled = 32,
  cudaDevAttrPciBusId = 33, cudaDevAttrPciDeviceId = 34, cudaDevAttrTccDriver = 35, cudaDevAttrMemoryClockRate = 36,
  cudaDevAttrGlobalMemoryBusWidth = 37, cudaDevAttrL2CacheSize = 38, cudaDevAttrMaxThreadsPerMultiProcessor = 39,
  cudaDevAttrAsyncEngineCount = 40, cudaDevAttrUnifiedAddressing = 41, cudaDevAttrMaxTexture1DLayeredWidth = 42,
  cudaDevAttrMaxTexture1DLayeredLayers = 43, cudaDevAttrMaxTexture2DGatherWidth = 45,
  cudaDevAttrMaxTexture2DGatherHeight = 46, cudaDevAttrMaxTexture3DWidthAlt = 47,
  cudaDevAttrMaxTexture3DHeightAlt = 48, cudaDevAttrMaxTexture3DDepthAlt = 49, cudaDevAttrPciDomainId = 50,
  cudaDevAttrTexturePitchAlignment = 51, cudaDevAttrMaxTextureCubemapWidth = 52,
  cudaDevAttrMaxTextureCubemapLayeredWidth = 53, cudaDevAttrMaxTextureCubemapLayeredLayers = 54,
  cudaDevAttrMaxSurface1DWidth = 55, cudaDevAttrMaxSurface2DWidth = 56, cudaDevAttrMaxSurface2DHeight = 57,
  cudaDevAttrMaxSurface3DWidth = 58, cudaDevAttrMaxSurface3DHeight = 59, cudaDevAttrMaxSurface3DDepth = 60,
  cudaDevAttrMaxSurface1DLayeredWidth = 61, cudaDevAttrMaxSurface1DLayeredLayers = 62,
  cudaDevAttrMaxSurface2DLayeredWidth = 63, cudaDevAttrMaxSurface2DLayeredHeight = 64,
  cudaDevAttrMaxSurface2DLayeredLayers = 65, cudaDevAttrMaxSurfaceCubemapWidth = 66,
  cudaDevAttrMaxSurfaceCubemapLayeredWidth = 67, cudaDevAttrMaxSurfaceCubemapLayeredLayers = 68,
  cudaDevAttrMaxTexture1DLinearWidth = 69, cudaDevAttrMaxTexture2DLinearWidth = 70,
  cudaDevAttrMaxTexture2DLinearHeight = 71, cudaDevAttrMaxTexture2DLinearPitch = 72,
  cudaDevAttrMaxTexture2DMipmappedWidth = 73, cudaDevAttrMaxTexture2DMipmappedHeight = 74,
  cudaDevAttrComputeCapabilityMajor = 75, cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxTexture1DMipmappedWidth = 77, cudaDevAttrStreamPrioritiesSupported = 78,
  cudaDevAttrGlobalL1CacheSupported = 79, cudaDevAttrLocalL1CacheSupported = 80,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81, cudaDevAttrMaxRegistersPerMultiprocessor = 82,
  cudaDevAttrManagedMemory = 83, cudaDevAttrIsMultiGpuBoard = 84, cudaDevAttrMultiGpuBoardGroupID = 85,
  cudaDevAttrHostNativeAtomicSupported = 86, cudaDevAttrSingleToDoublePrecisionPerfRatio = 87,
  cudaDevAttrPageableMemoryAccess = 88, cudaDevAttrConcurrentManagedAccess = 89,
  cudaDevAttrComputePreemptionSupported = 90, cudaDevAttrCanUseHostPointerForRegisteredMem = 91,
  cudaDevAttrCooperativeLaunch = 95, cudaDevAttrCooperativeMultiDeviceLaunch = 96,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97, cudaDevAttrCanFlushRemoteWrites = 98,
  cudaDevAttrHostRegisterSupported = 99, cudaDevAttrPageableMemoryAccessUsesHostPageTables = 100,
  cudaDevAttrDirectManagedMemAccessFromHost = 101, cudaDevAttrMaxBlocksPerMultiprocessor = 106,
  cudaDevAttrMaxPersistingL2CacheSize = 108, cudaDevAttrMaxAccessPolicyWindowSize = 109,
  cudaDevAttrReservedSharedMemoryPerBlock = 111, cudaDevAttrSparseCudaArraySupported = 112,
  cudaDevAttrHostRegisterReadOnlySupported = 113, cudaDevAttrTimelineSemaphoreInteropSupported = 114,
  cudaDevAttrMemoryPoolsSupported = 115, cudaDevAttrGPUDirectRDMASupported = 116,
  cudaDevAttrGPUDirectRDMAFlushWritesOptions = 117, cudaDevAttrGPUDirectRDMAWritesOrdering = 118,
  cudaDevAttrMemoryPoolSupportedHandleTypes = 119, cudaDevAttrClusterLaunch = 120,
  cudaDevAttrDeferredMappingCudaArraySupported = 121, cudaDevAttrIpcEventSupport = 125,
  cudaDevAttrMemSyncDomainCount = 126, cudaDevAttrNumaConfig = 130, cudaDevAttrNumaId = 131,
  cudaDevAttrMpsEnabled = 133, cudaDevAttrHostNumaId = 134, cudaDevAttrD3D12CigSupported = 135,
  cudaDevAttrVulkanCigSupported = 138, cudaDevAttrGpuPciDeviceId = 139, cudaDevAttrGpuPciSubsystemId = 140,
  cudaDevAttrHostNumaMemoryPoolsSupported = 142, cudaDevAttrHostNumaMultinodeIpcSupported = 143,
  cudaDevAttrHostMemoryPoolsSupported = 144, cudaDevAttrOnlyPartialHostNativeAtomicSupported = 147
  // clang-format on
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
inline cudaError_t cudaDeviceReset() {
  ::simt::import::wait_for_all();
  return cudaSuccess;
}
inline cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
inline cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) { return cudaGetDevice(device); }
inline cudaError_t cudaSetValidDevices(int*, int) { return cudaSuccess; }
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
  cudaLimitDevRuntimeSyncDepth,
  cudaLimitDevRuntimePendingLaunchCount,
  cudaLimitMaxL2FetchGranularity,
  cudaLimitPersistingL2CacheSize
};
// A GPU's limits. None is enforced.
inline size_t& simt_limit(cudaLimit limit) {
  static size_t limits[] = {1024, size_t{1} << 20, size_t{8} << 20, 2, 2048, 64, 0};
  return limits[limit];
}
inline cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  simt_limit(limit) = value;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  *value = simt_limit(limit);
  return cudaSuccess;
}
enum cudaMemoryAdvise {
  cudaMemAdviseSetReadMostly = 1,
  cudaMemAdviseUnsetReadMostly,
  cudaMemAdviseSetPreferredLocation,
  cudaMemAdviseUnsetPreferredLocation,
  cudaMemAdviseSetAccessedBy,
  cudaMemAdviseUnsetAccessedBy
};
inline cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, int) { return cudaSuccess; }
#define cudaCpuDeviceId (-1)
#define cudaInvalidDeviceId (-2)
inline cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t = nullptr) { return cudaSuccess; }
#define cudaMemAttachGlobal 1
#define cudaHostAllocDefault 0
#define cudaHostAllocMapped 2
