// cublasLt's product of matrices in f32, with a bias.
//   warpcheck verify matmul --source docs/bring_your_own/cublaslt.cu --entry my_matmul --device cuda
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>

// A function of the library, which is loaded by the first call.
#define LT(name) reinterpret_cast<decltype(&cublasLt##name)>(dlsym(library(), "cublasLt" #name))

void* library() {
  static void* const so = dlopen(CUBLAS_VERSION >= 130000 ? "libcublasLt.so.13" : "libcublasLt.so.12", RTLD_NOW);
  return so;
}

uint32_t alignment(const void* p) {
  const auto at = reinterpret_cast<uintptr_t>(p);
  return std::min<uintptr_t>(256, at & -at);
}

// Its columns are our rows: c^T = op(b)^T op(a)^T.
int my_matmul(const float* a, const float* b, const float* bias, float* c, int64_t lda, int64_t ldb, int64_t ldc,
              int64_t m, int64_t n, int64_t k, int ta, int tb, float alpha, cudaStream_t stream) {
  constexpr size_t k_workspace = size_t{32} << 20;
  if (library() == nullptr || k == 0) return cudaErrorNotSupported;
  static cublasLtHandle_t handle = nullptr;
  static void* workspace = nullptr;
  if (handle == nullptr && (LT(Create)(&handle) || cudaMalloc(&workspace, k_workspace))) return cudaErrorUnknown;

  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t left = nullptr, right = nullptr, result = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  LT(MatmulDescCreate)(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  const auto set = [&](cublasLtMatmulDescAttributes_t what, auto value) {
    LT(MatmulDescSetAttribute)(product, what, &value, sizeof value);
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, tb ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, ta ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (bias) set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  if (bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  LT(MatrixLayoutCreate)(&left, CUDA_R_32F, tb ? k : n, tb ? n : k, std::max<int64_t>(1, ldb));
  LT(MatrixLayoutCreate)(&right, CUDA_R_32F, ta ? m : k, ta ? k : m, std::max<int64_t>(1, lda));
  LT(MatrixLayoutCreate)(&result, CUDA_R_32F, n, m, std::max<int64_t>(1, ldc));
  LT(MatmulPreferenceCreate)(&preference);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t what, auto value) {
    LT(MatmulPreferenceSetAttribute)(preference, what, &value, sizeof value);
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, k_workspace);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(b));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(a));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(c));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(c));

  cublasLtMatmulHeuristicResult_t found = {};
  int count = 0;
  const float zero = 0;
  cublasStatus_t status =
      LT(MatmulAlgoGetHeuristic)(handle, product, left, right, result, result, preference, 1, &found, &count);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = LT(Matmul)(handle, product, &alpha, b, left, a, right, &zero, c, result, c, result, &found.algo, workspace,
                        k_workspace, stream);
  LT(MatmulPreferenceDestroy)(preference);
  for (const auto layout : {left, right, result}) LT(MatrixLayoutDestroy)(layout);
  LT(MatmulDescDestroy)(product);
  return status == CUBLAS_STATUS_NOT_SUPPORTED ? cudaErrorNotSupported : 1000 * (status != CUBLAS_STATUS_SUCCESS);
}
