// Implementation of cuda.h: tensor maps, and the part of the driver API that programs call beside the runtime. There is
// one device and one context.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simt/import/devices.hpp"
#include "simt/import/driver_numbers.hpp"
#include "simt/import/launch_functions.hpp"
#include "simt/tensor_map.hpp"

using cuuint32_t = uint32_t;
using cuuint64_t = uint64_t;

enum cudaError_enum {
#define SIMT_ERROR(name, number) CUDA_##name = number,
  SIMT_DRIVER_ERRORS(SIMT_ERROR)
#undef SIMT_ERROR
};
using CUresult = cudaError_enum;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUstream = cudaStream_t;
using CUevent = cudaEvent_t;
using CUhostFn = cudaHostFn_t;
#define CUDA_CB
#define CUDAAPI
#define CUDA_VERSION 12080

struct alignas(64) CUtensorMap {
  cuuint64_t opaque[16];
};

namespace simt::import {

inline const tensor_map* tensor_map_of(const CUtensorMap* map) { return reinterpret_cast<const tensor_map*>(map); }
constexpr tensor_reduction k_plain_store = tensor_reduction::none;

}  // namespace simt::import

enum CUtensorMapDataType {
  CU_TENSOR_MAP_DATA_TYPE_UINT8,
  CU_TENSOR_MAP_DATA_TYPE_UINT16,
  CU_TENSOR_MAP_DATA_TYPE_UINT32,
  CU_TENSOR_MAP_DATA_TYPE_INT32,
  CU_TENSOR_MAP_DATA_TYPE_UINT64,
  CU_TENSOR_MAP_DATA_TYPE_INT64,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
  CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
  CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
  CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ,
  CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B,
  CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B,
  CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B
};
enum CUtensorMapInterleave {
  CU_TENSOR_MAP_INTERLEAVE_NONE,
  CU_TENSOR_MAP_INTERLEAVE_16B,
  CU_TENSOR_MAP_INTERLEAVE_32B
};
enum CUtensorMapSwizzle {
  CU_TENSOR_MAP_SWIZZLE_NONE,
  CU_TENSOR_MAP_SWIZZLE_32B,
  CU_TENSOR_MAP_SWIZZLE_64B,
  CU_TENSOR_MAP_SWIZZLE_128B,
  CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B,
  CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B,
  CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B
};
enum CUtensorMapL2promotion {
  CU_TENSOR_MAP_L2_PROMOTION_NONE,
  CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
  CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
  CU_TENSOR_MAP_L2_PROMOTION_L2_256B
};
enum CUtensorMapFloatOOBfill { CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA };

// A violated rule is reported with the line of the call, as a misuse of the API. The parameters are exactly the
// driver's, because programs call these functions through pointers.
CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle pattern,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);
CUresult cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                 const cuuint64_t* sizes, const cuuint64_t* strides, const int* lower, const int* upper,
                                 cuuint32_t channels, cuuint32_t pixels, const cuuint32_t* steps,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle pattern,
                                 CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);
CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address);
CUresult cuGetErrorName(CUresult e, const char** name);
CUresult cuGetErrorString(CUresult e, const char** text);

inline CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
inline CUresult cuDriverGetVersion(int* version) { return static_cast<CUresult>(cudaDriverGetVersion(version)); }
inline CUresult cuDeviceGetCount(int* count) { return *count = 1, CUDA_SUCCESS; }
inline CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetName(char* name, int bytes, CUdevice device);
// The numbers are those of the runtime's attributes.
enum CUdevice_attribute {
#define SIMT_ATTRIBUTE(name, number) CU_DEVICE_ATTRIBUTE_##name = number,
  SIMT_DEVICE_ATTRIBUTES(SIMT_ATTRIBUTE)
#undef SIMT_ATTRIBUTE
};
inline CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: return *value = 1, CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED: return *value = 0, CUDA_SUCCESS;
    default: break;
  }
  return static_cast<CUresult>(cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device));
}
inline CUresult cuDeviceTotalMem(size_t* bytes, CUdevice) {
  size_t free_bytes = 0;
  return static_cast<CUresult>(cudaMemGetInfo(&free_bytes, bytes));
}
inline CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  cuDeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  return cuDeviceGetAttribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
}

