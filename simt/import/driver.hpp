// Implementation of cuda.h: tensor maps, and the part of the driver API that programs call beside the runtime. There is
// one device and one context.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simt/import/devices.hpp"
#include "simt/import/launch_functions.hpp"
#include "simt/tensor_map.hpp"

using cuuint32_t = uint32_t;
using cuuint64_t = uint64_t;

enum cudaError_enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_UNKNOWN = 999
};
using CUresult = cudaError_enum;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUstream = cudaStream_t;
using CUlaunchAttribute = cudaLaunchAttribute;

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
// Ends the program: maps of this kind are not modelled.
inline CUresult cuTensorMapEncodeIm2col(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                        const cuuint64_t*, const int*, const int*, cuuint32_t, cuuint32_t,
                                        const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                        CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  ::simt::import::not_modelled("the driver's function", "cuTensorMapEncodeIm2col", {"the host's code", 0});
}
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
// The numbers are those of the runtime's attributes. The emulated device does not support manual mapping of memory.
enum CUdevice_attribute {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
  CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
  CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103,
  CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED = 132
};
inline CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED: return *value = 0, CUDA_SUCCESS;
    default: break;
  }
  return static_cast<CUresult>(cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device));
}
inline CUresult cuCtxCreate(CUcontext* context, unsigned, CUdevice) { return *context = nullptr, CUDA_SUCCESS; }
inline CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) { return *context = nullptr, CUDA_SUCCESS; }
inline CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
inline CUresult cuCtxGetCurrent(CUcontext* context) { return *context = nullptr, CUDA_SUCCESS; }
inline CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
inline CUresult cuCtxDestroy(CUcontext) { return CUDA_SUCCESS; }
inline CUresult cuCtxSynchronize() { return static_cast<CUresult>(cudaDeviceSynchronize()); }

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
