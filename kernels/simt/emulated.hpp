// The emulated device as a kernel sees it: CUDA's qualifiers, types and functions on the host compiler.
// The executor behind it is in kernels/simt/emulated; nothing here is for code that is not a kernel file.
#pragma once

#if defined(__VECTOR_TYPES_H__) || defined(__CUDA_RUNTIME_H__)
#error "kernels/simt/simt.hpp defines CUDA's types for the host: do not include CUDA headers in the same file"
#endif

#define SIMT_DEVICE_NS emulated

#include "kernels/simt/emulated/types.hpp"

#include "kernels/simt/emulated/kernel_api.hpp"

#include "kernels/simt/emulated/collectives.hpp"

#include "kernels/simt/emulated/atomics.hpp"

#include "kernels/simt/emulated/intrinsics.hpp"

#include "kernels/simt/emulated/wide.hpp"

#include "kernels/simt/emulated/tensor.hpp"

#include "kernels/simt/emulated/launch.hpp"
