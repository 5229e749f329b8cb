// Implementation of cublas_v2.h: dense linear algebra in plain host code, on the emulated device's memory. Sums are in
// double, so results are not cuBLAS's to the bit.
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

// A call in the source. The fidelity hook may replace its exact result before the program sees it.
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
  bool transposed = false;  // the operand is op(data); rows and cols are those of op(data)
};
constexpr matrix vector_of(const void* data, cudaDataType type, int64_t count, int64_t stride) {
  return {data, type, 1, count, stride};
}

// Computes c = alpha op(a) op(b) + beta c; c is read only if beta is non-zero.
cublasStatus_t multiply(const call& at, double alpha, const matrix& a, const matrix& b, double beta, const matrix& c);
// Computes c = alpha op(a) + beta op(b); an operand with factor 0 is not read, and c may be one of them.
cublasStatus_t add(const call& at, double alpha, const matrix& a, double beta, const matrix& b, const matrix& c);
// Returns the sum of products of two vectors, of magnitudes (b: null data), or the root of the sum of squares.
cublasStatus_t sum(const call& at, const matrix& a, const matrix& b, bool squares, double& result);
// Returns the index, from 1, of the first element of greatest (or least) magnitude; 0 if there is none.
cublasStatus_t extreme(const call& at, const matrix& a, bool least, int& place);

// A scalar argument or result, in host or device memory.
double scalar(const void* p, cudaDataType type);
void put_scalar(const call& at, void* p, cudaDataType type, double value);
size_t bytes_of(cudaDataType type);  // 0: not modelled
bool is_modelled(cudaDataType type);

}  // namespace simt::import::blas
