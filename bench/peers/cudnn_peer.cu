// cuDNN's softmax and log-softmax as candidates (abi/candidate.h): `verify softmax --candidate
// libwarpcheck_peer_cudnn.so --device cuda` puts them on trial, `softmax_bench --peer` measures them.
//
// cudnnSoftmaxForward, algorithms ACCURATE and LOG, mode CHANNEL on rows x cols x 1 x 1; sizes and strides are 32-bit
// there, and there is no argmax. The library is found when this one is loaded.
#include <cudnn.h>

#include <cstdint>
#include <limits>
#include <string>

#include "abi/candidate_library.hpp"
#include "abi/candidate_table.hpp"
#include "bench/peers/peer_calls.hpp"
#include "kernels/candidate_support.hpp"
#include "kernels/softmax/contract.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

void check(cudnnStatus_t status, const char* what) {
  check_status(status, CUDNN_STATUS_SUCCESS, CUDNN_STATUS_NOT_SUPPORTED, cudnnGetErrorString, what);
}

// One handle per process, made at the first call, because a candidate may be loaded without a call.
cudnnHandle_t handle() {
  static const cudnnHandle_t made = [] {
    cudnnHandle_t fresh = nullptr;
    check(cudnnCreate(&fresh), "cudnnCreate");
    return fresh;
  }();
  return made;
}

class row_descriptor {
 public:
  row_descriptor(const tensor_view& m, cudnnDataType_t type) {
    check(cudnnCreateTensorDescriptor(&descriptor_), "cudnnCreateTensorDescriptor");
    const auto narrow = [](int64_t extent) { return static_cast<int>(extent); };
    check(cudnnSetTensor4dDescriptorEx(descriptor_, type, narrow(m.rows), narrow(m.cols), 1, 1, narrow(m.ld), 1, 1, 1),
          "cudnnSetTensor4dDescriptorEx");
  }
  ~row_descriptor() { cudnnDestroyTensorDescriptor(descriptor_); }
  row_descriptor(const row_descriptor&) = delete;
  row_descriptor& operator=(const row_descriptor&) = delete;

  cudnnTensorDescriptor_t get() const { return descriptor_; }

 private:
  cudnnTensorDescriptor_t descriptor_ = nullptr;
};

warpcheck_status run(warpcheck_call* call, cudnnSoftmaxAlgorithm_t algorithm) {
  return candidate_call(call, [&] {
    // A call of log_softmax is one of softmax without an index.
    const checked_call checked = check_call(softmax_contract(), *call);
    check_memory(checked);
    const tensor_view &x = checked.at("x"), &y = checked.at("y");
    if (checked.at("index").tensor) throw unsupported_call("cuDNN returns no argmax");
    if (call->variant != nullptr) throw unsupported_call("cuDNN has no variants");
    if (x.rows == 0 || x.cols == 0) return;
    constexpr int64_t k_most = std::numeric_limits<int>::max();
    if (x.rows > k_most || x.ld > k_most || y.ld > k_most || x.rows * x.ld > k_most || y.rows * y.ld > k_most)
      throw unsupported_call("cuDNN's sizes and strides are 32-bit");
    const cudnnDataType_t type = x.type == WARPCHECK_F32   ? CUDNN_DATA_FLOAT
                                 : x.type == WARPCHECK_F16 ? CUDNN_DATA_HALF
                                                           : CUDNN_DATA_BFLOAT16;
    const row_descriptor x_descriptor(x, type);
    const row_descriptor y_descriptor(y, type);
    const float one = 1.0f;
    const float zero = 0.0f;
    check(cudnnSetStream(handle(), static_cast<cudaStream_t>(call->stream)), "cudnnSetStream");
    check(cudnnSoftmaxForward(handle(), algorithm, CUDNN_SOFTMAX_MODE_CHANNEL, &one, x_descriptor.get(), x.data, &zero,
                              y_descriptor.get(), y.data),
          "cudnnSoftmaxForward");
  });
}

constexpr uint32_t k_dtypes = WARPCHECK_F32 | WARPCHECK_F16 | WARPCHECK_BF16;

warpcheck_status run_softmax(warpcheck_call* call) { return run(call, CUDNN_SOFTMAX_ACCURATE); }
warpcheck_status run_log_softmax(warpcheck_call* call) { return run(call, CUDNN_SOFTMAX_LOG); }

constexpr warpcheck_operator k_softmax = operator_of_rows("softmax", WARPCHECK_DEVICE_CUDA, k_dtypes, run_softmax);
constexpr warpcheck_operator k_log_softmax =
    operator_of_rows("log_softmax", WARPCHECK_DEVICE_CUDA, k_dtypes, run_log_softmax);

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

extern "C" __attribute__((visibility("default"))) const warpcheck_candidate* warpcheck_candidate_get(
    uint32_t abi_version) {
  static const warpcheck_operator* const operators[] = {&warpcheck::k_softmax, &warpcheck::k_log_softmax};
  return warpcheck::candidate_library(abi_version, "cudnn", "cuDNN " + std::to_string(cudnnGetVersion()), operators);
}
