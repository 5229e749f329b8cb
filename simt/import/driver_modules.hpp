// The part of cuda.h for modules, their kernels and variables, and launches. A module is a text of PTX, or what NVRTC
// made (nvrtc.h); machine code is not modelled.
#pragma once

#include <cstddef>

#include "simt/import/driver.hpp"
#include "simt/import/modules.hpp"

using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
// Since CUDA 12 a library is a module that belongs to no context, and a kernel one of its functions.
using CUlibrary = CUmodule;
using CUkernel = CUfunction;

enum CUjit_option {
  CU_JIT_MAX_REGISTERS,
  CU_JIT_THREADS_PER_BLOCK,
  CU_JIT_WALL_TIME,
  CU_JIT_INFO_LOG_BUFFER,
  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
  CU_JIT_ERROR_LOG_BUFFER,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
  CU_JIT_OPTIMIZATION_LEVEL,
  CU_JIT_TARGET_FROM_CUCONTEXT,
  CU_JIT_TARGET,
  CU_JIT_FALLBACK_STRATEGY,
  CU_JIT_GENERATE_DEBUG_INFO,
  CU_JIT_LOG_VERBOSE,
  CU_JIT_GENERATE_LINE_INFO,
  CU_JIT_CACHE_MODE
};
enum CUlibraryOption { CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE, CU_LIBRARY_BINARY_IS_PRESERVED };
enum CUfunction_attribute {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
  CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
  CU_FUNC_ATTRIBUTE_NUM_REGS,
  CU_FUNC_ATTRIBUTE_PTX_VERSION,
  CU_FUNC_ATTRIBUTE_BINARY_VERSION,
  CU_FUNC_ATTRIBUTE_CACHE_MODE_CA,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
  CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14
};
enum CUlaunchAttributeID {
  CU_LAUNCH_ATTRIBUTE_IGNORE = 0,
  CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
  CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
  CU_LAUNCH_ATTRIBUTE_PRIORITY = 8
};
using CUlaunchAttributeValue = cudaLaunchAttributeValue;
struct CUlaunchAttribute {
  CUlaunchAttributeID id;
  CUlaunchAttributeValue value;
};
struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned numAttrs;
};
#define CU_LAUNCH_PARAM_END (reinterpret_cast<void*>(0))
#define CU_LAUNCH_PARAM_BUFFER_POINTER (reinterpret_cast<void*>(1))
#define CU_LAUNCH_PARAM_BUFFER_SIZE (reinterpret_cast<void*>(2))

CUresult cuModuleLoad(CUmodule* module, const char* file, SIMT_SITE);
CUresult cuModuleLoadData(CUmodule* module, const void* image, SIMT_SITE);
// The buffers of the options receive empty texts: the command reports the errors of a module.
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options, void** values,
                            SIMT_SITE);
CUresult cuModuleUnload(CUmodule module);
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name);
CUresult cuModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name);
SIMT_NOT_MODELLED(CUresult, cuModuleLoadFatBinary, CUmodule*, const void*)

inline CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option* options, void** values,
                                  unsigned count, CUlibraryOption*, void**, unsigned, SIMT_SITE) {
  return cuModuleLoadDataEx(library, image, count, options, values, site);
}
inline CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* file, CUjit_option*, void**, unsigned,
                                      CUlibraryOption*, void**, unsigned, SIMT_SITE) {
  return cuModuleLoad(library, file, site);
}
inline CUresult cuLibraryUnload(CUlibrary library) { return cuModuleUnload(library); }
inline CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) { return *module = library, CUDA_SUCCESS; }
inline CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return cuModuleGetFunction(kernel, library, name);
}
inline CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  return cuModuleGetGlobal(address, bytes, library, name);
}
inline CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) { return *function = kernel, CUDA_SUCCESS; }

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function);
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value);
inline CUresult cuFuncSetCacheConfig(CUfunction, CUfunc_cache) { return CUDA_SUCCESS; }
inline CUresult cuFuncSetSharedMemConfig(CUfunction, int) { return CUDA_SUCCESS; }
inline CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                            size_t bytes) {
  return static_cast<CUresult>(cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, bytes));
}
using CUoccupancyB2DSize = size_t (*)(int);
inline CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function, CUoccupancyB2DSize,
                                                 size_t bytes, int limit) {
  return static_cast<CUresult>(cudaOccupancyMaxPotentialBlockSize(grid, block, function, bytes, limit));
}

namespace simt::import {

// The arguments are `parameters`, the address of each, or the buffer that `extra` names.
CUresult launch_function(const char* name, const site& where, CUfunction function, launch_config c, CUstream stream,
                         void** parameters, void** extra);

}  // namespace simt::import

inline CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                               unsigned block_y, unsigned block_z, unsigned bytes, CUstream stream, void** parameters,
                               void** extra, SIMT_SITE) {
  return ::simt::import::launch_function("cuLaunchKernel", site, function,
                                         {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, bytes}, stream,
                                         parameters, extra);
}
inline CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned bytes,
                                          CUstream stream, void** parameters, SIMT_SITE) {
  ::simt::launch_config c{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, bytes};
  c.cooperative = true;
  return ::simt::import::launch_function("cuLaunchCooperativeKernel", site, function, c, stream, parameters, nullptr);
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra,
                          SIMT_SITE);
