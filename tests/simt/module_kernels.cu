// The inside of a shared module of one flavour: a kernel with a race, and one without.
#include "simt/simt.hpp"

namespace warpcheck::self {
inline namespace SIMT_DEVICE_NS {
namespace {

template <bool Barrier>
__global__ void neighbour(int* out) {
  SIMT_SHARED(s, int[64]);
  const int t = static_cast<int>(threadIdx.x);
  s[t] = t;  // modules_test names this line, 12
  if (Barrier) __syncthreads();
  out[t] = s[t ^ 1];  // modules_test names this line, 14
}

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck::self

#ifndef __CUDACC__

#include "simt/emulation.hpp"

// Runs the kernel on 64 threads; fills `stream` with what it found. Returns the sum of the outputs, -1 after a finding.
extern "C" __attribute__((visibility("default"))) int run_in_module(bool barrier, simt::emulation* stream) {
  auto* out = static_cast<int*>(simt::device_alloc(64 * sizeof(int), 0, sizeof(int)));
  int sum = 0;
  try {
    simt::launch({dim3(1), dim3(64), 0, stream},
                 barrier ? warpcheck::self::neighbour<true> : warpcheck::self::neighbour<false>, out);
    for (int i = 0; i < 64; ++i) sum += out[i];
  } catch (const simt::device_error&) {
    sum = -1;
  }
  simt::device_free(out);
  return sum;
}

// Throws the device's own exception across the module's edge.
extern "C" __attribute__((visibility("default"))) void throw_in_module() {
  simt::device_free(reinterpret_cast<void*>(1));
}

#endif
