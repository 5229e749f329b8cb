// The part of cuda.h for memory that is mapped manually, shared between processes, or written by several devices at
// once. Sources may contain such calls. The first one that runs ends the program with the function's name.
#pragma once

#include <cstddef>

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

SIMT_NOT_MODELLED(CUresult, cuMemGetAllocationGranularity, size_t*, const CUmemAllocationProp*,
                  CUmemAllocationGranularity_flags)
SIMT_NOT_MODELLED(CUresult, cuMemCreate, CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*,
                  unsigned long long)
SIMT_NOT_MODELLED(CUresult, cuMemRelease, CUmemGenericAllocationHandle)
SIMT_NOT_MODELLED(CUresult, cuMemRetainAllocationHandle, CUmemGenericAllocationHandle*, void*)
SIMT_NOT_MODELLED(CUresult, cuMemAddressReserve, CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long)
SIMT_NOT_MODELLED(CUresult, cuMemAddressFree, CUdeviceptr, size_t)
SIMT_NOT_MODELLED(CUresult, cuMemMap, CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long)
SIMT_NOT_MODELLED(CUresult, cuMemUnmap, CUdeviceptr, size_t)
SIMT_NOT_MODELLED(CUresult, cuMemSetAccess, CUdeviceptr, size_t, const CUmemAccessDesc*, size_t)
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
