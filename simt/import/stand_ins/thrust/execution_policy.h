// Stands in for Thrust's header of this name: execution policies, of which only the stream has an effect.
#pragma once

#include "detail/config.h"
#include "simt/import/cuda_runtime.h"

namespace thrust {

struct execution_policy {
  cudaStream_t stream = nullptr;
  constexpr execution_policy on(cudaStream_t s) const { return {s}; }
  template <class Allocator>
  constexpr execution_policy operator()(const Allocator&) const {
    return *this;
  }
};
inline constexpr execution_policy device, host, seq;
namespace cuda {
inline constexpr execution_policy par, par_nosync;
}
namespace system {
namespace cuda = thrust::cuda;
}

template <class T>
constexpr bool is_policy = std::is_same_v<std::decay_t<T>, execution_policy>;

}  // namespace thrust
