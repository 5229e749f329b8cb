// Flaw: partial maxima are merged in the order of threads, so that which of equal maxima wins depends on the block
// size.
#include "properties/controls/known_bad/known_bad.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

// A NaN is larger than anything, the first one of a thread wins.
__device__ inline bool replaces(float candidate, float value) {
  return value == value && (candidate != candidate || candidate > value);
}

__global__ void softmax_thread_ties(rows_call a) {
  SIMT_SHARED(maximum_scratch, float[k_max_warps]);
  SIMT_SHARED(sum_scratch, float[k_max_warps]);
  SIMT_SHARED(best, float[k_threads]);
  SIMT_SHARED(best_index, int64_t[k_threads]);
  for (int64_t r = blockIdx.x; r < a.rows; r += gridDim.x) {
    const float* x = a.x + r * a.ldx;
    float value = x[threadIdx.x < a.cols ? threadIdx.x : 0];
    int64_t index = threadIdx.x < a.cols ? threadIdx.x : 0;
    for (int64_t i = threadIdx.x + k_threads; i < a.cols; i += k_threads)
      if (replaces(x[i], value)) {
        value = x[i];
        index = i;
      }
    best[threadIdx.x] = value;
    best_index[threadIdx.x] = index;
    const float maximum = strided_maximum(x, a.cols, maximum_scratch);
    if (threadIdx.x == 0 && a.argmax != nullptr) {
      for (int t = 1; t < k_threads; ++t)
        if (replaces(best[t], value)) {
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

constexpr candidate_run run = launch_rows<softmax_thread_ties>;

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_KNOWN_BAD(softmax, softmax_thread_ties, run)
