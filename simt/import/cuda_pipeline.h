// Stands in for CUDA's header of this name: asynchronous copies to shared memory.
#pragma once

#include "async_bytes.hpp"

// The last `zeros` bytes become 0 instead.
inline void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zeros = 0) {
  ::simt::import::copy_beside(to, from, bytes - zeros);
  if (zeros > 0) memset(static_cast<char*>(to) + bytes - zeros, 0, zeros);
}
inline void __pipeline_commit() { ::simt::cp_async_commit(); }
inline void __pipeline_wait_prior(size_t groups) { ::simt::async_wait(static_cast<unsigned>(groups)); }
