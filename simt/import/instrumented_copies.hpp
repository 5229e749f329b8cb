// In the race flavour g++ must call copies; those that it expands in place would not be instrumented. This header
// comes first, so that it also covers the standard library's copies. (clang instruments copies itself.)
#pragma once

#if defined(SIMT_FLAVOUR_RACE) && !defined(__clang__)
#include <stddef.h>

extern "C" {
void* simt_kernel_memcpy(void* to, const void* from, size_t bytes);
void* __tsan_memmove(void* to, const void* from, size_t bytes);
void* __tsan_memset(void* to, int byte, size_t bytes);
}

namespace simt::import {

// Copies of these sizes become an instrumented load and store (gimple_fold_builtin_memory_op).
__attribute__((always_inline)) constexpr bool is_one_access(size_t bytes) {
  return __builtin_constant_p(bytes) && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16);
}
__attribute__((always_inline)) constexpr void* copy_bytes(void* to, const void* from, size_t bytes) {
  return is_one_access(bytes) ? __builtin_memcpy(to, from, bytes) : simt_kernel_memcpy(to, from, bytes);
}
__attribute__((always_inline)) constexpr void* move_bytes(void* to, const void* from, size_t bytes) {
  return is_one_access(bytes) ? __builtin_memmove(to, from, bytes) : __tsan_memmove(to, from, bytes);
}

}  // namespace simt::import

#define __builtin_memcpy(to, from, bytes) ::simt::import::copy_bytes(to, from, bytes)
#define __builtin_memmove(to, from, bytes) ::simt::import::move_bytes(to, from, bytes)
#define __builtin_memset(to, byte, bytes) ::__tsan_memset(to, byte, bytes)
// The names to which fortified headers map memcpy and similar functions.
#define __builtin___memcpy_chk(to, from, bytes, room) ::simt::import::copy_bytes(to, from, bytes)
#define __builtin___memmove_chk(to, from, bytes, room) ::simt::import::move_bytes(to, from, bytes)
#define __builtin___memset_chk(to, byte, bytes, room) ::__tsan_memset(to, byte, bytes)
#endif
