// The CUDA runtime API for other devices, memory pools, registered host memory, callbacks and kernels. There is one
// device, and all memory that the API allocates is device memory.
#pragma once

#include "simt/import/runtime.hpp"

#define CUDART_CB

// There are no other devices: a question about a pair of devices is answered with "no access to each other".
enum cudaDeviceP2PAttr {
  cudaDevP2PAttrPerformanceRank = 1,
  cudaDevP2PAttrAccessSupported,
  cudaDevP2PAttrNativeAtomicSupported,
  cudaDevP2PAttrCudaArrayAccessSupported
};
inline cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr, int, int) {
  *value = 0;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  return ::simt::import::returned(cudaErrorInvalidDevice);
}
inline cudaError_t cudaDeviceDisablePeerAccess(int) { return ::simt::import::returned(cudaErrorInvalidDevice); }
inline cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes, SIMT_SITE) {
  return ::simt::import::copy_in({"cudaMemcpyPeer", site, ::simt::import::on(nullptr)},
                                 {to, from, bytes, cudaMemcpyDeviceToDevice});
}
inline cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes,
                                       cudaStream_t stream = nullptr, SIMT_SITE) {
  return ::simt::import::copy_async_in({"cudaMemcpyPeerAsync", site, ::simt::import::on(stream)},
                                       {to, from, bytes, cudaMemcpyDeviceToDevice});
}

#define cudaDeviceScheduleAuto 0
#define cudaDeviceScheduleSpin 1
#define cudaDeviceScheduleYield 2
#define cudaDeviceScheduleBlockingSync 4
#define cudaDeviceBlockingSync 4
#define cudaDeviceMapHost 8
inline cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
inline cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = *greatest = 0;
  return cudaSuccess;
}
inline cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  *priority = ::simt::import::priority_of(::simt::import::on(stream));
  return cudaSuccess;
}

// Attributes of a stream for caches and the order of launches. None changes a result.
enum cudaAccessProperty {
  cudaAccessPropertyNormal = 0,
  cudaAccessPropertyStreaming = 1,
  cudaAccessPropertyPersisting = 2
};
struct cudaAccessPolicyWindow {
  void* base_ptr;
  size_t num_bytes;
  float hitRatio;
  cudaAccessProperty hitProp, missProp;
};
enum cudaStreamAttrID {
  cudaStreamAttributeAccessPolicyWindow = 1,
  cudaStreamAttributeSynchronizationPolicy = 3,
  cudaStreamAttributePriority = 8
};
union cudaStreamAttrValue {
  cudaAccessPolicyWindow accessPolicyWindow;
  int syncPolicy, priority;
};
inline cudaError_t cudaStreamSetAttribute(cudaStream_t, cudaStreamAttrID, const cudaStreamAttrValue*) {
  return cudaSuccess;
}
inline cudaError_t cudaStreamGetAttribute(cudaStream_t, cudaStreamAttrID, cudaStreamAttrValue* value) {
  *value = {};
  return cudaSuccess;
}
inline cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }
inline cudaError_t cudaStreamGetDevice(cudaStream_t, int* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  *id = reinterpret_cast<uintptr_t>(stream);
  return cudaSuccess;
}

// The only device, by its place on the bus.
inline cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int) {
  if (length < 13) return ::simt::import::returned(cudaErrorInvalidValue);
  __builtin_strcpy(id, "0000:00:00.0");
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetByPCIBusId(int* device, const char*) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaInitDevice(int, unsigned, unsigned) { return cudaSuccess; }
inline cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  *flags = cudaDeviceMapHost;
  return cudaSuccess;
}
inline cudaError_t cudaHostGetFlags(unsigned* flags, void*) {
  *flags = cudaHostAllocMapped;
  return cudaSuccess;
}

