// The part of cuda.h for memory that is mapped manually, shared between processes, or written by several devices at
// once. The first call of the last two kinds that runs ends the program with the function's name.
#pragma once

#include <cstddef>
#include <map>

#include "simt/import/driver.hpp"

using CUmemGenericAllocationHandle = unsigned long long;
enum CUmemAllocationHandleType {
  CU_MEM_HANDLE_TYPE_NONE = 0,
  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1,
  CU_MEM_HANDLE_TYPE_FABRIC = 8
};
enum CUmemLocationType { CU_MEM_LOCATION_TYPE_INVALID, CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_LOCATION_TYPE_HOST };
enum CUmemAllocationType { CU_MEM_ALLOCATION_TYPE_INVALID, CU_MEM_ALLOCATION_TYPE_PINNED };
enum CUmemAccess_flags {
  CU_MEM_ACCESS_FLAGS_PROT_NONE = 0,
  CU_MEM_ACCESS_FLAGS_PROT_READ = 1,
  CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3
};
enum CUmemAllocationGranularity_flags { CU_MEM_ALLOC_GRANULARITY_MINIMUM, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED };
enum CUmulticastGranularity_flags { CU_MULTICAST_GRANULARITY_MINIMUM, CU_MULTICAST_GRANULARITY_RECOMMENDED };
struct CUmemLocation {
  CUmemLocationType type;
  int id;
};
struct CUmemAllocationProp {
  CUmemAllocationType type;
  CUmemAllocationHandleType requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  struct {
    unsigned char compressionType, gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
  } allocFlags;
};
struct CUmemAccessDesc {
  CUmemLocation location;
  CUmemAccess_flags flags;
};
struct CUmulticastObjectProp {
  unsigned numDevices;
  size_t size;
  unsigned long long handleTypes, flags;
};

namespace simt::import {

// Physical memory, in one place at a time; and the address space that it may be mapped to, which is one allocation: an
// access of a part that nothing is mapped to is found only if it reads.
struct physical_memory {
  size_t bytes = 0;
  CUdeviceptr at = 0;  // 0: not mapped
};
struct virtual_memory {
  std::map<CUmemGenericAllocationHandle, physical_memory> physical;
  std::map<CUdeviceptr, size_t> reserved;
  CUmemGenericAllocationHandle last = 0;
  static constexpr size_t k_granularity = size_t{2} << 20;

  static bool is_whole(size_t bytes) { return bytes > 0 && bytes % k_granularity == 0; }
  bool is_reserved(CUdeviceptr p, size_t bytes) const {
    auto at = reserved.upper_bound(p);
    return at != reserved.begin() && p + bytes <= (--at)->first + at->second;
  }
  // Bytes of [p, p + bytes) that memory is mapped to.
  size_t mapped(CUdeviceptr p, size_t bytes) const {
    size_t sum = 0;
    for (const auto& [handle, m] : physical)
      if (m.at >= p && m.at != 0 && m.at + m.bytes <= p + bytes) sum += m.bytes;
    return sum;
  }
};
inline virtual_memory& the_virtual_memory() {
  static virtual_memory one;
  return one;
}
inline CUresult wrong_mapping(const char* function, const site& where, const char* text) {
  return static_cast<CUresult>(misuse(function, where, text));
}

}  // namespace simt::import

