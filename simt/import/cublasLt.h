// Stands in for cuBLASLt's header of this name: matrix products by layouts, with the usual epilogues, as cublas_v2.h
// computes them. Every algorithm is the same.
#pragma once

#include <cmath>
#include <cstring>

#include "cublas_v2.h"

using cublasLtHandle_t = simt_cublas_context*;
enum cublasLtOrder_t {
  CUBLASLT_ORDER_COL,
  CUBLASLT_ORDER_ROW,
  CUBLASLT_ORDER_COL32,  // this and those below are refused where they are used
  CUBLASLT_ORDER_COL4_4R2_8C,
  CUBLASLT_ORDER_COL32_2R_4R4
};
enum cublasLtPointerMode_t { CUBLASLT_POINTER_MODE_HOST = 0, CUBLASLT_POINTER_MODE_DEVICE = 1 };
enum cublasLtEpilogue_t {
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  CUBLASLT_EPILOGUE_RELU = 2,
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLASLT_EPILOGUE_RELU_BIAS = 6,
  CUBLASLT_EPILOGUE_GELU = 32,
  CUBLASLT_EPILOGUE_GELU_BIAS = 36
};
enum cublasLtMatrixLayoutAttribute_t {
  CUBLASLT_MATRIX_LAYOUT_TYPE,
  CUBLASLT_MATRIX_LAYOUT_ORDER,
  CUBLASLT_MATRIX_LAYOUT_ROWS,
  CUBLASLT_MATRIX_LAYOUT_COLS,
  CUBLASLT_MATRIX_LAYOUT_LD,
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET
};
enum cublasLtMatmulDescAttributes_t {
  CUBLASLT_MATMUL_DESC_COMPUTE_TYPE,
  CUBLASLT_MATMUL_DESC_SCALE_TYPE,
  CUBLASLT_MATMUL_DESC_POINTER_MODE,
  CUBLASLT_MATMUL_DESC_TRANSA,
  CUBLASLT_MATMUL_DESC_TRANSB,
  CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
  CUBLASLT_MATMUL_DESC_BIAS_POINTER,
  CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE = 26
};
enum cublasLtMatrixTransformDescAttributes_t {
  CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE,
  CUBLASLT_MATRIX_TRANSFORM_DESC_POINTER_MODE,
  CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA,
  CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB
};
enum cublasLtMatmulPreferenceAttributes_t {
  CUBLASLT_MATMUL_PREF_SEARCH_MODE,
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
};

// An opaque description: its attributes by their numbers, 8 bytes each.
struct simt_cublaslt_description {
  uint64_t attributes[32] = {};
  template <class T>
  T get(int which) const {
    T value;
    std::memcpy(&value, &attributes[which], sizeof value);
    return value;
  }
  template <class T>
  void set(int which, T value) {
    std::memcpy(&attributes[which], &value, sizeof value);
  }
};
using cublasLtMatrixLayout_t = simt_cublaslt_description*;
using cublasLtMatmulDesc_t = simt_cublaslt_description*;
using cublasLtMatrixTransformDesc_t = simt_cublaslt_description*;
using cublasLtMatmulPreference_t = simt_cublaslt_description*;
struct cublasLtMatmulAlgo_t {
  uint64_t data[8];
};
struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
};

inline cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { return cublasCreate(handle); }
inline cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
inline size_t cublasLtGetVersion() { return 120804; }
inline cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                                 uint64_t cols, int64_t ld) {
  *layout = new simt_cublaslt_description;
  (*layout)->set(CUBLASLT_MATRIX_LAYOUT_TYPE, type);
  (*layout)->set(CUBLASLT_MATRIX_LAYOUT_ROWS, rows);
  (*layout)->set(CUBLASLT_MATRIX_LAYOUT_COLS, cols);
  (*layout)->set(CUBLASLT_MATRIX_LAYOUT_LD, ld);
  (*layout)->set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 1);
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description, cublasComputeType_t compute,
                                               cudaDataType scale) {
  *description = new simt_cublaslt_description;
  (*description)->set(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, compute);
  (*description)->set(CUBLASLT_MATMUL_DESC_SCALE_TYPE, scale);
  (*description)->set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatrixTransformDescCreate(cublasLtMatrixTransformDesc_t* description,
                                                        cudaDataType scale) {
  *description = new simt_cublaslt_description;
  (*description)->set(CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE, scale);
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new simt_cublaslt_description;
  return CUBLAS_STATUS_SUCCESS;
}
#define SIMT_CUBLASLT_DESCRIPTION(name, attribute)                                                                     \
  inline cublasStatus_t cublasLt##name##SetAttribute(simt_cublaslt_description* d, attribute which, const void* value, \
                                                     size_t bytes) {                                                   \
    if (static_cast<size_t>(which) >= std::size(d->attributes) || bytes > 8) return CUBLAS_STATUS_NOT_SUPPORTED;       \
    std::memcpy(&d->attributes[which], value, bytes);                                                                  \
    return CUBLAS_STATUS_SUCCESS;                                                                                      \
  }                                                                                                                    \
  inline cublasStatus_t cublasLt##name##Destroy(simt_cublaslt_description* d) {                                        \
    delete d;                                                                                                          \
    return CUBLAS_STATUS_SUCCESS;                                                                                      \
  }
