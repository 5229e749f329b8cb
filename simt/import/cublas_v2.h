// Stands in for cuBLAS's header of this name: handles and settings, for programs that set it up and multiply by kernels
// of their own. Its products are not modelled: a call of one is an error of the compiler that names it.
#pragma once

// As cuBLAS's own does: programs take their 16-bit types from here.
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"
#include "library_types.h"

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16
};
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };
enum cublasMath_t { CUBLAS_DEFAULT_MATH = 0, CUBLAS_TENSOR_OP_MATH = 1, CUBLAS_TF32_TENSOR_OP_MATH = 3 };
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };
enum cublasComputeType_t {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
  CUBLAS_COMPUTE_64F = 70
};

struct simt_cublas_context {};
using cublasHandle_t = simt_cublas_context*;

inline cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  static simt_cublas_context only;
  *handle = &only;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasDestroy(cublasHandle_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetPointerMode(cublasHandle_t, cublasPointerMode_t) { return CUBLAS_STATUS_SUCCESS; }

#ifndef SIMT_IMPORT_CUBLAS_REFUSED
#define SIMT_IMPORT_CUBLAS_REFUSED(name)                                                         \
  template <class... Arguments>                                                                  \
  cublasStatus_t name(const Arguments&...) {                                                     \
    static_assert(sizeof...(Arguments) == ~0u, #name " is not modelled on the emulated device"); \
    return CUBLAS_STATUS_NOT_SUPPORTED;                                                          \
  }
#endif
SIMT_IMPORT_CUBLAS_REFUSED(cublasSgemm)
SIMT_IMPORT_CUBLAS_REFUSED(cublasDgemm)
SIMT_IMPORT_CUBLAS_REFUSED(cublasHgemm)
SIMT_IMPORT_CUBLAS_REFUSED(cublasGemmEx)
SIMT_IMPORT_CUBLAS_REFUSED(cublasSgemmStridedBatched)
SIMT_IMPORT_CUBLAS_REFUSED(cublasGemmStridedBatchedEx)
SIMT_IMPORT_CUBLAS_REFUSED(cublasSgemmBatched)
SIMT_IMPORT_CUBLAS_REFUSED(cublasGemmBatchedEx)
SIMT_IMPORT_CUBLAS_REFUSED(cublasSgemv)
SIMT_IMPORT_CUBLAS_REFUSED(cublasDgemv)
SIMT_IMPORT_CUBLAS_REFUSED(cublasSdot)
SIMT_IMPORT_CUBLAS_REFUSED(cublasDdot)
SIMT_IMPORT_CUBLAS_REFUSED(cublasSaxpy)
SIMT_IMPORT_CUBLAS_REFUSED(cublasSscal)
SIMT_IMPORT_CUBLAS_REFUSED(cublasSnrm2)
