// Many quotients by kernels/primitives/quotient.hpp.
#include "kernels/primitives/quotient.hpp"

#include "simt/simt.hpp"
#include "tests/quotient/quotient.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {

__global__ void quotients(const float* e, const float* s, float* y, int64_t n, bool corrected) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
    y[i] = corrected ? row_quotient(s[i])(e[i]) : e[i] * (1.0f / s[i]);
}

void run_quotients(const float* e, const float* s, float* y, int64_t n, bool corrected, simt::stream_t stream) {
  simt::launch({dim3(1), dim3(32), 0, stream}, quotients, e, s, y, n, corrected);
}

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck::self
