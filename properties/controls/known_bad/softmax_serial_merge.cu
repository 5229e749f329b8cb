// Flaw: thread 0 adds the partial sums of all others one by one: a chain of 1023 additions, in which small terms
// vanish.
#include "properties/controls/known_bad/known_bad.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

constexpr int k_all_threads = 1024;

__global__ void softmax_serial_merge(rows_call a) {
  SIMT_SHARED(maximum_scratch, float[k_max_warps]);
  SIMT_SHARED(partial, float[k_all_threads]);
  SIMT_SHARED(nan_scratch, int64_t[k_max_warps]);
  SIMT_SHARED(index_scratch, int64_t[k_max_warps]);
  for (int64_t r = blockIdx.x; r < a.rows; r += gridDim.x) {
    const float* x = a.x + r * a.ldx;
    const float maximum = strided_maximum(x, a.cols, maximum_scratch);
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < a.cols; i += k_all_threads) sum += expf(x[i] - maximum);
    partial[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
      for (int t = 1; t < k_all_threads; ++t) partial[0] += partial[t];
    __syncthreads();
    if (a.argmax != nullptr) {
      const int64_t index = strided_argmax(x, a.cols, maximum, nan_scratch, index_scratch);
      if (threadIdx.x == 0) a.argmax[r] = index;
    }
    strided_quotients(x, a.y + r * a.ldy, a.cols, maximum, partial[0]);
    __syncthreads();
  }
}

constexpr candidate_run run = launch_rows<softmax_serial_merge, k_all_threads>;

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_KNOWN_BAD(softmax, softmax_serial_merge, run)
