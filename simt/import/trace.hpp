// Traces the effects of approximated values. In a library compiled with SIMT_IMPORT_TRACE, -fsanitize=kernel-address
// and -fsanitize-coverage=trace-pc the functions below are called at each basic block and memory access. They hash
// the blocks that ran, in kernels and in host code, and the addresses that kernels accessed. If a run with other values
// of a construct has another hash, these values reached a branch or an address.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "simt/import/run.h"
#include "simt/simt.hpp"

#ifdef __clang__
#define SIMT_UNTRACED __attribute__((noinline, used, no_sanitize("coverage", "kernel-address")))
#else
#define SIMT_UNTRACED __attribute__((noinline, used, no_sanitize("kernel-address"), no_sanitize_coverage))
#endif

namespace simt::import::trace {

struct state {
  unsigned long long* hashes = nullptr;  // of kernels and of host code
  const char* disturbed = nullptr;
  uint64_t disturbances = 0;
};
inline state now;

inline void begin(const simt_import_options& options) { now = {options.trace, options.disturbed, 0}; }

constexpr uint64_t k_odd = 0x9e3779b97f4a7c15u;  // 2^64 over the golden ratio

SIMT_UNTRACED inline void note(uint64_t what, bool in_kernel) {
  if (now.hashes == nullptr) return;
  unsigned long long& hash = now.hashes[in_kernel ? 0 : 1];
  hash = (hash ^ what) * k_odd;
  hash ^= hash >> 32;
}
SIMT_UNTRACED inline void note_block(const void* address) {
  note(reinterpret_cast<uint64_t>(address) - reinterpret_cast<uint64_t>(&now), in_kernel());
}
// Host addresses depend on the allocator.
SIMT_UNTRACED inline void note_address(uint64_t address) {
  if (in_kernel()) note(address, true);
}

// Far from the construct's own value, beyond any error that it may have, so that a dependent branch or address should
// change somewhere. Some values are negative or NaN.
template <class T>
SIMT_UNTRACED T disturbed(const char* what, T value) {
  if (now.disturbed == nullptr || std::strcmp(now.disturbed, what) != 0) return value;
  uint64_t random = (++now.disturbances + k_odd) * k_odd;
  random = (random ^ random >> 29) * 0xbf58476d1ce4e5b9u;
  random ^= random >> 32;
  if constexpr (std::is_floating_point_v<T>) {
    // Builtins, because a function from a header would be traced.
    if (random % 16 == 0) return static_cast<T>(__builtin_nan(""));
    const double sign = random % 16 == 1 ? -1 : 1;
    const T factor = static_cast<T>(__builtin_ldexp(sign, static_cast<int>(random >> 8 & 15) * 2 - 15));
    return value == 0 ? factor : value * factor;
  } else {
    return static_cast<T>(value + static_cast<T>(1 + (random >> 8 & 0xffff)));
  }
}

}  // namespace simt::import::trace

// Functions that the compiler's instrumentation calls.
#define SIMT_TRACE_ACCESS(bytes)                                                                                    \
  SIMT_UNTRACED inline void __asan_load##bytes##_noabort(unsigned long p) { simt::import::trace::note_address(p); } \
  SIMT_UNTRACED inline void __asan_store##bytes##_noabort(unsigned long p) { simt::import::trace::note_address(p); }
extern "C" {
SIMT_UNTRACED inline void __sanitizer_cov_trace_pc() { simt::import::trace::note_block(__builtin_return_address(0)); }
SIMT_TRACE_ACCESS(1)
SIMT_TRACE_ACCESS(2)
SIMT_TRACE_ACCESS(4)
SIMT_TRACE_ACCESS(8)
SIMT_TRACE_ACCESS(16)
SIMT_UNTRACED inline void __asan_loadN_noabort(unsigned long p, unsigned long) { simt::import::trace::note_address(p); }
SIMT_UNTRACED inline void __asan_storeN_noabort(unsigned long p, unsigned long) {
  simt::import::trace::note_address(p);
}
SIMT_UNTRACED inline void __asan_handle_no_return() {}
// Brackets the initialisers of a file's variables, such as those of <iostream>.
SIMT_UNTRACED inline void __asan_before_dynamic_init(unsigned long) {}
SIMT_UNTRACED inline void __asan_after_dynamic_init() {}
#ifdef __clang__  // clang calls these for copies
SIMT_UNTRACED inline void* __asan_memcpy(void* to, const void* from, unsigned long bytes) {
  return __builtin_memcpy(to, from, bytes);
}
SIMT_UNTRACED inline void* __asan_memmove(void* to, const void* from, unsigned long bytes) {
  return __builtin_memmove(to, from, bytes);
}
SIMT_UNTRACED inline void* __asan_memset(void* p, int byte, unsigned long bytes) {
  return __builtin_memset(p, byte, bytes);
}
#endif
}
#undef SIMT_TRACE_ACCESS
