// Flaw: a row is read three times and written twice, an element at a time, by one block for all rows. It is right; only
// a benchmark shows what it costs (bench/README.md).
#include "properties/controls/known_bad/known_bad.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

__global__ void softmax_five_transfers(rows_call a) {
  SIMT_SHARED(maximum_scratch, float[k_max_warps]);
  SIMT_SHARED(sum_scratch, float[k_max_warps]);
  for (int64_t r = 0; r < a.rows; ++r) {
    const float* x = a.x + r * a.ldx;
    float* y = a.y + r * a.ldy;
    const float maximum = strided_maximum(x, a.cols, maximum_scratch);
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < a.cols; i += k_threads) {
      y[i] = expf(x[i] - maximum);
      sum += y[i];
    }
    sum = block_reduce(sum, sum_of(), sum_scratch);
    for (int64_t i = threadIdx.x; i < a.cols; i += k_threads) y[i] /= sum;
  }
}

warpcheck_status run(warpcheck_call* call) {
  return run_rows(call, [](const rows_call& a) {
    if (a.argmax != nullptr) throw unsupported_call("argmax is not offered");
    simt::launch({1, k_threads, 0, a.stream}, softmax_five_transfers, a);
  });
}

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_KNOWN_BAD(softmax, {"softmax_five_transfers", run})