// Registered host memory stays in the host's address space.
#define cudaHostAllocPortable 1
#define cudaHostAllocWriteCombined 4
#define cudaHostRegisterDefault 0
#define cudaHostRegisterPortable 1
#define cudaHostRegisterMapped 2
#define cudaHostRegisterIoMemory 4
#define cudaHostRegisterReadOnly 8
inline cudaError_t cudaHostRegister(void* p, size_t bytes, unsigned, SIMT_SITE) {
  ::simt::import::the_program().registered[static_cast<char*>(p)] = bytes;
  (void)site;
  return cudaSuccess;
}
inline cudaError_t cudaHostUnregister(void* p, SIMT_SITE) {
  ::simt::import::wait_for_all();
  if (::simt::import::the_program().registered.erase(static_cast<char*>(p)) == 0)
    return ::simt::import::misuse("cudaHostUnregister", site, "the pointer was never registered");
  return cudaSuccess;
}

// The place of managed memory, and hints about it: these have no effect.
#define cudaMemAttachHost 2
#define cudaMemAttachSingle 4
inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void*, size_t = 0, unsigned = 4) { return cudaSuccess; }
enum cudaMemLocationType {
  cudaMemLocationTypeInvalid,
  cudaMemLocationTypeDevice,
  cudaMemLocationTypeHost,
  cudaMemLocationTypeHostNuma,
  cudaMemLocationTypeHostNumaCurrent
};
struct cudaMemLocation {
  cudaMemLocationType type;
  int id;
};
inline cudaError_t cudaMemPrefetchAsync(const void*, size_t, cudaMemLocation, unsigned, cudaStream_t = nullptr) {
  return cudaSuccess;
}
inline cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, cudaMemLocation) { return cudaSuccess; }

// There is one memory pool; its attributes have no effect.
struct simt_memory_pool {};
using cudaMemPool_t = simt_memory_pool*;
enum cudaMemPoolAttr {
  cudaMemPoolReuseFollowEventDependencies = 1,
  cudaMemPoolReuseAllowOpportunistic,
  cudaMemPoolReuseAllowInternalDependencies,
  cudaMemPoolAttrReleaseThreshold,
  cudaMemPoolAttrReservedMemCurrent,
  cudaMemPoolAttrReservedMemHigh,
  cudaMemPoolAttrUsedMemCurrent,
  cudaMemPoolAttrUsedMemHigh
};
inline cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  static simt_memory_pool only;
  *pool = &only;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return cudaDeviceGetDefaultMemPool(pool, device);
}
inline cudaError_t cudaDeviceSetMemPool(int, cudaMemPool_t) { return cudaSuccess; }
inline cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
inline cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute, void* value) {
  if (attribute < cudaMemPoolAttrReleaseThreshold) return *static_cast<int*>(value) = 1, cudaSuccess;
  return *static_cast<uint64_t*>(value) = 0, cudaSuccess;
}
inline cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }
inline cudaError_t cudaMemPoolDestroy(cudaMemPool_t) { return cudaSuccess; }
template <class T>
cudaError_t cudaMallocFromPoolAsync(T** p, size_t bytes, cudaMemPool_t, cudaStream_t stream, SIMT_SITE) {
  return cudaMallocAsync(p, bytes, stream, site);
}
enum cudaMemRangeAttribute {
  cudaMemRangeAttributeReadMostly = 1,
  cudaMemRangeAttributePreferredLocation,
  cudaMemRangeAttributeAccessedBy,
  cudaMemRangeAttributeLastPrefetchLocation
};
// No hint has an effect: managed memory prefers no place (cudaInvalidDeviceId).
inline cudaError_t cudaMemRangeGetAttribute(void* data, size_t bytes, cudaMemRangeAttribute attribute, const void*,
                                            size_t) {
  for (size_t i = 0; i < bytes / sizeof(int); ++i)
    static_cast<int*>(data)[i] = attribute == cudaMemRangeAttributeReadMostly ? 0 : -2;
  return cudaSuccess;
}

enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice, cudaMemoryTypeManaged };
struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
  void *devicePointer, *hostPointer;
};
inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* a, const void* p) {
  const auto* found = ::simt::import::find_allocation(p);
  void* const pointer = const_cast<void*>(p);
  *a = {cudaMemoryTypeUnregistered, 0, nullptr, pointer};
  if (found != nullptr)
    *a = {found->second.host_too ? cudaMemoryTypeManaged : cudaMemoryTypeDevice, 0, pointer,
          found->second.host_too ? pointer : nullptr};
  return cudaSuccess;
}

