// Flaw: the kernel that works in place does not know which row its block has: every block exponentiates the first.
#include "properties/controls/known_bad/known_bad.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

__global__ void copy_rows(rows_call a) {
  for (int64_t i = threadIdx.x; i < a.cols; i += k_threads) a.y[blockIdx.x * a.ldy + i] = a.x[blockIdx.x * a.ldx + i];
}

__global__ void softmax_one_row(float* y, int64_t cols) {
  SIMT_SHARED(maximum_scratch, float[k_max_warps]);
  SIMT_SHARED(sum_scratch, float[k_max_warps]);
  const float maximum = strided_maximum(y, cols, maximum_scratch);
  const float sum = strided_sum(y, cols, maximum, sum_scratch);
  strided_quotients(y, y, cols, maximum, sum);
}

warpcheck_status run(warpcheck_call* call) {
  return run_rows(call, [](const rows_call& a) {
    if (a.argmax != nullptr) throw unsupported_call("argmax is not offered");
    const auto grid = static_cast<unsigned>(a.rows);
    simt::launch({grid, k_threads, 0, a.stream}, copy_rows, a);
    simt::launch({grid, k_threads, 0, a.stream}, softmax_one_row, a.y, a.cols);
  });
}

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_KNOWN_BAD(softmax, softmax_one_row, run)
