// Stands in for cuBLASLt's header of this name: a handle only; matrix products are not modelled.
#pragma once

#include "cublas_v2.h"

using cublasLtHandle_t = simt_cublas_context*;
inline cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { return cublasCreate(handle); }
inline cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
SIMT_IMPORT_CUBLAS_REFUSED(cublasLtMatmul)
