// Flaw: the maximum starts at the lowest finite number, with index -1, and only a greater value replaces it.
#include "properties/controls/known_bad/known_bad.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

constexpr float k_lowest = -3.402823466e38f;

__global__ void softmax_sentinel(rows_call a) {
  SIMT_SHARED(maximum_scratch, float[k_max_warps]);
  SIMT_SHARED(sum_scratch, float[k_max_warps]);
  SIMT_SHARED(best, float[k_threads]);
  SIMT_SHARED(best_index, int64_t[k_threads]);
  for (int64_t r = blockIdx.x; r < a.rows; r += gridDim.x) {
    const float* x = a.x + r * a.ldx;
    float value = k_lowest;
    int64_t index = -1;
    for (int64_t i = threadIdx.x; i < a.cols; i += k_threads)
      if (x[i] > value) {
        value = x[i];
        index = i;
      }
    best[threadIdx.x] = value;
    best_index[threadIdx.x] = index;
    const float maximum = fmaxf(k_lowest, strided_maximum(x, a.cols, maximum_scratch));
    if (threadIdx.x == 0 && a.argmax != nullptr) {
      for (int t = 1; t < k_threads; ++t)
        if (best[t] > value || (best[t] == value && best_index[t] >= 0 && best_index[t] < index)) {
          value = best[t];
          index = best_index[t];
        }
      a.argmax[r] = index;
    }
    const float sum = strided_sum(x, a.cols, maximum, sum_scratch);
    strided_quotients(x, a.y + r * a.ldy, a.cols, maximum, sum);
    __syncthreads();
  }
}

constexpr candidate_run run = launch_rows<softmax_sentinel>;

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_KNOWN_BAD(softmax, softmax_sentinel, run)