SIMT_CUBLASLT_DESCRIPTION(MatrixLayout, cublasLtMatrixLayoutAttribute_t)
SIMT_CUBLASLT_DESCRIPTION(MatmulDesc, cublasLtMatmulDescAttributes_t)
SIMT_CUBLASLT_DESCRIPTION(MatrixTransformDesc, cublasLtMatrixTransformDescAttributes_t)
SIMT_CUBLASLT_DESCRIPTION(MatmulPreference, cublasLtMatmulPreferenceAttributes_t)
#undef SIMT_CUBLASLT_DESCRIPTION

inline cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                                     cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                     cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int requested,
                                                     cublasLtMatmulHeuristicResult_t* results, int* count) {
  *count = requested > 0 ? 1 : 0;
  if (requested > 0) results[0] = {};
  return CUBLAS_STATUS_SUCCESS;
}

namespace simt::import::blas {

inline bool by_rows(const simt_cublaslt_description* layout) {
  return layout->get<int>(CUBLASLT_MATRIX_LAYOUT_ORDER) == CUBLASLT_ORDER_ROW;
}
inline void refuse_tiles(const char* function, site where, std::initializer_list<cublasLtMatrixLayout_t> layouts) {
  for (const cublasLtMatrixLayout_t l : layouts)
    if (l != nullptr && l->get<int>(CUBLASLT_MATRIX_LAYOUT_ORDER) > CUBLASLT_ORDER_ROW)
      not_modelled("a matrix of tiles in the function", function, where);
}
// Returns op(data), transposed again if `flips`. A matrix by rows is the transposed one by columns.
inline matrix laid_out(const void* data, const simt_cublaslt_description* layout, int64_t of_batch, bool turned,
                       bool flips) {
  const auto number = [&](cublasLtMatrixLayoutAttribute_t which) { return layout->get<int64_t>(which); };
  const auto type = layout->get<cudaDataType>(CUBLASLT_MATRIX_LAYOUT_TYPE);
  const int64_t before = of_batch * number(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  const int64_t sides[] = {number(CUBLASLT_MATRIX_LAYOUT_ROWS), number(CUBLASLT_MATRIX_LAYOUT_COLS)};
  return {static_cast<const char*>(data) + before * static_cast<int64_t>(bytes_of(type)), type, sides[turned != flips],
          sides[turned == flips], number(CUBLASLT_MATRIX_LAYOUT_LD), (turned != by_rows(layout)) != flips};
}

// Adds the bias to the rows of D and applies the activation, as work of the stream.
inline void finish(const call& at, cudaStream_t stream, const simt_cublaslt_description& how, char* d,
                   cudaDataType type, const simt_cublaslt_description& layout) {
  const int epilogue = how.get<int>(CUBLASLT_MATMUL_DESC_EPILOGUE);
  const auto rows = layout.get<int64_t>(CUBLASLT_MATRIX_LAYOUT_ROWS),
             cols = layout.get<int64_t>(CUBLASLT_MATRIX_LAYOUT_COLS),
             ld = layout.get<int64_t>(CUBLASLT_MATRIX_LAYOUT_LD);
  const bool rowwise = by_rows(&layout);
  const char* const bias =
      (epilogue & CUBLASLT_EPILOGUE_BIAS) == 0 ? nullptr : how.get<const char*>(CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  const auto set_type = how.get<cudaDataType>(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
  const cudaDataType bias_type = how.attributes[CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE] == 0 ? type : set_type;
  enqueue({at.function, at.where, on(stream)}, [=] {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t col = 0; col < cols; ++col) {
        char* const p = d + (rowwise ? row * ld + col : col * ld + row) * bytes_of(type);
        double v = scalar(p, type) + (bias == nullptr ? 0 : scalar(bias + row * bytes_of(bias_type), bias_type));
        if ((epilogue & CUBLASLT_EPILOGUE_RELU) != 0) v = v > 0 ? v : 0;
        if ((epilogue & CUBLASLT_EPILOGUE_GELU) != 0)
          v = 0.5 * v * (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
        put_scalar(at, p, type, v);
      }
  });
}

}  // namespace simt::import::blas

inline cublasStatus_t cublasLtMatmul(simt_cublas_caller handle, cublasLtMatmulDesc_t how, const void* alpha,
                                     const void* a, cublasLtMatrixLayout_t layout_a, const void* b,
                                     cublasLtMatrixLayout_t layout_b, const void* beta, const void* c,
                                     cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t layout_d,
                                     const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t stream) {
  namespace blas = ::simt::import::blas;
  const auto count = layout_d->get<int>(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  const auto epilogue = how->get<cublasLtEpilogue_t>(CUBLASLT_MATMUL_DESC_EPILOGUE);
  if ((epilogue & ~(CUBLASLT_EPILOGUE_DEFAULT | CUBLASLT_EPILOGUE_RELU_BIAS | CUBLASLT_EPILOGUE_GELU)) != 0 ||
      (epilogue != CUBLASLT_EPILOGUE_DEFAULT && count > 1) ||
      how->get<int>(CUBLASLT_MATMUL_DESC_POINTER_MODE) > CUBLASLT_POINTER_MODE_DEVICE)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  blas::refuse_tiles("cublasLtMatmul", handle.where, {layout_a, layout_b, layout_d});
  const auto scale = how->get<cudaDataType>(CUBLASLT_MATMUL_DESC_SCALE_TYPE);
  const float factors[] = {static_cast<float>(blas::scalar(alpha, scale)),
                           static_cast<float>(blas::scalar(beta, scale))};
  if (c != d && factors[1] != 0)
    return ::simt::import::not_modelled("the function", "cublasLtMatmul with another C than D", handle.where),
           CUBLAS_STATUS_NOT_SUPPORTED;
  // If the result is by rows, its transpose is computed.
  const bool flips = blas::by_rows(layout_d);
  const auto turns = [&](int which) { return how->get<cublasOperation_t>(which) != CUBLAS_OP_N; };
  blas::matrix left = blas::laid_out(a, layout_a, 0, turns(CUBLASLT_MATMUL_DESC_TRANSA), flips),
               right = blas::laid_out(b, layout_b, 0, turns(CUBLASLT_MATMUL_DESC_TRANSB), flips);
  const blas::matrix product = blas::laid_out(d, layout_d, 0, false, flips);
  if (flips) std::swap(left, right), std::swap(layout_a, layout_b);
  const auto op = [](const blas::matrix& x) { return x.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const auto ld = [](const blas::matrix& x) { return static_cast<int>(x.pitch); };
  const auto stride = [](cublasLtMatrixLayout_t l) {
    return l->get<long long>(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  };
  cudaStream_t before = nullptr;
  cublasGetStream(handle, &before);
  cublasSetStream(handle, stream);
  const cublasStatus_t status = cublasGemmStridedBatchedEx(
      handle, op(left), op(right), static_cast<int>(product.rows), static_cast<int>(product.cols),
      static_cast<int>(left.cols), &factors[0], left.data, left.type, ld(left), stride(layout_a), right.data,
      right.type, ld(right), stride(layout_b), &factors[1], d, product.type, ld(product), stride(layout_d), count,
      CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  cublasSetStream(handle, before);
  if (status == CUBLAS_STATUS_SUCCESS && epilogue != CUBLASLT_EPILOGUE_DEFAULT)
    blas::finish(blas::at("cublasLtMatmul", handle.where), stream, *how, static_cast<char*>(d), product.type,
                 *layout_d);
  return status;
}

// Computes C = alpha op(A) + beta op(B); B is read only if beta is non-zero.
inline cublasStatus_t cublasLtMatrixTransform(simt_cublas_caller handle, cublasLtMatrixTransformDesc_t how,
                                              const void* alpha, const void* a, cublasLtMatrixLayout_t layout_a,
                                              const void* beta, const void* b, cublasLtMatrixLayout_t layout_b, void* c,
                                              cublasLtMatrixLayout_t layout_c, cudaStream_t stream) {
  namespace blas = ::simt::import::blas;
  blas::refuse_tiles("cublasLtMatrixTransform", handle.where, {layout_a, layout_b, layout_c});
  const auto scale = how->get<cudaDataType>(CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE);
  const bool adds = b != nullptr && beta != nullptr;
  const blas::factor factor_alpha(alpha, scale), factor_beta(adds ? beta : alpha, scale);
  const auto turns = [&](int which) { return how->get<cublasOperation_t>(which) != CUBLAS_OP_N; };
  const bool flips = blas::by_rows(layout_c), turns_a = turns(CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA),
             turns_b = turns(CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB);
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  cudaStream_t before = nullptr;
  cublasGetStream(handle, &before);
  cublasSetStream(handle, stream);
  for (int i = 0; i < layout_c->get<int>(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) && status == CUBLAS_STATUS_SUCCESS; ++i) {
    const blas::matrix of_a = blas::laid_out(a, layout_a, i, turns_a, flips),
                       of_b = adds ? blas::laid_out(b, layout_b, i, turns_b, flips) : of_a,
                       of_c = blas::laid_out(c, layout_c, i, false, flips);
    status = blas::queue(handle, handle.where, [=] {
      const blas::call at = blas::at("cublasLtMatrixTransform", handle.where);
      return blas::add(at, factor_alpha, of_a, adds ? double(factor_beta) : 0, of_b, of_c);
    });
  }
  cublasSetStream(handle, before);
  return status;
}
