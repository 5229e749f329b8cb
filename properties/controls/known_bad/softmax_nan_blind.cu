// Flaw: the comparison of the argmax passes over NaN, so that a row of NaN results has the index of a finite logit.
#include "properties/controls/known_bad/known_bad.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

__global__ void softmax_nan_blind(rows_call a) {
  SIMT_SHARED(maximum_scratch, float[k_max_warps]);
  SIMT_SHARED(sum_scratch, float[k_max_warps]);
  SIMT_SHARED(index_scratch, int64_t[k_max_warps]);
  for (int64_t r = blockIdx.x; r < a.rows; r += gridDim.x) {
    const float* x = a.x + r * a.ldx;
    const float maximum = strided_maximum(x, a.cols, maximum_scratch);
    if (a.argmax != nullptr) {
      int64_t first = INT64_MAX;
      for (int64_t i = threadIdx.x; i < a.cols; i += k_threads)
        if (x[i] == maximum && i < first) first = i;
      first = block_reduce(first, min_of<int64_t>(), index_scratch);
      if (threadIdx.x == 0) a.argmax[r] = first;
    }
    const float sum = strided_sum(x, a.cols, maximum, sum_scratch);
    strided_quotients(x, a.y + r * a.ldy, a.cols, maximum, sum);
    __syncthreads();
  }
}

constexpr candidate_run run = launch_rows<softmax_nan_blind>;

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_KNOWN_BAD(softmax, softmax_nan_blind, run)
