// Implementation of cublas_v2.h: dense linear algebra in plain host code, on the memory that kernels see as the
// device's. Sums are in double, so results are not cuBLAS's to the bit.
#pragma once

#include <cstdint>

#include "simt/import/launch.hpp"
#include "simt/import/library_types.h"

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

namespace simt::import::blas {

// A call in the source. The hook stands between an exact result and the program (fidelity).
struct call {
  const char* function;
  site where;
  double (*result)(double exact);
};

// A matrix in column-major order; a vector is one row whose pitch is its stride.
struct matrix {
  const void* data;
  cudaDataType type;
  int64_t rows, cols, pitch;
  bool transposed = false;  // op(data) is what is meant; rows and cols are those of op(data)
};
constexpr matrix vector_of(const void* data, cudaDataType type, int64_t count, int64_t stride) {
  return {data, type, 1, count, stride};
}

// c = alpha op(a) op(b) + beta c; c is not read where beta is 0.
cublasStatus_t multiply(const call& at, double alpha, const matrix& a, const matrix& b, double beta, const matrix& c);
// c = alpha op(a) + beta op(b); each may be left out by a factor of 0, and c may be one of them.
cublasStatus_t add(const call& at, double alpha, const matrix& a, double beta, const matrix& b, const matrix& c);
// The sum of products of two vectors' elements, or of magnitudes (b: null data), or the root of the sum of squares.
cublasStatus_t sum(const call& at, const matrix& a, const matrix& b, bool squares, double& result);
// The place, from 1, of the first element of greatest (or least) magnitude; 0 where there is none.
cublasStatus_t extreme(const call& at, const matrix& a, bool least, int& place);

// A scalar argument or result, in the host's memory or the device's.
double scalar(const void* p, cudaDataType type);
void put_scalar(const call& at, void* p, cudaDataType type, double value);
bool is_modelled(cudaDataType type);

}  // namespace simt::import::blas
