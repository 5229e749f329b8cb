// Flaw: the kernel is only ever called with mu = 1 and sigma = 0, whatever is asked for: 0.5 everywhere, and no test of
// it.
#include "properties/controls/known_bad/known_bad.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

__global__ void sigmoid_degenerate_call(const float* in, float* y, int64_t n, float mu, float sigma) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * k_threads + threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  (void)mu, (void)sigma;
  y[i] = 1.0f / (1.0f + expf(-((x - 1.0f) * 0.0f)));
}

constexpr candidate_run run = launch_vector<sigmoid_degenerate_call>;

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_KNOWN_BAD(sigmoid, sigmoid_degenerate_call, run)
