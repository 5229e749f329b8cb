// Stands in for cuBLAS's header of this name: handles and settings, and the products, sums and vector operations with
// which programs check themselves, as plain host code (blas.hpp). A call of another function does not compile, and the
// compiler names it.
#pragma once

// cuBLAS's own header includes this, and programs rely on it.
#include "cuComplex.h"
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"
#include "simt/import/blas.hpp"

enum cublasOperation_t {
  CUBLAS_OP_N = 0,
  CUBLAS_OP_T = 1,
  CUBLAS_OP_C = 2,
  CUBLAS_OP_HERMITAN = 2,
  CUBLAS_OP_CONJG = 3
};
enum cublasFillMode_t { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1, CUBLAS_FILL_MODE_FULL = 2 };
enum cublasDiagType_t { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 };
enum cublasSideMode_t { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 };
enum cublasAtomicsMode_t { CUBLAS_ATOMICS_NOT_ALLOWED = 0, CUBLAS_ATOMICS_ALLOWED = 1 };
enum cublasMath_t {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_TENSOR_OP_MATH = 1,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3,
  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
};
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };
// The choice makes no difference here.
enum cublasGemmAlgo_t : int {
  CUBLAS_GEMM_DFALT = -1,
  CUBLAS_GEMM_DEFAULT = -1,
  CUBLAS_GEMM_ALGO0 = 0,
  CUBLAS_GEMM_ALGO1 = 1,
  CUBLAS_GEMM_ALGO2 = 2,
  CUBLAS_GEMM_ALGO3 = 3,
  CUBLAS_GEMM_ALGO4 = 4,
  CUBLAS_GEMM_ALGO5 = 5,
  CUBLAS_GEMM_ALGO6 = 6,
  CUBLAS_GEMM_ALGO7 = 7,
  CUBLAS_GEMM_ALGO8 = 8,
  CUBLAS_GEMM_ALGO9 = 9,
  CUBLAS_GEMM_ALGO10 = 10,
  CUBLAS_GEMM_ALGO11 = 11,
  CUBLAS_GEMM_ALGO12 = 12,
  CUBLAS_GEMM_ALGO13 = 13,
  CUBLAS_GEMM_ALGO14 = 14,
  CUBLAS_GEMM_ALGO15 = 15,
  CUBLAS_GEMM_ALGO16 = 16,
  CUBLAS_GEMM_ALGO17 = 17,
  CUBLAS_GEMM_ALGO18 = 18,
  CUBLAS_GEMM_ALGO19 = 19,
  CUBLAS_GEMM_ALGO20 = 20,
  CUBLAS_GEMM_ALGO21 = 21,
  CUBLAS_GEMM_ALGO22 = 22,
  CUBLAS_GEMM_ALGO23 = 23,
  CUBLAS_GEMM_ALGO24 = 24,
  CUBLAS_GEMM_DFALT_TENSOR_OP = 99,
  CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99,
  CUBLAS_GEMM_ALGO0_TENSOR_OP = 100,
  CUBLAS_GEMM_ALGO1_TENSOR_OP = 101,
  CUBLAS_GEMM_ALGO2_TENSOR_OP = 102,
  CUBLAS_GEMM_ALGO3_TENSOR_OP = 103,
  CUBLAS_GEMM_ALGO4_TENSOR_OP = 104,
  CUBLAS_GEMM_ALGO5_TENSOR_OP = 105,
  CUBLAS_GEMM_ALGO6_TENSOR_OP = 106,
  CUBLAS_GEMM_ALGO7_TENSOR_OP = 107,
  CUBLAS_GEMM_ALGO8_TENSOR_OP = 108,
  CUBLAS_GEMM_ALGO9_TENSOR_OP = 109,
  CUBLAS_GEMM_ALGO10_TENSOR_OP = 110,
  CUBLAS_GEMM_ALGO11_TENSOR_OP = 111,
  CUBLAS_GEMM_ALGO12_TENSOR_OP = 112,
  CUBLAS_GEMM_ALGO13_TENSOR_OP = 113,
  CUBLAS_GEMM_ALGO14_TENSOR_OP = 114,
  CUBLAS_GEMM_ALGO15_TENSOR_OP = 115
};
enum cublasComputeType_t {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_16F_PEDANTIC = 65,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_64F_PEDANTIC = 71,
  CUBLAS_COMPUTE_32I = 72,
  CUBLAS_COMPUTE_32I_PEDANTIC = 73,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77
};
using cublasDataType_t = cudaDataType;

