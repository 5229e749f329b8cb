// The emulated device as a kernel sees it: CUDA's qualifiers, types and functions on the host compiler.
// The executor behind it is in simt/emulated; nothing here is for code that is not a kernel file.
#pragma once

#if defined(__VECTOR_TYPES_H__) || defined(__CUDA_RUNTIME_H__)
#error "simt/simt.hpp defines CUDA's types for the host: do not include CUDA headers in the same file"
#endif

#define SIMT_DEVICE_NS emulated

#include "simt/emulated/types.hpp"

#include "simt/emulated/kernel_api.hpp"

#include "simt/emulated/collectives.hpp"

#include "simt/emulated/atomics.hpp"

#include "simt/emulated/intrinsics.hpp"

#include "simt/emulated/wide.hpp"

#include "simt/emulated/tensor.hpp"

#include "simt/emulated/launch.hpp"
