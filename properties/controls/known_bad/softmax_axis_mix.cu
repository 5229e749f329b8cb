// Flaw: the maximum is that of the whole array, and the sum runs over the columns instead of the rows: every column is
// normalised, and one whose elements all vanish beside the maximum becomes 0/0.
#include "properties/controls/known_bad/known_bad.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

__global__ void softmax_axis_mix(rows_call a) {
  SIMT_SHARED(scratch, float[k_max_warps]);
  float maximum = -INFINITY;
  for (int64_t i = threadIdx.x; i < a.rows * a.cols; i += k_threads)
    maximum = fmaxf(maximum, a.x[i / a.cols * a.ldx + i % a.cols]);
  maximum = block_reduce(maximum, max_of(), scratch);
  for (int64_t c = threadIdx.x; c < a.cols; c += k_threads) {
    float sum = 0.0f;
    for (int64_t r = 0; r < a.rows; ++r) sum += expf(a.x[r * a.ldx + c] - maximum);
    for (int64_t r = 0; r < a.rows; ++r) a.y[r * a.ldy + c] = expf(a.x[r * a.ldx + c] - maximum) / sum;
  }
}

warpcheck_status run(warpcheck_call* call) {
  return run_rows(call, [](const rows_call& a) {
    if (a.argmax != nullptr) throw unsupported_call("argmax is not offered");
    simt::launch({1, k_threads, 0, a.stream}, softmax_axis_mix, a);
  });
}

// The maximum of no element is an error to NumPy.
warpcheck_status run_or_raise(warpcheck_call* call) {
  if (call->num_inputs == 1 && call->inputs[0]->ndim == 2 && call->inputs[0]->shape[0] * call->inputs[0]->shape[1] == 0)
    return candidate_call(call, [] { throw std::runtime_error("zero-size array to reduction operation maximum"); });
  return run(call);
}

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_KNOWN_BAD(softmax, {"softmax_axis_mix", run_or_raise})
