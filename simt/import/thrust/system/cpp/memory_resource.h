// Stands in for Thrust's header of this name: Thrust's device vectors get device memory.
#pragma once

#include <iostream>  // programs rely on Thrust's headers to include it

#include <new>

#include <thrust/detail/config.h>
#include <thrust/mr/fancy_pointer_resource.h>
#include <thrust/mr/memory_resource.h>
#include <thrust/system/cpp/pointer.h>

#include "simt/import/cuda_runtime.h"

THRUST_NAMESPACE_BEGIN
namespace system {
namespace cpp {
namespace detail {

// The host's writes through Thrust are not observed, as with managed memory.
class device_memory final : public thrust::mr::memory_resource<> {
 public:
  void* do_allocate(std::size_t bytes, std::size_t) override {
    void* p = nullptr;
    if (::simt::import::allocate(&p, bytes, true, {"a Thrust container", 0}) != cudaSuccess) throw std::bad_alloc();
    return p;
  }
  void do_deallocate(void* p, std::size_t, std::size_t) override {
    ::simt::import::release("a Thrust container", p, {"a Thrust container", 0});
  }
};
using native_resource = thrust::mr::fancy_pointer_resource<device_memory, thrust::cpp::pointer<void>>;
using universal_native_resource =
    thrust::mr::fancy_pointer_resource<device_memory, thrust::cpp::universal_pointer<void>>;

}  // namespace detail
using memory_resource = detail::native_resource;
using universal_memory_resource = detail::universal_native_resource;
using universal_host_pinned_memory_resource = universal_memory_resource;
}  // namespace cpp
}  // namespace system
THRUST_NAMESPACE_END

#include <thrust/execution_policy.h>  // programs rely on the headers of Thrust's containers to include it
