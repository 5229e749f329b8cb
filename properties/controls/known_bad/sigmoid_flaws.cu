// Sigmoids with one flaw each, by variant.
#include "properties/controls/known_bad/known_bad.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

// Flaw: the kernel is only ever called with mu = 1 and sigma = 0, whatever is asked for: 0.5 everywhere, and no test of
// it.
__global__ void degenerate_call(const float* in, float* y, int64_t n, float mu, float sigma) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * k_threads + threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  (void)mu, (void)sigma;
  y[i] = 1.0f / (1.0f + expf(-((x - 1.0f) * 0.0f)));
}

// Flaw: one form for all z: where e^-z overflows, the result is 0, though it is subnormal.
__global__ void naive_tail(const float* in, float* y, int64_t n, float mu, float sigma) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * k_threads + threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  y[i] = 1.0f / (1.0f + expf(-((x - mu) * sigma)));
}

// Flaw: the exponent has the wrong sign, so the result decreases: 1 - y in place of y.
__global__ void sign(const float* in, float* y, int64_t n, float mu, float sigma) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * k_threads + threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  y[i] = 1.0f / (1.0f + expf((x - mu) * sigma));
}

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

WARPCHECK_KNOWN_BAD(sigmoid, {"degenerate_call", launch_vector<degenerate_call>},
                    {"naive_tail", launch_vector<naive_tail>}, {"sign", launch_vector<sign>})