// The context: it exists from the start, and settings of it have no effect.
enum CUctx_flags {
  CU_CTX_SCHED_AUTO = 0,
  CU_CTX_SCHED_SPIN = 1,
  CU_CTX_SCHED_YIELD = 2,
  CU_CTX_SCHED_BLOCKING_SYNC = 4,
  CU_CTX_BLOCKING_SYNC = 4,
  CU_CTX_MAP_HOST = 8,
  CU_CTX_LMEM_RESIZE_TO_MAX = 16,
  CU_CTX_SCHED_MASK = 7
};
struct CUctx_st {};
struct CUctxCreateParams;
inline CUresult cuCtxGetCurrent(CUcontext* context) {
  static CUctx_st only;
  return *context = &only, CUDA_SUCCESS;
}
inline CUresult cuCtxCreate(CUcontext* context, unsigned, CUdevice) { return cuCtxGetCurrent(context); }
inline CUresult cuCtxCreate(CUcontext* context, CUctxCreateParams*, unsigned, CUdevice) {
  return cuCtxGetCurrent(context);
}
inline CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) { return cuCtxGetCurrent(context); }
inline CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
inline CUresult cuDevicePrimaryCtxReset(CUdevice) { return CUDA_SUCCESS; }
inline CUresult cuDevicePrimaryCtxSetFlags(CUdevice, unsigned) { return CUDA_SUCCESS; }
inline CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
inline CUresult cuCtxPushCurrent(CUcontext) { return CUDA_SUCCESS; }
inline CUresult cuCtxPopCurrent(CUcontext* context) {
  return context == nullptr ? CUDA_SUCCESS : cuCtxGetCurrent(context);
}
inline CUresult cuCtxGetDevice(CUdevice* device) { return *device = 0, CUDA_SUCCESS; }
inline CUresult cuCtxDestroy(CUcontext) { return CUDA_SUCCESS; }
inline CUresult cuCtxDetach(CUcontext) { return CUDA_SUCCESS; }
inline CUresult cuCtxSynchronize() { return static_cast<CUresult>(cudaDeviceSynchronize()); }
enum CUlimit {
  CU_LIMIT_STACK_SIZE,
  CU_LIMIT_PRINTF_FIFO_SIZE,
  CU_LIMIT_MALLOC_HEAP_SIZE,
  CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH,
  CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT,
  CU_LIMIT_MAX_L2_FETCH_GRANULARITY,
  CU_LIMIT_PERSISTING_L2_CACHE_SIZE
};
inline CUresult cuCtxSetLimit(CUlimit, size_t) { return CUDA_SUCCESS; }
enum CUfunc_cache {
  CU_FUNC_CACHE_PREFER_NONE,
  CU_FUNC_CACHE_PREFER_SHARED,
  CU_FUNC_CACHE_PREFER_L1,
  CU_FUNC_CACHE_PREFER_EQUAL
};
inline CUresult cuCtxSetCacheConfig(CUfunc_cache) { return CUDA_SUCCESS; }

