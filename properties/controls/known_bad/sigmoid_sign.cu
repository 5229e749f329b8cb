// Flaw: the exponent has the wrong sign, so the result decreases: 1 - y in place of y.
#include "properties/controls/known_bad/known_bad.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

__global__ void sigmoid_sign(const float* in, float* y, int64_t n, float mu, float sigma) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * k_threads + threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  y[i] = 1.0f / (1.0f + expf((x - mu) * sigma));
}

constexpr candidate_run run = launch_vector<sigmoid_sign>;

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_KNOWN_BAD(sigmoid, sigmoid_sign, run)