inline CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp*,
                                              CUmemAllocationGranularity_flags) {
  return *bytes = ::simt::import::virtual_memory::k_granularity, CUDA_SUCCESS;
}
inline CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp*,
                            unsigned long long, SIMT_SITE) {
  auto& v = ::simt::import::the_virtual_memory();
  if (!v.is_whole(bytes))
    return ::simt::import::wrong_mapping("cuMemCreate", site, "the size is not a multiple of the granularity");
  v.physical[*handle = ++v.last] = {bytes, 0};
  return CUDA_SUCCESS;
}
// Memory that is mapped stays until it is unmapped.
inline CUresult cuMemRelease(CUmemGenericAllocationHandle) { return CUDA_SUCCESS; }
inline CUresult cuMemAddressReserve(CUdeviceptr* p, size_t bytes, size_t, CUdeviceptr, unsigned long long, SIMT_SITE) {
  auto& v = ::simt::import::the_virtual_memory();
  if (!v.is_whole(bytes))
    return ::simt::import::wrong_mapping("cuMemAddressReserve", site, "the size is not a multiple of the granularity");
  const CUresult result = cuMemAlloc(p, bytes, site);
  if (result == CUDA_SUCCESS) v.reserved[*p] = bytes;
  return result;
}
inline CUresult cuMemAddressFree(CUdeviceptr p, size_t bytes, SIMT_SITE) {
  auto& v = ::simt::import::the_virtual_memory();
  const auto at = v.reserved.find(p);
  if (at == v.reserved.end() || at->second != bytes)
    return ::simt::import::wrong_mapping("cuMemAddressFree", site, "the range is not one that was reserved");
  if (v.mapped(p, bytes) != 0)
    return ::simt::import::wrong_mapping("cuMemAddressFree", site, "memory is still mapped to the range");
  v.reserved.erase(at);
  return cuMemFree(p, site);
}
inline CUresult cuMemMap(CUdeviceptr p, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                         unsigned long long, SIMT_SITE) {
  auto& v = ::simt::import::the_virtual_memory();
  const auto at = v.physical.find(handle);
  if (at == v.physical.end() || offset != 0 || at->second.bytes != bytes)
    return ::simt::import::wrong_mapping("cuMemMap", site, "the range is not the whole memory of the handle");
  if (!v.is_reserved(p, bytes) || v.mapped(p, bytes) != 0)
    return ::simt::import::wrong_mapping("cuMemMap", site, "the addresses are not reserved, or memory is mapped there");
  if (at->second.at != 0) ::simt::import::not_modelled("a second mapping of memory by", "cuMemMap", site);
  at->second.at = p;
  return CUDA_SUCCESS;
}
inline CUresult cuMemUnmap(CUdeviceptr p, size_t bytes, SIMT_SITE) {
  auto& v = ::simt::import::the_virtual_memory();
  if (bytes == 0 || v.mapped(p, bytes) != bytes)
    return ::simt::import::wrong_mapping("cuMemUnmap", site, "memory is not mapped to the whole range");
  for (auto& [handle, m] : v.physical)
    if (m.at >= p && m.at + m.bytes <= p + bytes) m.at = 0;
  ::simt::emu::mark_uninitialized(reinterpret_cast<void*>(p), bytes);
  return CUDA_SUCCESS;
}
inline CUresult cuMemSetAccess(CUdeviceptr p, size_t bytes, const CUmemAccessDesc*, size_t, SIMT_SITE) {
  if (bytes == 0 || ::simt::import::the_virtual_memory().mapped(p, bytes) != bytes)
    return ::simt::import::wrong_mapping("cuMemSetAccess", site, "memory is not mapped to the whole range");
  return CUDA_SUCCESS;
}
SIMT_NOT_MODELLED(CUresult, cuMemRetainAllocationHandle, CUmemGenericAllocationHandle*, void*)
SIMT_NOT_MODELLED(CUresult, cuMemExportToShareableHandle, void*, CUmemGenericAllocationHandle,
                  CUmemAllocationHandleType, unsigned long long)
SIMT_NOT_MODELLED(CUresult, cuMemImportFromShareableHandle, CUmemGenericAllocationHandle*, void*,
                  CUmemAllocationHandleType)
SIMT_NOT_MODELLED(CUresult, cuMulticastGetGranularity, size_t*, const CUmulticastObjectProp*,
                  CUmulticastGranularity_flags)
SIMT_NOT_MODELLED(CUresult, cuMulticastCreate, CUmemGenericAllocationHandle*, const CUmulticastObjectProp*)
SIMT_NOT_MODELLED(CUresult, cuMulticastAddDevice, CUmemGenericAllocationHandle, CUdevice)
SIMT_NOT_MODELLED(CUresult, cuMulticastBindMem, CUmemGenericAllocationHandle, size_t, CUmemGenericAllocationHandle,
                  size_t, size_t, unsigned long long)
SIMT_NOT_MODELLED(CUresult, cuMulticastUnbind, CUmemGenericAllocationHandle, CUdevice, size_t, size_t)
