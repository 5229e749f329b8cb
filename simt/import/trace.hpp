// Where approximated values go: a library that is compiled with SIMT_IMPORT_TRACE, -fsanitize-coverage=trace-pc and
// -fsanitize=kernel-address calls the functions below at each basic block and each access to memory. They hash which
// blocks ran, in kernels and in the host's code, and which addresses kernels accessed. A run in which a construct gives
// other values than its own, and whose hash differs, shows that they reached a branch or an address.
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
  unsigned long long* hashes = nullptr;  // of kernels, of the host's code
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
// The host's addresses are its allocator's affair.
SIMT_UNTRACED inline void note_address(uint64_t address) {
  if (in_kernel()) note(address, true);
}

// Far from the construct's own value, and so beyond any error of its: a branch or an address that depends on it should
// change somewhere. Now and then it is negative or no number.
template <class T>
SIMT_UNTRACED T disturbed(const char* what, T value) {
  if (now.disturbed == nullptr || std::strcmp(now.disturbed, what) != 0) return value;
  uint64_t random = (++now.disturbances + k_odd) * k_odd;
  random = (random ^ random >> 29) * 0xbf58476d1ce4e5b9u;
  random ^= random >> 32;
  if constexpr (std::is_floating_point_v<T>) {
    // Builtins, for a function of a header would be traced.
    if (random % 16 == 0) return static_cast<T>(__builtin_nan(""));
    const double sign = random % 16 == 1 ? -1 : 1;
    const T factor = static_cast<T>(__builtin_ldexp(sign, static_cast<int>(random >> 8 & 15) * 2 - 15));
    return value == 0 ? factor : value * factor;
  } else {
    return static_cast<T>(value + static_cast<T>(1 + (random >> 8 & 0xffff)));
  }
}

}  // namespace simt::import::trace

// What the compiler calls.
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
// Around the initialisers of a file's variables, such as those of <iostream>.
SIMT_UNTRACED inline void __asan_before_dynamic_init(unsigned long) {}
SIMT_UNTRACED inline void __asan_after_dynamic_init() {}
#ifdef __clang__  // whose copies are calls of these
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
