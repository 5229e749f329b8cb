// Flaw: the formula m + ln sum e^(x - m) as it stands, with nothing said for infinite m: -Inf - -Inf is NaN.
#include "properties/controls/known_bad/known_bad.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

__global__ void lse_formula_only(rows_call a) {
  SIMT_SHARED(maximum_scratch, float[k_max_warps]);
  SIMT_SHARED(sum_scratch, float[k_max_warps]);
  for (int64_t r = blockIdx.x; r < a.rows; r += gridDim.x) {
    const float* x = a.x + r * a.ldx;
    const float maximum = strided_maximum(x, a.cols, maximum_scratch);
    const float sum = strided_sum(x, a.cols, maximum, sum_scratch);
    if (threadIdx.x == 0) a.y[r] = maximum + logf(sum);
  }
}

warpcheck_status run(warpcheck_call* call) {
  return run_row_values(call, [](const rows_call& a) {
    simt::launch({static_cast<unsigned>(a.rows < 1024 ? a.rows : 1024), k_threads, 0, a.stream}, lse_formula_only, a);
  });
}

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_KNOWN_BAD(logsumexp, {"lse_formula_only", run})
