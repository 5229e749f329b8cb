// Stands in for Thrust's header of this name: the host does the work at the call.
#pragma once

#include <thrust/execution_policy.h>

#include "simt/import/cuda_runtime.h"

#ifndef SIMT_THRUST_STANDS_IN  // the stand-in defines it already
THRUST_NAMESPACE_BEGIN
namespace cuda {
struct par_t : std::decay_t<decltype(thrust::cpp::par)> {
  const par_t& on(cudaStream_t) const { return *this; }
};
inline const par_t par, par_nosync;
}  // namespace cuda
THRUST_NAMESPACE_END
#endif
