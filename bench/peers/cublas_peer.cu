// cuBLAS as a candidate for the sum of rows (kernels/candidate.h): `verify reduce --candidate
// libwarpcheck_peer_cublas.so --device cuda` puts it on trial, `reduce_bench --peer` measures it.
//
// A product with a vector of ones: cublas<t>gemv_64 on the transpose, for a matrix by rows is one by columns
// transposed. The ones are written at each call. cuBLAS has no minimum and no maximum.
#include <cublas_v2.h>

#include <cstdint>
#include <string>
#include <type_traits>

#include "bench/peers/peer_calls.hpp"
#include "kernels/candidate_support.hpp"
#include "kernels/candidate_table.hpp"
#include "kernels/primitives/fill.hpp"

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

constexpr warpcheck_operator k_reduce =
    operator_of_rows("reduce", WARPCHECK_DEVICE_CUDA, WARPCHECK_F32 | WARPCHECK_F64, run_reduce);

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

extern "C" __attribute__((visibility("default"))) const warpcheck_candidate* warpcheck_candidate_get(
    uint32_t abi_version) {
  if (abi_version != WARPCHECK_CANDIDATE_ABI) return nullptr;
  static const warpcheck_operator* const operators[] = {&warpcheck::k_reduce};
  static const std::string build = "cuBLAS " + std::to_string(CUBLAS_VERSION);
  static const warpcheck_candidate table = {
      WARPCHECK_CANDIDATE_ABI, sizeof(warpcheck_candidate), "cublas", build.c_str(), operators, 1, nullptr};
  return &table;
}