// Volumes: slices of `ysize` rows of `pitch` bytes.
struct cudaExtent {
  size_t width, height, depth;
};
struct cudaPos {
  size_t x, y, z;
};
struct cudaPitchedPtr {
  void* ptr;
  size_t pitch, xsize, ysize;
};
inline cudaExtent make_cudaExtent(size_t w, size_t h, size_t d) { return {w, h, d}; }
inline cudaPos make_cudaPos(size_t x, size_t y, size_t z) { return {x, y, z}; }
inline cudaPitchedPtr make_cudaPitchedPtr(void* p, size_t pitch, size_t x, size_t y) { return {p, pitch, x, y}; }
inline cudaError_t cudaMalloc3D(cudaPitchedPtr* p, cudaExtent e, SIMT_SITE) {
  *p = {nullptr, (e.width + 511) / 512 * 512, e.width, e.height};
  return cudaMalloc(&p->ptr, p->pitch * e.height * e.depth, site);
}
inline cudaError_t cudaMemset3D(cudaPitchedPtr p, int byte, cudaExtent e, SIMT_SITE) {
  for (size_t z = 0; z < e.depth; ++z) {
    char* const slice = static_cast<char*>(p.ptr) + z * p.pitch * p.ysize;
    const cudaError_t error = ::simt::import::set_in({"cudaMemset3D", site, ::simt::import::on(nullptr)}, false, slice,
                                                     byte, e.width, e.height, p.pitch);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

// Host functions in a stream run in the order of the calls, or of the graph that is being captured.
using cudaHostFn_t = void (*)(void*);
using cudaStreamCallback_t = void (*)(cudaStream_t, cudaError_t, void*);
inline cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t f, void* data, SIMT_SITE) {
  ::simt::import::host_chooses(::simt::import::k_host_function);
  ::simt::import::enqueue({"cudaLaunchHostFunc", site, ::simt::import::on(stream), true}, [=] { f(data); });
  return cudaSuccess;
}
inline cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t f, void* data, unsigned, SIMT_SITE) {
  ::simt::import::host_chooses(::simt::import::k_host_function);
  ::simt::import::enqueue({"cudaStreamAddCallback", site, ::simt::import::on(stream), true},
                          [=] { f(stream, cudaSuccess, data); });
  return cudaSuccess;
}

