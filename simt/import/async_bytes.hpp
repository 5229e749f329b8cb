// Asynchronous copies of any size to shared memory, as CUDA's libraries offer them.
#pragma once

#include "cuda_runtime.h"

namespace simt::import {

// Copies [from, from + bytes) for one thread, in its open group. A copy from global to shared memory is asynchronous in
// pieces of at least 4 bytes; the rest is copied at once.
inline void copy_beside(void* to, const void* from, size_t bytes) {
  auto* target = static_cast<char*>(to);
  const auto* source = static_cast<const char*>(from);
  const auto both = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from);
  size_t done = 0;
  if (is_shared(to) && !is_shared(from))
    for (const size_t piece : {16, 8, 4})
      while (both % piece == 0 && bytes - done >= piece) {
        async_copy(target + done, source + done, static_cast<unsigned>(piece));
        done += piece;
      }
  if (done < bytes) memcpy(target + done, source + done, bytes - done);
}

// Waits for the caller's copies so far.
inline void finish_copies() {
  cp_async_commit();
  async_wait(0);
}

// Copies the part of thread `rank` of `size` in a shared copy: pieces of 16 bytes in turn.
inline void copy_share(void* to, const void* from, size_t bytes, unsigned rank, unsigned size) {
  constexpr size_t k_piece = 16;
  for (size_t at = rank * k_piece; at < bytes; at += size * k_piece)
    copy_beside(static_cast<char*>(to) + at, static_cast<const char*>(from) + at,
                bytes - at < k_piece ? bytes - at : k_piece);
}

}  // namespace simt::import
