// Flaw: every thread reads the maximum from slot 0, and thread 0 stores its partial sum there with no barrier between.
#include "properties/controls/known_bad/known_bad.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

__global__ void softmax_slot_reuse(rows_call a) {
  SIMT_SHARED(slot, float[k_threads]);
  SIMT_SHARED(nan_scratch, int64_t[k_max_warps]);
  SIMT_SHARED(index_scratch, int64_t[k_max_warps]);
  const int t = static_cast<int>(threadIdx.x);
  for (int64_t r = blockIdx.x; r < a.rows; r += gridDim.x) {
    const float* x = a.x + r * a.ldx;
    float maximum = -INFINITY;
    for (int64_t i = t; i < a.cols; i += k_threads) maximum = fmaxf(maximum, x[i]);
    slot[t] = maximum;
    for (int half = k_threads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (t < half) slot[t] = fmaxf(slot[t], slot[t + half]);
    }
    __syncthreads();
    maximum = slot[0];  // @read
    float sum = 0.0f;
    for (int64_t i = t; i < a.cols; i += k_threads) sum += expf(x[i] - maximum);
    slot[t] = sum;  // @write
    for (int half = k_threads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (t < half) slot[t] += slot[t + half];
    }
    __syncthreads();
    sum = slot[0];
    if (a.argmax != nullptr) {
      const int64_t index = strided_argmax(x, a.cols, maximum, nan_scratch, index_scratch);
      if (t == 0) a.argmax[r] = index;
    }
    strided_quotients(x, a.y + r * a.ldy, a.cols, maximum, sum);
    __syncthreads();
  }
}

constexpr candidate_run run = launch_rows<softmax_slot_reuse>;

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_KNOWN_BAD(softmax, {"softmax_slot_reuse", run})