inline CUresult cuMemAlloc(CUdeviceptr* p, size_t bytes, SIMT_SITE) {
  void* memory = nullptr;
  const cudaError_t e = cudaMalloc(&memory, bytes, site);
  *p = reinterpret_cast<CUdeviceptr>(memory);
  return static_cast<CUresult>(e);
}
inline CUresult cuMemGetAddressRange(CUdeviceptr* base, size_t* bytes, CUdeviceptr p) {
  const auto* found = ::simt::import::find_allocation(reinterpret_cast<const void*>(p));
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (base != nullptr) *base = reinterpret_cast<CUdeviceptr>(found->first);
  if (bytes != nullptr) *bytes = found->second.bytes;
  return CUDA_SUCCESS;
}
inline CUresult cuMemFree(CUdeviceptr p, SIMT_SITE) {
  return static_cast<CUresult>(cudaFree(reinterpret_cast<void*>(p), site));
}
inline CUresult cuMemAllocAsync(CUdeviceptr* p, size_t bytes, CUstream stream, SIMT_SITE) {
  void* memory = nullptr;
  const cudaError_t e = cudaMallocAsync(&memory, bytes, stream, site);
  *p = reinterpret_cast<CUdeviceptr>(memory);
  return static_cast<CUresult>(e);
}
inline CUresult cuMemFreeAsync(CUdeviceptr p, CUstream stream, SIMT_SITE) {
  return static_cast<CUresult>(cudaFreeAsync(reinterpret_cast<void*>(p), stream, site));
}
enum CUmemAttach_flags { CU_MEM_ATTACH_GLOBAL = 1, CU_MEM_ATTACH_HOST = 2, CU_MEM_ATTACH_SINGLE = 4 };
inline CUresult cuMemAllocManaged(CUdeviceptr* p, size_t bytes, unsigned flags, SIMT_SITE) {
  void* memory = nullptr;
  const cudaError_t e = cudaMallocManaged(&memory, bytes, flags, site);
  *p = reinterpret_cast<CUdeviceptr>(memory);
  return static_cast<CUresult>(e);
}
inline CUresult cuMemAllocPitch(CUdeviceptr* p, size_t* pitch, size_t width, size_t height, unsigned, SIMT_SITE) {
  void* memory = nullptr;
  const cudaError_t e = cudaMallocPitch(&memory, pitch, width, height, site);
  *p = reinterpret_cast<CUdeviceptr>(memory);
  return static_cast<CUresult>(e);
}
#define CU_MEMHOSTALLOC_PORTABLE 1
#define CU_MEMHOSTALLOC_DEVICEMAP 2
#define CU_MEMHOSTALLOC_WRITECOMBINED 4
#define CU_MEMHOSTREGISTER_PORTABLE 1
#define CU_MEMHOSTREGISTER_DEVICEMAP 2
inline CUresult cuMemAllocHost(void** p, size_t bytes, SIMT_SITE) {
  return static_cast<CUresult>(cudaMallocHost(p, bytes, 0, site));
}
inline CUresult cuMemHostAlloc(void** p, size_t bytes, unsigned flags, SIMT_SITE) {
  return static_cast<CUresult>(cudaHostAlloc(p, bytes, flags, site));
}
inline CUresult cuMemHostGetDevicePointer(CUdeviceptr* device, void* host, unsigned) {
  return *device = reinterpret_cast<CUdeviceptr>(host), CUDA_SUCCESS;
}
inline CUresult cuMemFreeHost(void* p, SIMT_SITE) { return static_cast<CUresult>(cudaFreeHost(p, site)); }
inline CUresult cuMemHostRegister(void* p, size_t bytes, unsigned flags, SIMT_SITE) {
  return static_cast<CUresult>(cudaHostRegister(p, bytes, flags, site));
}
inline CUresult cuMemHostUnregister(void* p, SIMT_SITE) { return static_cast<CUresult>(cudaHostUnregister(p, site)); }
inline CUresult cuMemGetInfo(size_t* free_bytes, size_t* total) {
  return static_cast<CUresult>(cudaMemGetInfo(free_bytes, total));
}
namespace simt::import {

// Sets n elements to one value: in one call if all bytes of the value are equal, otherwise byte by byte.
template <class Element>
CUresult set_elements(const stream_call& call, bool is_async, CUdeviceptr to, Element value, size_t n) {
  char* const first = reinterpret_cast<char*>(to);
  const int lowest = value & 255;
  if (value == static_cast<Element>(lowest * 0x01010101u))
    return static_cast<CUresult>(set_in(call, is_async, first, lowest, n * sizeof value));
  cudaError_t result = cudaSuccess;
  for (size_t i = 0; i < sizeof value && result == cudaSuccess; ++i)
    result = set_in(call, is_async, first + i, value >> 8 * i & 255, 1, n, sizeof value);
  return static_cast<CUresult>(result);
}

}  // namespace simt::import

