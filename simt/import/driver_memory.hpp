// The part of cuda.h for memory that is mapped manually, shared between processes, or written by several devices at
// once. The first call of the last two kinds that runs ends the program with the function's name.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <vector>

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

// Physical memory, in one place at a time.
struct physical_memory {
  size_t bytes = 0;
  CUdeviceptr at = 0;  // 0: not mapped
  bool is_accessible = false, has_bytes = false, is_released = false;
};
// Address space. Only the parts of it to which memory is mapped that may be accessed are allocations.
struct reservation {
  size_t bytes;
  void* allocated;  // in which it lies
  site where;
};
struct virtual_memory {
  std::map<CUmemGenericAllocationHandle, physical_memory> physical;
  std::map<CUdeviceptr, reservation> reserved;
  CUmemGenericAllocationHandle last = 0;
  static constexpr size_t k_granularity = size_t{2} << 20;

  static bool is_whole(size_t bytes) { return bytes > 0 && bytes % k_granularity == 0; }
  // The reservation that holds [p, p + bytes), or the end.
  auto reservation_of(CUdeviceptr p, size_t bytes) {
    auto at = reserved.upper_bound(p);
    if (at == reserved.begin()) return reserved.end();
    --at;
    return p + bytes <= at->first + at->second.bytes ? at : reserved.end();
  }
  // The memory that is mapped to a part of [p, p + bytes).
  std::vector<physical_memory*> mapped(CUdeviceptr p, size_t bytes) {
    std::vector<physical_memory*> all;
    for (auto& [handle, m] : physical)
      if (m.at != 0 && m.at + m.bytes > p && m.at < p + bytes) all.push_back(&m);
    std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->at < b->at; });
    return all;
  }
  // True if memory is mapped to the whole range, and all of that memory lies in the range.
  bool is_mapped(CUdeviceptr p, size_t bytes) {
    size_t sum = 0;
    for (const physical_memory* m : mapped(p, bytes)) {
      if (m->at < p || m->at + m->bytes > p + bytes) return false;
      sum += m->bytes;
    }
    return bytes > 0 && sum == bytes;
  }
  // Makes neighbours that may be accessed one allocation.
  void update_access(CUdeviceptr p) {
    const auto& [begin, r] = *reservation_of(p, 1);
    std::vector<::simt::emu::memory_part> parts;
    for (const physical_memory* m : mapped(begin, r.bytes)) {
      auto* const at = reinterpret_cast<char*>(m->at);
      if (!m->is_accessible) continue;
      if (!parts.empty() && parts.back().begin + parts.back().bytes == at)
        parts.back().bytes += m->bytes;
      else
        parts.push_back({at, m->bytes});
    }
    auto& memory = the_program().memory;
    auto* const first = reinterpret_cast<const char*>(begin);
    memory.erase(memory.lower_bound(first), memory.lower_bound(first + r.bytes));
    ::simt::emu::limit_access(r.allocated, parts);
    for (const auto& part : parts) {
      add_allocation(part.begin, {part.bytes, r.where, false, true});
      follow_memory(part.begin, false);
    }
  }
};
inline virtual_memory& the_virtual_memory() {
  static virtual_memory& one = *new virtual_memory;
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
  v.physical[*handle = ++v.last].bytes = bytes;
  return CUDA_SUCCESS;
}
// Memory that is mapped stays until it is unmapped.
inline CUresult cuMemRelease(CUmemGenericAllocationHandle handle, SIMT_SITE) {
  auto& v = ::simt::import::the_virtual_memory();
  const auto at = v.physical.find(handle);
  if (at == v.physical.end() || at->second.is_released)
    return ::simt::import::wrong_mapping("cuMemRelease", site, "the handle is of no memory, or was released before");
  at->second.is_released = true;
  if (at->second.at == 0) v.physical.erase(at);
  return CUDA_SUCCESS;
}
inline CUresult cuMemAddressReserve(CUdeviceptr* p, size_t bytes, size_t, CUdeviceptr, unsigned long long, SIMT_SITE) {
  auto& v = ::simt::import::the_virtual_memory();
  if (!v.is_whole(bytes))
    return ::simt::import::wrong_mapping("cuMemAddressReserve", site, "the size is not a multiple of the granularity");
  void* allocated = nullptr;
  const cudaError_t e = ::simt::import::allocate(&allocated, bytes + v.k_granularity, false, site);
  if (e != cudaSuccess) return static_cast<CUresult>(e);
  const auto begin = reinterpret_cast<CUdeviceptr>(allocated);
  *p = (begin + v.k_granularity - 1) / v.k_granularity * v.k_granularity;
  v.reserved[*p] = {bytes, allocated, site};
  ::simt::import::the_program().memory.erase(static_cast<char*>(allocated));
  v.update_access(*p);
  return CUDA_SUCCESS;
}
inline CUresult cuMemAddressFree(CUdeviceptr p, size_t bytes, SIMT_SITE) {
  auto& v = ::simt::import::the_virtual_memory();
  const auto at = v.reserved.find(p);
  if (at == v.reserved.end() || at->second.bytes != bytes)
    return ::simt::import::wrong_mapping("cuMemAddressFree", site, "the range is not one that was reserved");
  if (!v.mapped(p, bytes).empty())
    return ::simt::import::wrong_mapping("cuMemAddressFree", site, "memory is still mapped to the range");
  ::simt::emu::device_free(at->second.allocated);
  v.reserved.erase(at);
  return CUDA_SUCCESS;
}
inline CUresult cuMemMap(CUdeviceptr p, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                         unsigned long long, SIMT_SITE) {
  auto& v = ::simt::import::the_virtual_memory();
  const auto at = v.physical.find(handle);
  if (at == v.physical.end() || at->second.is_released || offset != 0 || at->second.bytes != bytes)
    return ::simt::import::wrong_mapping("cuMemMap", site, "the range is not the whole memory of the handle");
  if (v.reservation_of(p, bytes) == v.reserved.end() || !v.mapped(p, bytes).empty())
    return ::simt::import::wrong_mapping("cuMemMap", site, "the addresses are not reserved, or memory is mapped there");
  if (at->second.at != 0) ::simt::import::not_modelled("a second mapping of memory by", "cuMemMap", site);
  at->second.at = p;
  return CUDA_SUCCESS;
}
inline CUresult cuMemUnmap(CUdeviceptr p, size_t bytes, SIMT_SITE) {
  auto& v = ::simt::import::the_virtual_memory();
  if (!v.is_mapped(p, bytes))
    return ::simt::import::wrong_mapping("cuMemUnmap", site, "memory is not mapped to the whole range");
  for (::simt::import::physical_memory* m : v.mapped(p, bytes)) m->at = 0, m->is_accessible = m->has_bytes = false;
  for (auto m = v.physical.begin(); m != v.physical.end();)
    m = m->second.at == 0 && m->second.is_released ? v.physical.erase(m) : std::next(m);
  v.update_access(p);
  return CUDA_SUCCESS;
}
// Memory has its bytes from here on: those that it had elsewhere are not kept.
inline CUresult cuMemSetAccess(CUdeviceptr p, size_t bytes, const CUmemAccessDesc* to, size_t count, SIMT_SITE) {
  auto& v = ::simt::import::the_virtual_memory();
  if (!v.is_mapped(p, bytes))
    return ::simt::import::wrong_mapping("cuMemSetAccess", site, "memory is not mapped to the whole range");
  const bool is_accessible =
      std::any_of(to, to + count, [](const auto& one) { return one.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE; });
  std::vector<::simt::import::physical_memory*> begun;
  for (::simt::import::physical_memory* m : v.mapped(p, bytes)) {
    if (is_accessible && !m->has_bytes) begun.push_back(m);
    m->has_bytes |= is_accessible;
    m->is_accessible = is_accessible;
  }
  v.update_access(p);
  for (const auto* m : begun) ::simt::emu::mark_uninitialized(reinterpret_cast<void*>(m->at), m->bytes);
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
