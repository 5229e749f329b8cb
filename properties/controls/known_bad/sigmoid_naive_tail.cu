// Flaw: one form for all z: where e^-z overflows, the result is 0, though it is subnormal.
#include "properties/controls/known_bad/known_bad.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

constexpr int k_threads = 256;

__global__ void sigmoid_naive_tail(const float* in, float* y, int64_t n, float mu, float sigma) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * k_threads + threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  y[i] = 1.0f / (1.0f + expf(-((x - mu) * sigma)));
}

warpcheck_status run(warpcheck_call* call) {
  return run_vector(call, [](const float* x, float* y, int64_t n, float mu, float sigma, simt::stream_t stream) {
    simt::launch({static_cast<unsigned>((n + k_threads - 1) / k_threads), k_threads, 0, stream}, sigmoid_naive_tail, x,
                 y, n, mu, sigma);
  });
}

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_KNOWN_BAD(sigmoid, sigmoid_naive_tail, run)
