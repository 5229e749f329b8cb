// Flaws: sizes are not checked (null, negative); scratch of 8 bytes per thread is sized by the row, not by the block;
// the rows lie on a grid dimension of 65,535, and nobody looks whether the launch took place.
#include "properties/known_bad/known_bad.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

constexpr int k_threads = 256;

__global__ void softmax_unguarded(rows_call a) {
  SIMT_SHARED(maximum_scratch, float[k_max_warps]);
  SIMT_SHARED(sum_scratch, float[k_max_warps]);
  SIMT_DYN_SHARED(double, scratch);
  const float* x = a.x + blockIdx.y * a.ldx;
  scratch[threadIdx.x] = 0;  // @scratch
  const float maximum = strided_maximum(x, a.cols, maximum_scratch);
  const float sum = strided_sum(x, a.cols, maximum, sum_scratch);
  strided_quotients(x, a.y + blockIdx.y * a.ldy, a.cols, maximum, sum);
}

warpcheck_status run(warpcheck_call* call) {
  return candidate_call(call, [&] {
    const DLTensor& x = *call->inputs[0];
    const DLTensor& y = *call->outputs[0];
    if (call->num_outputs > 1 && call->outputs[1] != nullptr) throw unsupported_call("argmax is not offered");
    const rows_call a{static_cast<const float*>(x.data),
                      x.strides[0],
                      static_cast<float*>(y.data),
                      y.strides[0],
                      x.shape[0],
                      x.shape[1],
                      nullptr,
                      static_cast<simt::stream_t>(call->stream)};
    if (a.rows <= 0 || a.cols <= 0 || a.x == nullptr || a.y == nullptr) return;
    const size_t scratch = sizeof(double) * static_cast<size_t>(a.cols < k_threads ? a.cols : k_threads);
    try {
      simt::launch({dim3(1, static_cast<unsigned>(a.rows)), k_threads, scratch, a.stream}, softmax_unguarded, a);
    } catch (const simt::device_error&) {
      // What a CUDA program does that never asks for the error of a launch.
    }
  });
}

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_KNOWN_BAD(softmax, softmax_unguarded, run)