inline CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t n, SIMT_SITE) {
  return ::simt::import::set_elements({"cuMemsetD8", site, ::simt::import::on(nullptr)}, false, to, value, n);
}
inline CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, CUstream stream, SIMT_SITE) {
  return ::simt::import::set_elements({"cuMemsetD8Async", site, ::simt::import::on(stream)}, true, to, value, n);
}
inline CUresult cuMemsetD16(CUdeviceptr to, unsigned short value, size_t n, SIMT_SITE) {
  return ::simt::import::set_elements({"cuMemsetD16", site, ::simt::import::on(nullptr)}, false, to, value, n);
}
inline CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t n, CUstream stream, SIMT_SITE) {
  return ::simt::import::set_elements({"cuMemsetD16Async", site, ::simt::import::on(stream)}, true, to, value, n);
}
inline CUresult cuMemsetD32(CUdeviceptr to, unsigned value, size_t n, SIMT_SITE) {
  return ::simt::import::set_elements({"cuMemsetD32", site, ::simt::import::on(nullptr)}, false, to, value, n);
}
inline CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t n, CUstream stream, SIMT_SITE) {
  return ::simt::import::set_elements({"cuMemsetD32Async", site, ::simt::import::on(stream)}, true, to, value, n);
}
inline CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes, SIMT_SITE) {
  return static_cast<CUresult>(cudaMemcpy(reinterpret_cast<void*>(to), from, bytes, cudaMemcpyHostToDevice, site));
}
inline CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes, SIMT_SITE) {
  return static_cast<CUresult>(cudaMemcpy(to, reinterpret_cast<void*>(from), bytes, cudaMemcpyDeviceToHost, site));
}
inline CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes, SIMT_SITE) {
  return static_cast<CUresult>(
      cudaMemcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes, cudaMemcpyDeviceToDevice, site));
}
inline CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes, SIMT_SITE) {
  return static_cast<CUresult>(
      cudaMemcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes, cudaMemcpyDefault, site));
}
inline CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream, SIMT_SITE) {
  return static_cast<CUresult>(
      cudaMemcpyAsync(reinterpret_cast<void*>(to), from, bytes, cudaMemcpyHostToDevice, stream, site));
}
inline CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream, SIMT_SITE) {
  return static_cast<CUresult>(
      cudaMemcpyAsync(to, reinterpret_cast<void*>(from), bytes, cudaMemcpyDeviceToHost, stream, site));
}
inline CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream, SIMT_SITE) {
  return static_cast<CUresult>(cudaMemcpyAsync(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes,
                                               cudaMemcpyDeviceToDevice, stream, site));
}
inline CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream, SIMT_SITE) {
  return static_cast<CUresult>(cudaMemcpyAsync(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes,
                                               cudaMemcpyDefault, stream, site));
}

// Streams and events.
enum CUstream_flags { CU_STREAM_DEFAULT = 0, CU_STREAM_NON_BLOCKING = 1 };
enum CUevent_flags {
  CU_EVENT_DEFAULT = 0,
  CU_EVENT_BLOCKING_SYNC = 1,
  CU_EVENT_DISABLE_TIMING = 2,
  CU_EVENT_INTERPROCESS = 4
};
#define CU_STREAM_LEGACY cudaStreamLegacy
#define CU_STREAM_PER_THREAD cudaStreamPerThread
inline CUresult cuStreamCreate(CUstream* stream, unsigned flags, SIMT_SITE) {
  return static_cast<CUresult>(cudaStreamCreateWithFlags(stream, flags, site));
}
inline CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority, SIMT_SITE) {
  return static_cast<CUresult>(cudaStreamCreateWithPriority(stream, flags, priority, site));
}
inline CUresult cuStreamDestroy(CUstream stream) { return static_cast<CUresult>(cudaStreamDestroy(stream)); }
inline CUresult cuStreamSynchronize(CUstream stream) { return static_cast<CUresult>(cudaStreamSynchronize(stream)); }
inline CUresult cuStreamQuery(CUstream stream) { return static_cast<CUresult>(cudaStreamQuery(stream)); }
inline CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return static_cast<CUresult>(cudaStreamWaitEvent(stream, event, flags));
}
inline CUresult cuLaunchHostFunc(CUstream stream, CUhostFn f, void* data, SIMT_SITE) {
  return static_cast<CUresult>(cudaLaunchHostFunc(stream, f, data, site));
}
inline CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return static_cast<CUresult>(cudaEventCreateWithFlags(event, flags));
}
inline CUresult cuEventDestroy(CUevent event) { return static_cast<CUresult>(cudaEventDestroy(event)); }
inline CUresult cuEventRecord(CUevent event, CUstream stream) {
  return static_cast<CUresult>(cudaEventRecord(event, stream));
}
inline CUresult cuEventSynchronize(CUevent event) { return static_cast<CUresult>(cudaEventSynchronize(event)); }
inline CUresult cuEventQuery(CUevent event) { return static_cast<CUresult>(cudaEventQuery(event)); }
inline CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end, SIMT_SITE) {
  return static_cast<CUresult>(cudaEventElapsedTime(milliseconds, begin, end, site));
}