struct simt_cublas_context {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
};
using cublasHandle_t = simt_cublas_context*;
// A handle, and the place of the call: it needs no parameter of its own, so pointers to the functions can be called.
struct simt_cublas_caller {
  cublasHandle_t handle;
  simt::import::site where;

  template <class Handle, class = std::enable_if_t<std::is_convertible_v<const Handle&, cublasHandle_t>>>
  simt_cublas_caller(const Handle& h, SIMT_SITE) : handle(h), where(site) {}
  operator cublasHandle_t() const { return handle; }
};

inline cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new simt_cublas_context;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
#define SIMT_IMPORT_CUBLAS_SETTING(name, Type, member)                        \
  inline cublasStatus_t cublasSet##name(cublasHandle_t handle, Type value) {  \
    return handle->member = value, CUBLAS_STATUS_SUCCESS;                     \
  }                                                                           \
  inline cublasStatus_t cublasGet##name(cublasHandle_t handle, Type* value) { \
    return *value = handle->member, CUBLAS_STATUS_SUCCESS;                    \
  }
SIMT_IMPORT_CUBLAS_SETTING(Stream, cudaStream_t, stream)
SIMT_IMPORT_CUBLAS_SETTING(MathMode, cublasMath_t, math)
SIMT_IMPORT_CUBLAS_SETTING(PointerMode, cublasPointerMode_t, pointers)
#undef SIMT_IMPORT_CUBLAS_SETTING
inline cublasStatus_t cublasSetAtomicsMode(cublasHandle_t, cublasAtomicsMode_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, size_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
  return *version = 120800, CUBLAS_STATUS_SUCCESS;
}
inline const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "CUBLAS_STATUS_INTERNAL_ERROR";
  }
}
inline const char* cublasGetStatusString(cublasStatus_t status) { return cublasGetStatusName(status); }

namespace simt::import::blas {

// Returns the exact values, or others if the trace demands them.
SIMT_INLINE double reported(double exact) { return approximate("cuBLAS", exact); }
inline call at(const char* function, const site& where) { return {function, where, reported}; }

template <class T>
constexpr cudaDataType type_of() {
  if constexpr (std::is_same_v<T, double>)
    return CUDA_R_64F;
  else if constexpr (std::is_same_v<T, float>)
    return CUDA_R_32F;
  else if constexpr (std::is_same_v<T, __half>)
    return CUDA_R_16F;
  else
    return CUDA_R_16BF;
}
// The type of alpha and beta of a GemmEx.
constexpr cudaDataType scalar_type(cublasComputeType_t compute) {
  switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC: return CUDA_R_16F;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC: return CUDA_R_64F;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC: return CUDA_R_32I;
    default: return CUDA_R_32F;
  }
}
constexpr cublasComputeType_t compute_type(cudaDataType type) {
  return type == CUDA_R_64F   ? CUBLAS_COMPUTE_64F
         : type == CUDA_R_16F ? CUBLAS_COMPUTE_16F
         : type == CUDA_R_32I ? CUBLAS_COMPUTE_32I
                              : CUBLAS_COMPUTE_32F;
}

inline matrix operand(const void* data, cudaDataType type, cublasOperation_t op, int64_t rows, int64_t cols,
                      int64_t ld) {
  return {data, type, rows, cols, ld, op != CUBLAS_OP_N};
}
// The value of alpha or beta: a host scalar at the call, a device scalar when the work runs.
class factor {
 public:
  factor(const void* p, cudaDataType type)
      : p_(p), type_(type), is_of_device_(find_allocation(p) != nullptr), value_(is_of_device_ ? 0 : scalar(p, type)) {}
  operator double() const { return is_of_device_ ? scalar(p_, type_) : value_; }

 private:
  const void* p_;
  cudaDataType type_;
  bool is_of_device_;
  double value_;
};
// Does the work in the handle's stream. If the result goes to host memory, the call waits for it.
template <class Work>
cublasStatus_t queue(cublasHandle_t handle, const site& where, Work work, bool waits = false) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const auto status = std::make_shared<cublasStatus_t>(CUBLAS_STATUS_SUCCESS);  // a graph may keep the work
  const stream_call in_stream{"a call of cuBLAS", where, on(handle->stream)};
  (waits ? enqueue_and_wait : enqueue)(in_stream, [=] { *status = work(); });
  return *status;
}

