// cuBLAS as a candidate for the sum of rows and for matrix products (abi/candidate.h): `verify reduce
// --candidate libwarpcheck_peer_cublas.so --device cuda` puts it on trial, `reduce_bench --peer` measures it.
//
// Sums are a product with a vector of ones: cublas<t>gemv_64 on the transpose, for a matrix by rows is one by columns
// transposed. The ones are written at each call. cuBLAS has no minimum and no maximum.
// Products are in multiply_peer.hpp: cublasGemmEx_64 with sums in f32, or cublasSgemv_64 where C is a row or a column.
// With WARPCHECK_CUBLAS_BF16X9 operands of f32 are split into three of bf16, whose nine products are added up; it is
// the candidate cublas_bf16x9 then.
#include <cublas_v2.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

#include "abi/candidate_library.hpp"
#include "abi/candidate_table.hpp"
#include "bench/peers/multiply_peer.hpp"
#include "bench/peers/peer_calls.hpp"
#include "kernels/candidate_support.hpp"
#include "kernels/rows/fill.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

void check(cublasStatus_t status, const char* what) {
  check_status(status, CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_NOT_SUPPORTED, cublasGetStatusString, what);
}

// One handle per process, made at the first call, because a candidate may be loaded without a call.
cublasHandle_t handle() {
  static const cublasHandle_t made = [] {
    cublasHandle_t fresh = nullptr;
    check(cublasCreate(&fresh), "cublasCreate");
    return fresh;
  }();
  return made;
}

// y[r] = the sum of x[r, 0:cols].
void sum_rows(const tensor_view& x, const float* ones, float* y) {
  const float one = 1.0f, zero = 0.0f;
  check(cublasSgemv_64(handle(), CUBLAS_OP_T, x.cols, x.rows, &one, x.as<float>(), x.ld, ones, 1, &zero, y, 1),
        "cublasSgemv_64");
}
void sum_rows(const tensor_view& x, const double* ones, double* y) {
  const double one = 1.0, zero = 0.0;
  check(cublasDgemv_64(handle(), CUBLAS_OP_T, x.cols, x.rows, &one, x.as<double>(), x.ld, ones, 1, &zero, y, 1),
        "cublasDgemv_64");
}

warpcheck_status run_reduce(warpcheck_call* call) {
  return run_reduction(call, "cuBLAS", [](const tensor_view& x, auto* y, reduction op, cudaStream_t stream) {
    using T = std::remove_pointer_t<decltype(y)>;
    if (op != reduction::sum) throw unsupported_call("cuBLAS has no minimum and no maximum of rows");
    if (x.cols == 0) return simt::memset_async(y, 0, static_cast<size_t>(x.rows) * sizeof(T), stream);
    const simt::buffer<T> ones(static_cast<size_t>(x.cols), stream);
    fill(ones.data(), x.cols, T{1}, stream);
    check(cublasSetStream(handle(), stream), "cublasSetStream");
    sum_rows(x, ones.data(), y);
  });
}

template <class T>
constexpr cudaDataType_t k_type_of = std::is_same_v<T, float>       ? CUDA_R_32F
                                     : std::is_same_v<T, simt::f16> ? CUDA_R_16F
                                                                    : CUDA_R_16BF;

#ifdef WARPCHECK_CUBLAS_BF16X9
constexpr const char* k_name = "cublas_bf16x9";
constexpr cublasComputeType_t k_compute_f32 = CUBLAS_COMPUTE_32F_EMULATED_16BFX9;
#else
constexpr const char* k_name = "cublas";
constexpr cublasComputeType_t k_compute_f32 = CUBLAS_COMPUTE_32F;
#endif

// A row of C is its column C^T = B^T a, and op(B)^T is the matrix by columns that B is by rows.
void multiply_vector(const matmul_call& c) {
  const bool is_row = c.m == 1;
  const tensor_view &matrix = is_row ? c.b : c.a, &vector = is_row ? c.a : c.b;
  const bool is_stored_across = (is_row ? c.ta : c.tb) == (is_row ? trans::yes : trans::none);
  const bool transposes = is_row == ((is_row ? c.tb : c.ta) == trans::yes);
  check(cublasSgemv_64(handle(), transposes ? CUBLAS_OP_T : CUBLAS_OP_N, matrix.cols, matrix.rows, &c.alpha,
                       matrix.as<float>(), std::max<int64_t>(1, matrix.ld), vector.as<float>(),
                       is_stored_across ? std::max<int64_t>(1, vector.ld) : 1, &c.beta, c.c.as<float>(),
                       is_row ? 1 : std::max<int64_t>(1, c.c.ld)),
        "cublasSgemv_64");
}

// cuBLAS' columns are our rows, so it computes C^T = op(B)^T op(A)^T.
template <class T, class TC>
void multiply(const matmul_call& c, cudaStream_t stream) {
  const auto operation = [](trans t) { return t == trans::yes ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const auto pitch = [](int64_t ld) { return std::max<int64_t>(1, ld); };
  check(cublasSetStream(handle(), stream), "cublasSetStream");
  if constexpr (std::is_same_v<T, float>)
    if (k_compute_f32 == CUBLAS_COMPUTE_32F && (c.m == 1 || c.n == 1) && c.k > 0) return multiply_vector(c);
  check(cublasGemmEx_64(handle(), operation(c.tb), operation(c.ta), c.n, c.m, c.k, &c.alpha, c.b.data, k_type_of<T>,
                        pitch(c.b.ld), c.a.data, k_type_of<T>, pitch(c.a.ld), &c.beta, c.c.template as<TC>(),
                        k_type_of<TC>, pitch(c.c.ld), std::is_same_v<T, float> ? k_compute_f32 : CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx_64");
}

warpcheck_status run_matmul(warpcheck_call* call) {
  return run_product(call, "cuBLAS", [](const matmul_call& c, auto type, auto output, cudaStream_t stream) {
    multiply<typename decltype(type)::type, typename decltype(output)::type>(c, stream);
  });
}

constexpr warpcheck_operator k_reduce =
    operator_of_rows("reduce", WARPCHECK_DEVICE_CUDA, WARPCHECK_F32 | WARPCHECK_F64, run_reduce);
constexpr warpcheck_operator k_matmul = product_operator(k_matmul_dtypes, run_matmul);

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

extern "C" __attribute__((visibility("default"))) const warpcheck_candidate* warpcheck_candidate_get(
    uint32_t abi_version) {
  static const warpcheck_operator* const operators[] = {&warpcheck::k_reduce, &warpcheck::k_matmul};
  return warpcheck::candidate_library(abi_version, warpcheck::k_name, "cuBLAS " + std::to_string(CUBLAS_VERSION),
                                      operators);
}
