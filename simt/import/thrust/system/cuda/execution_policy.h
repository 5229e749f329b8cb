// Stands in for Thrust's header of this name: the work is done by the host when it is called.
#pragma once

#include <thrust/execution_policy.h>

#include "../../../cuda_runtime.h"

#ifndef SIMT_THRUST_STANDS_IN  // which has it
THRUST_NAMESPACE_BEGIN
namespace cuda {
struct par_t : std::decay_t<decltype(thrust::cpp::par)> {
  const par_t& on(cudaStream_t) const { return *this; }
};
inline const par_t par, par_nosync;
}  // namespace cuda
THRUST_NAMESPACE_END
#endif