struct product {
  cublasOperation_t op_a, op_b;
  int64_t m, n, k;
  const void *alpha, *a, *b, *beta;
  void* c;
  cudaDataType type_a, type_b, type_c;
  int64_t ld_a, ld_b, ld_c;
  cudaDataType scalars;
};
inline cublasStatus_t run(const call& where, cublasHandle_t handle, const product& p) {
  if (!is_modelled(p.type_a) || !is_modelled(p.type_b) || !is_modelled(p.type_c)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (p.m < 0 || p.n < 0 || p.k < 0) return CUBLAS_STATUS_INVALID_VALUE;
  const factor alpha(p.alpha, p.scalars), beta(p.beta, p.scalars);
  return queue(handle, where.where, [=] {
    return multiply(where, alpha, operand(p.a, p.type_a, p.op_a, p.m, p.k, p.ld_a),
                    operand(p.b, p.type_b, p.op_b, p.k, p.n, p.ld_b), beta,
                    operand(p.c, p.type_c, CUBLAS_OP_N, p.m, p.n, p.ld_c));
  });
}
// Computes `count` products; the matrices of the i-th lie i strides (in elements) further on.
inline cublasStatus_t run_strided(const call& where, cublasHandle_t handle, product p, int64_t stride_a,
                                  int64_t stride_b, int64_t stride_c, int count) {
  const auto moved = [](const void* data, cudaDataType type, int64_t elements) {
    const int64_t bytes = type == CUDA_R_64F                          ? 8
                          : type == CUDA_R_16F || type == CUDA_R_16BF ? 2
                          : type == CUDA_R_8I                         ? 1
                                                                      : 4;
    return static_cast<char*>(const_cast<void*>(data)) + elements * bytes;
  };
  for (int i = 0; i < count; ++i) {
    const cublasStatus_t status = run(where, handle, p);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    p.a = moved(p.a, p.type_a, stride_a);
    p.b = moved(p.b, p.type_b, stride_b);
    p.c = moved(p.c, p.type_c, stride_c);
  }
  return CUBLAS_STATUS_SUCCESS;
}
// The same for matrices whose addresses are in arrays in device memory.
inline cublasStatus_t run_batch(const call& where, cublasHandle_t handle, product p, const void* const a[],
                                const void* const b[], void* const c[], int count) {
  for (int i = 0; i < count; ++i) {
    p.a = a[i], p.b = b[i], p.c = c[i];
    const cublasStatus_t status = run(where, handle, p);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace simt::import::blas

#define SIMT_IMPORT_CUBLAS_GEMM(letter, T)                                                                            \
  inline cublasStatus_t cublas##letter##gemm(simt_cublas_caller handle, cublasOperation_t op_a,                       \
                                             cublasOperation_t op_b, int m, int n, int k, const T* alpha, const T* a, \
                                             int ld_a, const T* b, int ld_b, const T* beta, T* c, int ld_c) {         \
    constexpr cudaDataType type = ::simt::import::blas::type_of<T>();                                                 \
    return ::simt::import::blas::run(                                                                                 \
        ::simt::import::blas::at("cublas" #letter "gemm", handle.where), handle,                                      \
        {op_a, op_b, m, n, k, alpha, a, b, beta, c, type, type, type, ld_a, ld_b, ld_c, type});                       \
  }                                                                                                                   \
  inline cublasStatus_t cublas##letter##gemmStridedBatched(                                                           \
      simt_cublas_caller handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k, const T* alpha, \
      const T* a, int ld_a, long long stride_a, const T* b, int ld_b, long long stride_b, const T* beta, T* c,        \
      int ld_c, long long stride_c, int count) {                                                                      \
    constexpr cudaDataType type = ::simt::import::blas::type_of<T>();                                                 \
    return ::simt::import::blas::run_strided(                                                                         \
        ::simt::import::blas::at("cublas" #letter "gemmStridedBatched", handle.where), handle,                        \
        {op_a, op_b, m, n, k, alpha, a, b, beta, c, type, type, type, ld_a, ld_b, ld_c, type}, stride_a, stride_b,    \
        stride_c, count);                                                                                             \
  }                                                                                                                   \
  inline cublasStatus_t cublas##letter##gemmBatched(                                                                  \
      simt_cublas_caller handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k, const T* alpha, \
      const T* const a[], int ld_a, const T* const b[], int ld_b, const T* beta, T* const c[], int ld_c, int count) { \
    constexpr cudaDataType type = ::simt::import::blas::type_of<T>();                                                 \
    return ::simt::import::blas::run_batch(                                                                           \
        ::simt::import::blas::at("cublas" #letter "gemmBatched", handle.where), handle,                               \
        {op_a, op_b, m, n, k, alpha, nullptr, nullptr, beta, nullptr, type, type, type, ld_a, ld_b, ld_c, type},      \
        reinterpret_cast<const void* const*>(a), reinterpret_cast<const void* const*>(b),                             \
        reinterpret_cast<void* const*>(c), count);                                                                    \
  }
SIMT_IMPORT_CUBLAS_GEMM(S, float)
SIMT_IMPORT_CUBLAS_GEMM(D, double)
SIMT_IMPORT_CUBLAS_GEMM(H, __half)
#undef SIMT_IMPORT_CUBLAS_GEMM

// The element types and the computation type, by number. As before CUDA 11, a cudaDataType may name a computation.
inline cublasStatus_t cublasGemmEx(simt_cublas_caller handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                                   int n, int k, const void* alpha, const void* a, cudaDataType type_a, int ld_a,
                                   const void* b, cudaDataType type_b, int ld_b, const void* beta, void* c,
                                   cudaDataType type_c, int ld_c, cublasComputeType_t compute, cublasGemmAlgo_t) {
  return ::simt::import::blas::run(::simt::import::blas::at("cublasGemmEx", handle.where), handle,
                                   {op_a, op_b, m, n, k, alpha, a, b, beta, c, type_a, type_b, type_c, ld_a, ld_b, ld_c,
                                    ::simt::import::blas::scalar_type(compute)});
}
inline cublasStatus_t cublasGemmEx(simt_cublas_caller handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                                   int n, int k, const void* alpha, const void* a, cudaDataType type_a, int ld_a,
                                   const void* b, cudaDataType type_b, int ld_b, const void* beta, void* c,
                                   cudaDataType type_c, int ld_c, cudaDataType compute, cublasGemmAlgo_t algorithm) {
  return cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, a, type_a, ld_a, b, type_b, ld_b, beta, c, type_c, ld_c,
                      ::simt::import::blas::compute_type(compute), algorithm);
}
inline cublasStatus_t cublasSgemmEx(simt_cublas_caller handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                                    int n, int k, const float* alpha, const void* a, cudaDataType type_a, int ld_a,
                                    const void* b, cudaDataType type_b, int ld_b, const float* beta, void* c,
                                    cudaDataType type_c, int ld_c) {
  return cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, a, type_a, ld_a, b, type_b, ld_b, beta, c, type_c, ld_c,
                      CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}
template <class Compute>
cublasStatus_t cublasGemmStridedBatchedEx(simt_cublas_caller handle, cublasOperation_t op_a, cublasOperation_t op_b,
                                          int m, int n, int k, const void* alpha, const void* a, cudaDataType type_a,
                                          int ld_a, long long stride_a, const void* b, cudaDataType type_b, int ld_b,
                                          long long stride_b, const void* beta, void* c, cudaDataType type_c, int ld_c,
                                          long long stride_c, int count, Compute compute, cublasGemmAlgo_t) {
  cublasComputeType_t computation;
  if constexpr (std::is_same_v<Compute, cudaDataType>)
    computation = ::simt::import::blas::compute_type(compute);
  else
    computation = compute;
  return ::simt::import::blas::run_strided(::simt::import::blas::at("cublasGemmStridedBatchedEx", handle.where), handle,
                                           {op_a, op_b, m, n, k, alpha, a, b, beta, c, type_a, type_b, type_c, ld_a,
                                            ld_b, ld_c, ::simt::import::blas::scalar_type(computation)},
                                           stride_a, stride_b, stride_c, count);
}

// Vectors, and matrices by vectors.
#define SIMT_IMPORT_CUBLAS_VECTORS(letter, T)                                                                          \
  inline cublasStatus_t cublas##letter##gemv(simt_cublas_caller handle, cublasOperation_t op, int m, int n,            \
                                             const T* alpha, const T* a, int ld, const T* x, int step_x,               \
                                             const T* beta, T* y, int step_y) {                                        \
    using namespace ::simt::import::blas;                                                                              \
    if (step_x <= 0 || step_y <= 0) return CUBLAS_STATUS_INVALID_VALUE;                                                \
    const int rows = op == CUBLAS_OP_N ? m : n, cols = op == CUBLAS_OP_N ? n : m;                                      \
    constexpr cudaDataType type = type_of<T>();                                                                        \
    matrix turned = operand(a, type, op == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N, cols, rows, ld);                   \
    const factor factor_alpha(alpha, type), factor_beta(beta, type);                                                   \
    return queue(handle, handle.where, [=] {                                                                           \
      return multiply(::simt::import::blas::at("cublas" #letter "gemv", handle.where), factor_alpha,                   \
                      vector_of(x, type, cols, step_x), turned, factor_beta, vector_of(y, type, rows, step_y));        \
    });                                                                                                                \
  }                                                                                                                    \
  inline cublasStatus_t cublas##letter##ger(simt_cublas_caller handle, int m, int n, const T* alpha, const T* x,       \
                                            int step_x, const T* y, int step_y, T* a, int ld) {                        \
    using namespace ::simt::import::blas;                                                                              \
    if (step_x <= 0 || step_y <= 0) return CUBLAS_STATUS_INVALID_VALUE;                                                \
    constexpr cudaDataType type = type_of<T>();                                                                        \
    const factor factor_alpha(alpha, type);                                                                            \
    return queue(handle, handle.where, [=] {                                                                           \
      return multiply(::simt::import::blas::at("cublas" #letter "ger", handle.where), factor_alpha,                    \
                      operand(x, type, CUBLAS_OP_T, m, 1, step_x), vector_of(y, type, n, step_y), 1,                   \
                      operand(a, type, CUBLAS_OP_N, m, n, ld));                                                        \
    });                                                                                                                \
  }                                                                                                                    \
  inline cublasStatus_t cublas##letter##geam(simt_cublas_caller handle, cublasOperation_t op_a,                        \
                                             cublasOperation_t op_b, int m, int n, const T* alpha, const T* a,         \
                                             int ld_a, const T* beta, const T* b, int ld_b, T* c, int ld_c) {          \
    using namespace ::simt::import::blas;                                                                              \
    constexpr cudaDataType type = type_of<T>();                                                                        \
    const factor factor_alpha(alpha, type), factor_beta(beta, type);                                                   \
    return queue(handle, handle.where, [=] {                                                                           \
      return add(::simt::import::blas::at("cublas" #letter "geam", handle.where), factor_alpha,                        \
                 operand(a, type, op_a, m, n, ld_a), factor_beta, operand(b, type, op_b, m, n, ld_b),                  \
                 operand(c, type, CUBLAS_OP_N, m, n, ld_c));                                                           \
    });                                                                                                                \
  }                                                                                                                    \
  inline cublasStatus_t cublas##letter##axpy(simt_cublas_caller handle, int n, const T* alpha, const T* x, int step_x, \
                                             T* y, int step_y) {                                                       \
    using namespace ::simt::import::blas;                                                                              \
    if (step_x <= 0 || step_y <= 0) return CUBLAS_STATUS_INVALID_VALUE;                                                \
    constexpr cudaDataType type = type_of<T>();                                                                        \
    const factor factor_alpha(alpha, type);                                                                            \
    return queue(handle, handle.where, [=] {                                                                           \
      return add(::simt::import::blas::at("cublas" #letter "axpy", handle.where), factor_alpha,                        \
                 vector_of(x, type, n, step_x), 1, vector_of(y, type, n, step_y), vector_of(y, type, n, step_y));      \
    });                                                                                                                \
  }                                                                                                                    \
  inline cublasStatus_t cublas##letter##scal(simt_cublas_caller handle, int n, const T* alpha, T* x, int step) {       \
    using namespace ::simt::import::blas;                                                                              \
    if (step <= 0) return CUBLAS_STATUS_INVALID_VALUE;                                                                 \
    const matrix all = vector_of(x, type_of<T>(), n, step);                                                            \
    const factor factor_alpha(alpha, type_of<T>());                                                                    \
    return queue(handle, handle.where, [=] {                                                                           \
      return add(::simt::import::blas::at("cublas" #letter "scal", handle.where), factor_alpha, all, 0, all, all);     \
    });                                                                                                                \
  }                                                                                                                    \
  inline cublasStatus_t cublas##letter##copy(simt_cublas_caller handle, int n, const T* x, int step_x, T* y,           \
                                             int step_y) {                                                             \
    using namespace ::simt::import::blas;                                                                              \
    if (step_x <= 0 || step_y <= 0) return CUBLAS_STATUS_INVALID_VALUE;                                                \
    const matrix from = vector_of(x, type_of<T>(), n, step_x), to = vector_of(y, type_of<T>(), n, step_y);             \
    return queue(handle, handle.where, [=] {                                                                           \
      return add({"cublas" #letter "copy", handle.where, [](double exact) { return exact; }}, 1, from, 0, from, to);   \
    });                                                                                                                \
  }                                                                                                                    \
  inline cublasStatus_t simt_cublas_sum(const ::simt::import::blas::call& at, cublasHandle_t handle, int n,            \
                                        const T* x, int step_x, const T* y, int step_y, bool squares, T* result) {     \
    using namespace ::simt::import::blas;                                                                              \
    if (step_x <= 0 || step_y <= 0) return CUBLAS_STATUS_INVALID_VALUE;                                                \
    constexpr cudaDataType type = type_of<T>();                                                                        \
    return queue(                                                                                                      \
        handle, at.where,                                                                                              \
        [=] {                                                                                                          \
          double exact = 0;                                                                                            \
          const cublasStatus_t status =                                                                                \
              sum(at, vector_of(x, type, n, step_x), vector_of(y, type, n, step_y), squares, exact);                   \
          if (status == CUBLAS_STATUS_SUCCESS) put_scalar(at, result, type, exact);                                    \
          return status;                                                                                               \
        },                                                                                                             \
        handle && handle->pointers == CUBLAS_POINTER_MODE_HOST);                                                       \
  }                                                                                                                    \
  inline cublasStatus_t cublas##letter##dot(simt_cublas_caller handle, int n, const T* x, int step_x, const T* y,      \
                                            int step_y, T* result) {                                                   \
    return simt_cublas_sum(::simt::import::blas::at("cublas" #letter "dot", handle.where), handle, n, x, step_x, y,    \
                           step_y, false, result);                                                                     \
  }                                                                                                                    \
  inline cublasStatus_t cublas##letter##asum(simt_cublas_caller handle, int n, const T* x, int step, T* result) {      \
    return simt_cublas_sum(::simt::import::blas::at("cublas" #letter "asum", handle.where), handle, n, x, step,        \
                           static_cast<const T*>(nullptr), 1, false, result);                                          \
  }                                                                                                                    \
  inline cublasStatus_t cublas##letter##nrm2(simt_cublas_caller handle, int n, const T* x, int step, T* result) {      \
    return simt_cublas_sum(::simt::import::blas::at("cublas" #letter "nrm2", handle.where), handle, n, x, step,        \
                           static_cast<const T*>(nullptr), 1, true, result);                                           \
  }
SIMT_IMPORT_CUBLAS_VECTORS(S, float)
SIMT_IMPORT_CUBLAS_VECTORS(D, double)
#undef SIMT_IMPORT_CUBLAS_VECTORS
#define SIMT_IMPORT_CUBLAS_EXTREME(name, T, least)                                                                  \
  inline cublasStatus_t name(simt_cublas_caller handle, int n, const T* x, int step, int* place) {                  \
    using namespace ::simt::import::blas;                                                                           \
    if (step <= 0) return CUBLAS_STATUS_INVALID_VALUE;                                                              \
    return queue(                                                                                                   \
        handle, handle.where,                                                                                       \
        [=] {                                                                                                       \
          return extreme(::simt::import::blas::at(#name, handle.where), vector_of(x, type_of<T>(), n, step), least, \
                         *place);                                                                                   \
        },                                                                                                          \
        handle.handle && handle.handle->pointers == CUBLAS_POINTER_MODE_HOST);                                      \
  }
SIMT_IMPORT_CUBLAS_EXTREME(cublasIsamax, float, false)
SIMT_IMPORT_CUBLAS_EXTREME(cublasIsamin, float, true)
SIMT_IMPORT_CUBLAS_EXTREME(cublasIdamax, double, false)
SIMT_IMPORT_CUBLAS_EXTREME(cublasIdamin, double, true)
#undef SIMT_IMPORT_CUBLAS_EXTREME

// Copies between host and device, by columns or by strides.
inline cublasStatus_t simt_cublas_status(cudaError_t e) {
  return e == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}
inline cublasStatus_t cublasSetMatrix(int rows, int cols, int size, const void* a, int ld_a, void* b, int ld_b,
                                      SIMT_SITE) {
  const auto each = static_cast<size_t>(size);
  return simt_cublas_status(cudaMemcpy2D(b, ld_b * each, a, ld_a * each, rows * each, static_cast<size_t>(cols),
                                         cudaMemcpyHostToDevice, site));
}
inline cublasStatus_t cublasGetMatrix(int rows, int cols, int size, const void* a, int ld_a, void* b, int ld_b,
                                      SIMT_SITE) {
  const auto each = static_cast<size_t>(size);
  return simt_cublas_status(cudaMemcpy2D(b, ld_b * each, a, ld_a * each, rows * each, static_cast<size_t>(cols),
                                         cudaMemcpyDeviceToHost, site));
}
inline cublasStatus_t cublasSetVector(int n, int size, const void* x, int step_x, void* y, int step_y, SIMT_SITE) {
  return cublasSetMatrix(1, n, size, x, step_x, y, step_y, site);
}
inline cublasStatus_t cublasGetVector(int n, int size, const void* x, int step_x, void* y, int step_y, SIMT_SITE) {
  return cublasGetMatrix(1, n, size, x, step_x, y, step_y, site);
}

#define SIMT_IMPORT_CUBLAS_REFUSED(name)                                                         \
  template <class... Arguments>                                                                  \
  cublasStatus_t name(const Arguments&...) {                                                     \
    static_assert(sizeof...(Arguments) == ~0u, #name " is not modelled on the emulated device"); \
    return CUBLAS_STATUS_NOT_SUPPORTED;                                                          \
  }
SIMT_IMPORT_CUBLAS_REFUSED(cublasCgemm)
SIMT_IMPORT_CUBLAS_REFUSED(cublasZgemm)
SIMT_IMPORT_CUBLAS_REFUSED(cublasGemmBatchedEx)
SIMT_IMPORT_CUBLAS_REFUSED(cublasSsyrk)
SIMT_IMPORT_CUBLAS_REFUSED(cublasDsyrk)
SIMT_IMPORT_CUBLAS_REFUSED(cublasSsymm)
SIMT_IMPORT_CUBLAS_REFUSED(cublasStrsm)
SIMT_IMPORT_CUBLAS_REFUSED(cublasDtrsm)
SIMT_IMPORT_CUBLAS_REFUSED(cublasStrmm)

// The names that cuBLAS's own header gives them.
#define cublasCreate_v2 cublasCreate
#define cublasDestroy_v2 cublasDestroy
#define cublasGetVersion_v2 cublasGetVersion
#define cublasSetWorkspace_v2 cublasSetWorkspace
#define cublasSetStream_v2 cublasSetStream
#define cublasGetStream_v2 cublasGetStream
#define cublasSetPointerMode_v2 cublasSetPointerMode
#define cublasGetPointerMode_v2 cublasGetPointerMode
#define cublasSgemm_v2 cublasSgemm
#define cublasSgemv_v2 cublasSgemv
#define cublasSger_v2 cublasSger
#define cublasSaxpy_v2 cublasSaxpy
#define cublasSscal_v2 cublasSscal
#define cublasScopy_v2 cublasScopy
#define cublasSdot_v2 cublasSdot
#define cublasSasum_v2 cublasSasum
#define cublasSnrm2_v2 cublasSnrm2
#define cublasDgemm_v2 cublasDgemm
#define cublasDgemv_v2 cublasDgemv
#define cublasDger_v2 cublasDger
#define cublasDaxpy_v2 cublasDaxpy
#define cublasDscal_v2 cublasDscal
#define cublasDcopy_v2 cublasDcopy
#define cublasDdot_v2 cublasDdot
#define cublasDasum_v2 cublasDasum
#define cublasDnrm2_v2 cublasDnrm2
#define cublasIsamax_v2 cublasIsamax
#define cublasIsamin_v2 cublasIsamin
#define cublasIdamax_v2 cublasIdamax
#define cublasIdamin_v2 cublasIdamin
