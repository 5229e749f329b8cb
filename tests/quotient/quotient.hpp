// Host side of quotient.cu on the emulated device.
#pragma once

#include <cstdint>

namespace simt {
struct emulation;
}

namespace warpcheck::self {
inline namespace emulated {
// y[i] = e[i] / s[i] for i < n; the product with the rounded reciprocal unless `corrected`.
void run_quotients(const float* e, const float* s, float* y, int64_t n, bool corrected, simt::emulation* stream);
}  // namespace emulated
}  // namespace warpcheck::self
