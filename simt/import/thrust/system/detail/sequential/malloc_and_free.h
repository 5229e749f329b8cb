// Stands in for Thrust's header of this name: thrust::malloc returns device memory.
#pragma once

#include <thrust/detail/config.h>
#include <thrust/detail/raw_pointer_cast.h>
#include <thrust/system/detail/sequential/execution_policy.h>

#include "simt/import/cuda_runtime.h"

THRUST_NAMESPACE_BEGIN
namespace system {
namespace detail {
namespace sequential {

template <typename DerivedPolicy>
inline void* malloc(execution_policy<DerivedPolicy>&, std::size_t bytes) {
  void* p = nullptr;
  ::simt::import::allocate(&p, bytes, true, {"thrust::malloc", 0});
  return p;
}
template <typename DerivedPolicy, typename Pointer>
inline void free(sequential::execution_policy<DerivedPolicy>&, Pointer p) {
  ::simt::import::release("thrust::free", thrust::raw_pointer_cast(p), {"thrust::free", 0});
}

}  // namespace sequential
}  // namespace detail
}  // namespace system
THRUST_NAMESPACE_END
