// Host side of counts_kernels.cu on the emulated device.
#pragma once

#include "simt/emulation.hpp"

namespace warpcheck::self {

struct counted_kernel {
  const char* name;
  void (*run)(int* out, simt::emulation* stream);  // 2 blocks of 64 threads; `out`: 128 words
  unsigned barriers;                               // of a block
  unsigned wavefronts, conflicts;                  // of a warp
};

extern const counted_kernel k_counted_kernels[5];

}  // namespace warpcheck::self