// Functions.
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
  cudaFuncAttributeClusterDimMustBeSet = 10,
  cudaFuncAttributeRequiredClusterWidth,
  cudaFuncAttributeRequiredClusterHeight,
  cudaFuncAttributeRequiredClusterDepth,
  cudaFuncAttributeNonPortableClusterSizeAllowed = 14,
  cudaFuncAttributeClusterSchedulingPolicyPreference = 15,
  cudaFuncAttributeMax = 16
};
enum cudaClusterSchedulingPolicy {
  cudaClusterSchedulingPolicyDefault,
  cudaClusterSchedulingPolicySpread,
  cudaClusterSchedulingPolicyLoadBalancing
};
enum cudaFuncCache {
  cudaFuncCachePreferNone,
  cudaFuncCachePreferShared,
  cudaFuncCachePreferL1,
  cudaFuncCachePreferEqual
};
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || static_cast<size_t>(value) > ::simt::machine_limits{}.shared_bytes)
    return ::simt::import::returned(cudaErrorInvalidValue);
  ::simt::import::the_program().dynamic_limit[reinterpret_cast<const void*>(kernel)] = value;
  return cudaSuccess;
}
// Registers, spills and static shared memory are 0: only a compiler for a GPU knows them.
struct cudaFuncAttributes {
  size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes;
};
template <class Kernel>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, Kernel*) {
  *a = {};
  a->maxThreadsPerBlock = static_cast<int>(::simt::machine_limits{}.threads_per_block);
  a->ptxVersion = a->binaryVersion = 80;
  a->maxDynamicSharedSizeBytes = static_cast<int>(::simt::machine_limits{}.static_shared_bytes);
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetCacheConfig(Kernel*, cudaFuncCache) {
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
inline cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  *config = cudaFuncCachePreferNone;
  return cudaSuccess;
}
// The width of shared memory's banks and its share of the L1 cache do not change results.
enum cudaSharedMemConfig {
  cudaSharedMemBankSizeDefault,
  cudaSharedMemBankSizeFourByte,
  cudaSharedMemBankSizeEightByte
};
enum cudaSharedCarveout {
  cudaSharedmemCarveoutDefault = -1,
  cudaSharedmemCarveoutMaxL1 = 0,
  cudaSharedmemCarveoutMaxShared = 100
};
inline cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
inline cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  *config = cudaSharedMemBankSizeFourByte;
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetSharedMemConfig(Kernel*, cudaSharedMemConfig) {
  return cudaSuccess;
}
constexpr unsigned cudaOccupancyDefault = 0, cudaOccupancyDisableCachingOverride = 1;
template <class Kernel>
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, Kernel*, int blocks, int) {
  *bytes = ::simt::machine_limits{}.shared_bytes / static_cast<size_t>(blocks > 0 ? blocks : 1);
  return cudaSuccess;
}
// Occupancy is not modelled: 2 blocks per multiprocessor, blocks of 256 threads, or of whole warps within a limit.
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, Kernel*, int, size_t, unsigned) {
  *blocks = 2;
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel* kernel, int threads, size_t bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, bytes, cudaOccupancyDefault);
}
// `bytes` may be a function of the size of the block.
template <class Kernel, class Bytes>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(int* grid, int* block, Kernel*, Bytes, int limit,
                                                                    unsigned) {
  const int most = limit > 0 && limit < 256 ? limit : 256;
  *block = most < 32 ? most : most - most % 32;
  *grid = 2 * ::simt::device_properties(::simt::import::the_program().current).sm_count;
  return cudaSuccess;
}
template <class Kernel, class Bytes>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* grid, int* block, Kernel* kernel, Bytes bytes,
                                                           int limit = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(grid, block, kernel, bytes, limit, 0);
}
template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, Kernel* kernel, size_t bytes = 0,
                                                        int limit = 0, unsigned flags = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(grid, block, kernel, bytes, limit, flags);
}
template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, Kernel* kernel, size_t bytes = 0, int limit = 0) {
  return cudaOccupancyMaxPotentialBlockSizeWithFlags(grid, block, kernel, bytes, limit);
}

// Functions of the driver API by their names.
enum cudaDriverEntryPointQueryResult {
  cudaDriverEntryPointSuccess,
  cudaDriverEntryPointSymbolNotFound,
  cudaDriverEntryPointVersionNotSufficent
};
#define cudaEnableDefault 0x0
#define cudaEnableLegacyStream 0x1
#define cudaEnablePerThreadDefaultStream 0x2
// Finds the functions of cuda.h that are compiled once (driver.cpp); for others the result is
// cudaDriverEntryPointSymbolNotFound.
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* result = nullptr);
inline cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                                    unsigned long long flags,
                                                    cudaDriverEntryPointQueryResult* result = nullptr) {
  return cudaGetDriverEntryPoint(symbol, function, flags, result);
}

// Sources may contain these calls. The first one that runs ends the program with the function's name.
#define SIMT_NOT_MODELLED(Result, name, ...) \
  inline Result name(__VA_ARGS__, SIMT_SITE) { ::simt::import::not_modelled("the function", #name, site); }
struct cudaIpcMemHandle_t {
  char reserved[64];
};
struct cudaIpcEventHandle_t {
  char reserved[64];
};
constexpr unsigned cudaIpcMemLazyEnablePeerAccess = 1;
SIMT_NOT_MODELLED(cudaError_t, cudaIpcGetMemHandle, cudaIpcMemHandle_t*, void*)
SIMT_NOT_MODELLED(cudaError_t, cudaIpcOpenMemHandle, void**, cudaIpcMemHandle_t, unsigned)
SIMT_NOT_MODELLED(cudaError_t, cudaIpcCloseMemHandle, void*)
SIMT_NOT_MODELLED(cudaError_t, cudaIpcGetEventHandle, cudaIpcEventHandle_t*, cudaEvent_t)
SIMT_NOT_MODELLED(cudaError_t, cudaIpcOpenEventHandle, cudaEvent_t*, cudaIpcEventHandle_t)
