// Kernels whose one argument is an array of ints that they fill, for trials.
#pragma once

#include "tests/simt/device_array.hpp"

namespace warpcheck::self {

using stream = simt::emulation*;

// Launches kernel(out) and expects out[i] == expected(i).
template <class Expected>
bool ints(stream s, void (*kernel)(int*), dim3 grid, dim3 block, int outputs, Expected expected, size_t dynamic = 0) {
  device_array<int> out(static_cast<size_t>(outputs));
  simt::launch({grid, block, dynamic, s}, kernel, out.data());
  for (int i = 0; i < outputs; ++i)
    if (out[static_cast<size_t>(i)] != expected(i)) return false;
  return true;
}
inline int identity(int i) { return i; }
inline int one(int) { return 1; }

}  // namespace warpcheck::self
