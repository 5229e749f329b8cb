// cuBLAS as a candidate for the sum of rows and for matrix products (abi/candidate.h): `verify reduce
// --candidate libwarpcheck_peer_cublas.so --device cuda` puts it on trial, `reduce_bench --peer` measures it.
//
// Sums are a product with a vector of ones: cublas<t>gemv_64 on the transpose, for a matrix by rows is one by columns
// transposed. The ones are written at each call. cuBLAS has no minimum and no maximum.
// Products are cublasGemmEx_64 with sums in f32. It has neither our modes of split operands nor a layer's epilogue, and
// promises nothing of a row alone.
#include <cublas_v2.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

#include "abi/candidate_table.hpp"
#include "bench/peers/peer_calls.hpp"
#include "kernels/candidate_support.hpp"
#include "kernels/matmul/arguments.hpp"
#include "kernels/matmul/call.hpp"
#include "kernels/rows/fill.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

void check(cublasStatus_t status, const char* what) {
  check_status(status, CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_NOT_SUPPORTED, cublasGetStatusString, what);
}

// One handle per process, made at the first call: a candidate may be loaded where no call follows.
cublasHandle_t handle() {
  static const cublasHandle_t made = [] {
    cublasHandle_t fresh = nullptr;
    check(cublasCreate(&fresh), "cublasCreate");
    return fresh;
  }();
  return made;
}

// y[r] = the sum of x[r, 0:cols].
void sum_rows(const matrix_view& x, const float* ones, float* y) {
  const float one = 1.0f, zero = 0.0f;
  check(cublasSgemv_64(handle(), CUBLAS_OP_T, x.cols, x.rows, &one, x.data<float>(), x.ld, ones, 1, &zero, y, 1),
        "cublasSgemv_64");
}
void sum_rows(const matrix_view& x, const double* ones, double* y) {
  const double one = 1.0, zero = 0.0;
  check(cublasDgemv_64(handle(), CUBLAS_OP_T, x.cols, x.rows, &one, x.data<double>(), x.ld, ones, 1, &zero, y, 1),
        "cublasDgemv_64");
}

// Tensors and scalars: see run_reduction.
warpcheck_status run_reduce(warpcheck_call* call) {
  return run_reduction(call, "cuBLAS", [](const matrix_view& x, auto* y, reduction op, cudaStream_t stream) {
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

// Its columns are our rows, so it computes C^T = op(B)^T op(A)^T.
template <class T, class TC>
void multiply(const matmul_call& c, cudaStream_t stream) {
  const auto operation = [](trans t) { return t == trans::yes ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const auto pitch = [](int64_t ld) { return std::max<int64_t>(1, ld); };
  check(cublasSetStream(handle(), stream), "cublasSetStream");
  check(cublasGemmEx_64(handle(), operation(c.tb), operation(c.ta), c.n, c.m, c.k, &c.alpha, c.b.base, k_type_of<T>,
                        pitch(c.b.ld), c.a.base, k_type_of<T>, pitch(c.a.ld), &c.beta, c.c.template mutable_data<TC>(),
                        k_type_of<TC>, pitch(c.c.ld), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx_64");
}

warpcheck_status run_matmul(warpcheck_call* call) {
  return candidate_call(call, [&] {
    const matmul_call c = read_matmul_call(call);
    with_matmul_types(c, [&](auto type, auto output) {
      using T = typename decltype(type)::type;
      using TC = typename decltype(output)::type;
      check_matmul_arguments<T, TC>(c.ta == trans::yes, c.tb == trans::yes, c.m, c.n, c.k, c.a.template data<T>(),
                                    c.a.ld, c.b.template data<T>(), c.b.ld, c.c.template data<TC>(), c.c.ld,
                                    c.epilogue.bias, c.work, c.work_bytes, 0);
      if (call->variant != nullptr) throw unsupported_call("cuBLAS has no variants");
      if (c.options.mode != matmul_mode::ieee) throw unsupported_call("cuBLAS splits no operands of f32");
      if (c.options.rows_alone) throw unsupported_call("cuBLAS promises nothing of a row alone");
      if (c.epilogue.bias != nullptr || c.epilogue.sigmoid)
        throw unsupported_call("cublasGemmEx has no bias, no sigmoid");
      if (c.m > 0 && c.n > 0) multiply<T, TC>(c, static_cast<cudaStream_t>(call->stream));
    });
  });
}

constexpr warpcheck_operator k_reduce =
    operator_of_rows("reduce", WARPCHECK_DEVICE_CUDA, WARPCHECK_F32 | WARPCHECK_F64, run_reduce);
constexpr warpcheck_operator k_matmul = {sizeof(warpcheck_operator),
                                         "matmul",
                                         WARPCHECK_DEVICE_CUDA,
                                         k_matmul_dtypes,
                                         3,
                                         k_matmul_extents,
                                         nullptr,
                                         0,
                                         {},
                                         run_matmul,
                                         nullptr};

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

extern "C" __attribute__((visibility("default"))) const warpcheck_candidate* warpcheck_candidate_get(
    uint32_t abi_version) {
  if (abi_version != WARPCHECK_CANDIDATE_ABI) return nullptr;
  static const warpcheck_operator* const operators[] = {&warpcheck::k_reduce, &warpcheck::k_matmul};
  static const std::string build = "cuBLAS " + std::to_string(CUBLAS_VERSION);
  static const warpcheck_candidate table = {
      WARPCHECK_CANDIDATE_ABI, sizeof(warpcheck_candidate), "cublas", build.c_str(), operators, 2, nullptr};
  return &table;
}
