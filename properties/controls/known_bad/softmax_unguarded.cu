// Flaws: the length of a row and the counter of its elements are `int`: a length beyond 2^31 becomes negative, and the
// counter wraps at the end of a row just below that; sizes are not checked (null, negative); scratch of 8 bytes per
// thread is sized by the row, not by the block; the rows lie on a grid dimension of 65,535, and nobody looks whether
// the launch took place.
#include "properties/controls/known_bad/known_bad.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

__global__ void softmax_unguarded(const float* x, int64_t ldx, float* y, int64_t ldy, int cols) {
  SIMT_SHARED(maximum_scratch, float[k_max_warps]);
  SIMT_SHARED(sum_scratch, float[k_max_warps]);
  SIMT_DYN_SHARED(double, scratch);
  x += blockIdx.y * ldx;
  y += blockIdx.y * ldy;
  scratch[threadIdx.x] = 0;  // @scratch
  float maximum = -INFINITY, sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) maximum = fmaxf(maximum, x[i]);
  maximum = block_reduce(maximum, max_of(), maximum_scratch);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(x[i] - maximum);
  sum = block_reduce(sum, sum_of(), sum_scratch);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) y[i] = expf(x[i] - maximum) / sum;
}

warpcheck_status run(warpcheck_call* call) {
  return candidate_call(call, [&] {
    const DLTensor& x = *call->inputs[0];
    const DLTensor& y = *call->outputs[0];
    const int64_t rows = x.shape[0];
    const auto cols = static_cast<int>(x.shape[1]);
    if (rows <= 0 || cols <= 0 || x.data == nullptr || y.data == nullptr) return;
    if (call->num_outputs > 1 && call->outputs[1] != nullptr) throw unsupported_call("argmax is not offered");
    const size_t scratch = sizeof(double) * static_cast<size_t>(cols < k_threads ? cols : k_threads);
    try {
      simt::launch(
          {dim3(1, static_cast<unsigned>(rows)), k_threads, scratch, static_cast<simt::stream_t>(call->stream)},
          softmax_unguarded, static_cast<const float*>(x.data), x.strides[0], static_cast<float*>(y.data), y.strides[0],
          cols);
    } catch (const simt::device_error&) {
      // As in a CUDA program that never asks for the error of a launch.
    }
  });
}

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_KNOWN_BAD(softmax, {"softmax_unguarded", run})
