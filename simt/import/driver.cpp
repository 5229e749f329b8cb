// Functions of the driver API that host code of foreign programs calls, compiled once instead of with each program.
#include "simt/import/driver.hpp"

#include <cstdio>
#include <cstring>
#include <string>

#include "simt/emulated/symbols.hpp"
#include "simt/tensor_map.hpp"

namespace {

CUresult misuse_of_driver(const char* function, const void* pc, const std::string& problem) {
  ::simt::import::report("error_return",
                         std::string(function) + " at " + ::simt::source_line(::simt::code_offset(pc)) + ": " + problem,
                         false);
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult encode(const char* function, const void* pc, CUtensorMap* map, const ::simt::tensor_map_request& request) {
  static_assert(sizeof(CUtensorMap) == sizeof(::simt::tensor_map), "one layout");
  const auto rest = reinterpret_cast<uintptr_t>(map) % 64;
  if (map == nullptr || rest != 0)
    return misuse_of_driver(
        function, pc,
        "tensorMap: it is " + (map == nullptr ? "null" : std::to_string(rest)) + " modulo 64, allowed is 0");
  ::simt::tensor_map encoded;
  const std::string broken = ::simt::encode_tensor_map(request, encoded);
  if (!broken.empty()) return misuse_of_driver(function, pc, broken);
  std::memcpy(map, &encoded, sizeof encoded);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle pattern,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  return encode("cuTensorMapEncodeTiled", SIMT_CALLER, map,
                {type, rank, address, sizes, strides, box, steps, interleave, pattern, promotion, fill});
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                 const cuuint64_t* sizes, const cuuint64_t* strides, const int* lower, const int* upper,
                                 cuuint32_t channels, cuuint32_t pixels, const cuuint32_t* steps,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle pattern,
                                 CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  const ::simt::im2col_box box = {lower, upper, channels, pixels};
  return encode("cuTensorMapEncodeIm2col", SIMT_CALLER, map,
                {type, rank, address, sizes, strides, nullptr, steps, interleave, pattern, promotion, fill, &box});
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  const void* const pc = SIMT_CALLER;
  ::simt::tensor_map encoded;
  std::memcpy(&encoded, map, sizeof encoded);
  constexpr const char* name = "cuTensorMapReplaceAddress";
  if (encoded.mark != ::simt::k_tensor_map_mark)
    return misuse_of_driver(name, pc, "tensorMap: it is not one that the driver encoded");
  if (reinterpret_cast<uintptr_t>(address) % 16 != 0)
    return misuse_of_driver(name, pc, "globalAddress: it is not a multiple of 16");
  encoded.address = static_cast<char*>(address);
  std::memcpy(map, &encoded, sizeof encoded);
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult e, const char** name) {
  switch (e) {
#define SIMT_NAMED(code, number) \
  case number: *name = "CUDA_" #code; break;
    SIMT_DRIVER_ERRORS(SIMT_NAMED)
#undef SIMT_NAMED
    default: *name = "CUDA_ERROR_UNKNOWN"; break;
  }
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult e, const char** text) { return cuGetErrorName(e, text); }

CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  if (device != 0 || bytes < 1) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(name, static_cast<size_t>(bytes), "emulated device");
  return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* result) {
  const struct {
    const char* name;
    void* address;
  } known[] = {{"cuTensorMapEncodeTiled", reinterpret_cast<void*>(&cuTensorMapEncodeTiled)},
               {"cuTensorMapEncodeIm2col", reinterpret_cast<void*>(&cuTensorMapEncodeIm2col)},
               {"cuTensorMapReplaceAddress", reinterpret_cast<void*>(&cuTensorMapReplaceAddress)},
               {"cuGetErrorName", reinterpret_cast<void*>(&cuGetErrorName)},
               {"cuGetErrorString", reinterpret_cast<void*>(&cuGetErrorString)},
               {"cuDeviceGetName", reinterpret_cast<void*>(&cuDeviceGetName)}};
  *function = nullptr;
  for (const auto& k : known)
    if (std::strcmp(symbol, k.name) == 0) *function = k.address;
  const bool found = *function != nullptr;
  if (result != nullptr) *result = found ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return found || result != nullptr ? cudaSuccess : ::simt::import::returned(cudaErrorSymbolNotFound);
}
