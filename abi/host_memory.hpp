// Shared parts of devices (candidate.h) that use the host's memory and whose calls end before they return.
#pragma once

#include <cstddef>
#include <cstring>

#include "abi/candidate.h"

namespace warpcheck::host_memory {

inline void forget(void*, size_t) {}
inline int copy(void* to, const void* from, size_t bytes) {
  if (bytes) std::memcpy(to, from, bytes);
  return 0;
}
inline void* stream_create(const warpcheck_stream_options*) {
  static int token;  // a non-null handle: each call ends before the next begins
  return &token;
}
inline void stream_destroy(void*) {}
inline int stream_synchronize(void*, warpcheck_finding_fn, void*) { return 0; }
inline int stream_renew(void*, const warpcheck_stream_options*) { return 0; }

// Returns the interface of such a device over an allocator.
inline warpcheck_device_api api_of(warpcheck_device device, decltype(warpcheck_device_api::describe) describe,
                                   decltype(warpcheck_device_api::last_error) last_error,
                                   decltype(warpcheck_device_api::alloc) alloc,
                                   decltype(warpcheck_device_api::release) release,
                                   decltype(warpcheck_device_api::check_guards) check_guards) {
  return {sizeof(warpcheck_device_api),
          device,
          describe,
          last_error,
          alloc,
          release,
          check_guards,
          forget,
          copy,
          copy,
          stream_create,
          stream_destroy,
          stream_synchronize,
          nullptr,
          nullptr,
          nullptr,
          stream_renew};
}

}  // namespace warpcheck::host_memory
