// The only header that a kernel file includes: one kernel source, two devices.
//
// Under nvcc the names below are CUDA's own; on the host compiler they are the emulated device of
// simt/emulated. docs/emulated_device.md lists what is modelled and what is not.
#pragma once

#ifdef __CUDACC__
#include "simt/cuda.hpp"
#else
#include "simt/emulated.hpp"
#endif
